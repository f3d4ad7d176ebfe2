"""Whether a fit ended in a local minimum, and ways out of it: a horizon that grows, and other starts.

Long motions have many local minima, short ones few. So the first part of the data is fitted first, then more and more
of it. Neighboring values tell the noise without any model: where residuals are far above their scatter, the motion
found is not the measured one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from chasles.fit.inertia_cone import inertia_frame
from chasles.fit.instability import LOST, Growth, growth
from chasles.fit.least_squares import Least, Sigma, flat, least_squares_from
from chasles.fit.problem import FitProblem
from chasles.fit.sensor import Channel

FAR = 5.0  # times the scatter: more of a residual is not noise
PART = 0.01  # of the spread of the values: less of a residual is no matter of another minimum
FEW = 20  # values, of which a scatter cannot be told
WIDE = 10.0  # times the usual width of four neighbors: a gap is between them
FIRST, TIMES, LEAST_TIMES = 1 / 16, 2.0, 1.1  # of the data, that is fitted first; how many times as much is next
ROUGHLY, SOME = 1e-3, 15  # relative change at which a part of the data is fitted well enough, and its most iterations
DRAWN, SEEN = 16, 1 / 4  # starts that are drawn, and the part of the data that chooses the best of them
SAME = 1e-2  # of their sizes: unknowns that are nearer are the same


@dataclass(frozen=True)
class Unexplained:
    """A sensor whose residual is far above the scatter of its values."""

    name: str
    ratio: float


@dataclass(frozen=True)
class Search:
    """What other ways found: the best end, how many starts there were, whether all ended at the same values. share: of
    the data that these values are for: less than all of an unstable motion, whose `growth` is told then."""

    x: np.ndarray
    starts: int
    alike: bool
    iterations: int
    share: float = 1.0
    growth: Growth | None = None


@dataclass(frozen=True)
class Way:
    """Where a way ended: its values, iterations, and the share of the data that it is for; the growth of errors, if
    that is why it ended before all of it."""

    x: np.ndarray
    iterations: int
    share: float = 1.0
    growth: Growth | None = None


def unexplained(problem: FitProblem, residuals: list[list[np.ndarray]], loss: str) -> list[Unexplained]:
    """The sensors whose residuals are no noise, the worst first."""
    found = []
    for trial, parts in zip(problem.trials, residuals, strict=True):
        for channel, r in zip(trial.channels, parts, strict=True):
            size, noise = _level(r, loss), max(_scatter(channel.t, r, loss), channel.noise or 0.0)
            if len(r) >= FEW and size > PART * _spread(channel) and size > FAR * noise:
                found.append(Unexplained(f"{trial.name}: {channel.name}", size / noise if noise else np.inf))
    return sorted(found, key=lambda one: -one.ratio)


def searched(
    problem: FitProblem, first: Least, residuals: list[list[np.ndarray]], scale: np.ndarray, loss: str, how: list[int]
) -> Search:
    """Other ways to the minimum, until one explains the data. how: the number of starts, and iterations of each."""
    starts, most = how
    sigma = _weights(problem, residuals, loss)
    best, worth = first.x, _worth(problem, first.x, sigma)
    ends, iterations, tried = [first.x], 0, 0
    try:
        for start in _drawn(problem, scale, sigma, starts):
            if problem.patience.ended:
                break
            tried += 1
            problem.patience.part = f"way {tried} of {starts}"
            found = _grown(problem, start, scale, sigma, loss, most)
            if found is None:
                continue
            iterations += found.iterations
            if found.share < 1.0:
                return Search(found.x, tried, False, iterations, found.share, found.growth)
            ends.append(found.x)
            new = _worth(problem, found.x, sigma)
            if new < worth:
                best, worth = found.x, new
                if not unexplained(problem, problem.residuals(best), loss):
                    break
    except KeyboardInterrupt as why:
        problem.patience.end(why)
    problem.patience.part = "all data"
    alike = len(ends) > 2 and all((np.abs(end - best) <= SAME * scale).all() for end in ends)
    return Search(best, tried, alike, iterations)


def _grown(problem: FitProblem, x: np.ndarray, scale: np.ndarray, sigma: Sigma, loss: str, most: int) -> Way | None:
    """The end of a way on which more and more of the data is fitted; None if there is no motion on it. If hardly more
    than a part can be explained, and the motion is unstable, these values and this part are the end."""
    try:
        part, stuck = _explained_part(problem, x, scale, sigma, loss, most)
        if not stuck:
            return replace(part, share=1.0)
        grown = growth(problem, part.x)
        if grown is not None and grown.factor > LOST:
            return replace(part, growth=grown)
        found = least_squares_from(problem, part.x, scale, sigma, loss, most, ROUGHLY**2)
    except (ValueError, ArithmeticError, RuntimeError):
        return None
    return Way(found.x, part.iterations + found.iterations)


def _explained_part(
    problem: FitProblem, x: np.ndarray, scale: np.ndarray, sigma: Sigma, loss: str, most: int
) -> tuple[Way, bool]:
    """Values that explain as much of the data as more and more of it leads to, and whether more did not help. Where
    nothing is explained at first, less is tried; where the next part is not, less is added."""
    best, share, times, down, said = Way(x, 0, 0.0), FIRST, TIMES, True, problem.patience.part
    while best.share < 1.0 and not problem.patience.ended:
        share = min(share, 1.0)
        part = problem.until(share) if share < 1.0 else problem
        if share < 1.0 and not _enough(part, len(x)):
            share, down = (share * times, down) if share >= FIRST else (FIRST, False)
            continue
        problem.patience.part = f"{said}, {100 * share:.2g} % of the data"
        how = (min(SOME, most), ROUGHLY) if share < 1.0 else (most, ROUGHLY**2)
        found = least_squares_from(part, best.x, scale, sigma, loss, *how)
        iterations = best.iterations + found.iterations
        if _explains(part, found.x, loss):
            best = Way(found.x, iterations, share)
        elif best.share:
            best = replace(best, iterations=iterations)
            if times < LEAST_TIMES:
                return best, True
            times, share = float(np.sqrt(times)), best.share
        elif share == 1.0:
            return Way(found.x, iterations), False
        elif down and _tells(problem.until(share / times)):  # perhaps the first part is too long already
            share /= times**2
        elif down and share < FIRST:  # no, nothing is explained by less
            share, down = FIRST / times, False
        else:
            best, down = Way(found.x, iterations, 0.0), False
        share *= times
    return best, False


def _enough(part: FitProblem, count: int) -> bool:
    """Whether a part of the data has enough numbers."""
    return sum(sum(trial.sizes) for trial in part.trials) >= 2 * count


def _tells(part: FitProblem) -> bool:
    """Whether enough was measured to tell the noise."""
    return all(len(one.t) >= FEW for trial in part.trials for one in trial.channels)


def _explains(part: FitProblem, x: np.ndarray, loss: str) -> bool:
    """Whether values explain a part of the data in which enough was measured to tell."""
    try:
        return _tells(part) and not unexplained(part, part.residuals(x), loss)
    except (ValueError, ArithmeticError, RuntimeError):
        return False


def _drawn(problem: FitProblem, scale: np.ndarray, sigma: Sigma, starts: int) -> list[np.ndarray]:
    """The given start, and the best of some that are drawn within bounds, judged by a part of the data."""
    given, part, random = problem.start, problem.until(SEEN), np.random.default_rng(0)
    if starts < 2:
        return [given]
    strata = np.stack([random.permutation(DRAWN) for _ in given], axis=1)
    shares = (strata + random.random(strata.shape)) / DRAWN
    drawn = [_between(problem, scale, share) for share in shares]
    drawn.sort(key=lambda x: _worth(part, x, sigma))
    return [given, *drawn[: starts - 1]]


def _between(problem: FitProblem, scale: np.ndarray, share: np.ndarray) -> np.ndarray:
    """A start at shares (0 to 1) of the ranges; without a range from a quarter to four times the given one, or as far
    off as it is large. Delays and biases stay."""
    x, (low, high), edges = problem.start, problem.bounds, problem.edges
    for i in range(edges[-1]):
        if np.isfinite(high[i] - low[i]):
            x[i] = low[i] + share[i] * (high[i] - low[i])
        elif x[i] != 0.0:
            x[i] *= 4.0 ** (2 * share[i] - 1)
        else:
            x[i] += 0.5 * scale[i] * (2 * share[i] - 1)
    for part in problem.bodies:
        x[part] = inertia_frame(problem.start[part]).drawn(share[part])
    return np.clip(x, low, high)


def _worth(problem: FitProblem, x: np.ndarray, sigma: Sigma) -> float:
    """The sum of squares; infinite without a motion."""
    try:
        return float(np.sum(flat(problem, x, problem.residuals(x), sigma) ** 2))
    except (ValueError, ArithmeticError, RuntimeError):
        return np.inf


def _weights(problem: FitProblem, residuals: list[list[np.ndarray]], loss: str) -> Sigma:
    """Noise by scatter, which is the same in every minimum; at least a thousandth of what the values spread over."""
    return [
        [
            channel.noise or max(_scatter(channel.t, r, loss), 1e-3 * _spread(channel)) or _level(r, loss) or 1.0
            for channel, r in zip(trial.channels, parts, strict=True)
        ]
        for trial, parts in zip(problem.trials, residuals, strict=True)
    ]


def _scatter(t: np.ndarray, r: np.ndarray, loss: str) -> float:
    """Noise of values (times, numbers), by how far each is from the parabola through its three neighbors."""
    if len(t) < FEW:
        return 0.0
    four = np.lib.stride_tricks.sliding_window_view(t, 4)
    width = four[:, 3] - four[:, 0]
    apart = four[:, :, None] - four[:, None, :] + np.eye(4) * width[:, None, None]
    weights = 1.0 / np.prod(apart / width[:, None, None], axis=2)  # those of the third divided difference
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    values = np.lib.stride_tricks.sliding_window_view(r, 4, axis=0)
    return _level(np.einsum("kj,kij->ki", weights, values)[width <= WIDE * np.median(width)], loss)


def _level(r: np.ndarray, loss: str) -> float:
    """How large residuals are: their root mean square, or with a loss that bears outliers a middle one."""
    return float(np.sqrt(np.mean(r * r)) if loss == "linear" else 1.4826 * np.median(np.abs(r)))


def _spread(channel: Channel) -> float:
    """How much the values change; of orientations the angle."""
    return float(np.std(channel.off(np.broadcast_to(channel.values[0], channel.values.shape)), axis=0).max())
