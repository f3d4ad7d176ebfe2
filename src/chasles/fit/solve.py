"""Least squares over all experiments, and what it says of the unknowns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from chasles.fit.data_fit import DataFit, Found
from chasles.fit.inertia_cone import ten_of, thin_directions
from chasles.fit.instability import LOST, growth
from chasles.fit.least_squares import SOLVED, Least, cost_of, flat, least_squares_from, loss_slopes, stacked
from chasles.fit.other_starts import Search, Unexplained, searched, unexplained
from chasles.fit.other_units import refuse_endless, refuse_milliseconds, refuse_other_units
from chasles.fit.patience import Patience
from chasles.fit.problem import FitProblem
from chasles.fit.unknown import BODY
from chasles.relative.parameter.identifiability import Identifiability, identify

ROUNDS = 4  # in which noise that is not given is estimated
ROUGH = 1e-4  # relative change of the sum of squares in the first round, which tells whether the data is explained
NORMAL = 1.4826  # standard deviation of normal errors, by the median of their sizes
SETTLED = 0.02  # change of an estimated noise, relative, at which it is good enough
UNSEEN = 1e-7  # of a column: derivatives below this are rounding
UNEVEN = 10.0  # times the usual size: larger derivatives of an unstable motion count as these
PRESSED = 1e-3  # deviations by which the data asks for less than nothing of an extent
EXACT = 1e-9  # of the values: residuals below this are errors of the computation


def solved(problem: FitProblem, loss: str, most: int, model: Any, starts: int) -> DataFit:
    """Least squares in rounds: noise that is not given is estimated from the residuals of the round before. If the
    first round does not explain the data, other ways to the minimum are searched."""
    x, (low, high) = problem.start, problem.bounds
    scale = _sizes(problem, x, low, high)
    refuse_endless(problem, x)
    begun = problem.residuals(x)  # says what is wrong with the start
    refuse_milliseconds(problem, x, begun)
    sigma = _first_noise(problem, begun)
    iterations, sensors = 0, {channel.name for trial in problem.trials for channel in trial.channels}
    alone = len(sensors) == 1 and loss == "linear" and not any(slot.prior for slot in problem.slots)
    search: Search | None = None
    for number in range(ROUNDS + 1):
        first = number == 0 and starts > 1  # tells whether the data is explained
        least = least_squares_from(problem, x, scale, sigma, loss, most, ROUGH if first else SOLVED)
        x, iterations = least.x, iterations + least.iterations
        residuals = problem.residuals(x)
        lacking = number == 0 and unexplained(problem, residuals, loss)
        if lacking:
            refuse_other_units(problem, residuals, begun)
        if first and lacking and not problem.patience.ended:
            search = searched(problem, least, residuals, scale, loss, [starts, most])
            x, iterations = search.x, iterations + search.iterations
            if search.share < 1.0:  # of an unstable motion
                problem = problem.until(search.share)
            residuals = problem.residuals(x)
        new = _noise(problem, residuals, sigma, len(x), loss)
        moved = max((abs(a / b - 1) for a, b in zip(_each(new), _each(sigma), strict=True)), default=0.0)
        sigma = new
        if not first and (moved < SETTLED or alone):  # one noise alone changes nothing but the intervals
            break
        if problem.patience.ended or (not first and least.unsettled and unexplained(problem, residuals, loss)):
            break
    if least.unsettled or unexplained(problem, residuals, loss):
        search = _with_growth(problem, x, search)
    return _result(problem, residuals, replace(least, iterations=iterations), sigma, loss, search, model)


def _with_growth(problem: FitProblem, x: np.ndarray, search: Search | None) -> Search | None:
    """A search with the growth of errors, if the motion that was not explained is unstable."""
    if problem.patience.ended or (search is not None and search.growth is not None):
        return search
    grown = growth(problem, x)
    if grown is None or grown.factor < LOST:
        return search
    return replace(search or Search(x, 0, False, 0), growth=grown)


def _each(parts: list[list[float]]) -> list[float]:
    return [one for own in parts for one in own]


def _sizes(problem: FitProblem, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """What is a large change of each unknown."""
    found, edges = np.ones(len(x)), problem.edges
    for k, slot in enumerate(problem.slots):
        found[edges[k] : edges[k + 1]] = slot.sizes(x[edges[k] : edges[k + 1]])
    at = edges[-1] + len(problem.delays)
    found[edges[-1] : at] = (high - low)[edges[-1] : at]
    for n, (i, k, j) in enumerate(problem.biases):
        found[at + n] = np.ptp(problem.trials[i].channels[k].values[:, j]) or 1.0
    return found


def _first_noise(problem: FitProblem, residuals: list[list[np.ndarray]]) -> list[list[float]]:
    """Where noise is not given, how far the first simulation is off: all sensors count alike."""
    found = []
    for trial, parts in zip(problem.trials, residuals, strict=True):
        own = []
        for channel, r in zip(trial.channels, parts, strict=True):
            size = float(np.sqrt(np.mean(r * r))) or float(np.std(channel.values)) or 1.0
            own.append(channel.noise if channel.noise is not None else size)
        found.append(own)
    return found


def _noise(
    problem: FitProblem, residuals: list[list[np.ndarray]], before: list[list[float]], count: int, loss: str
) -> list[list[float]]:
    """Noise of sensors from their residuals; those of one name in several experiments have one. With a robust loss it
    is that of most values: their median, which outliers do not move."""
    total = sum(r.size for parts in residuals for r in parts)
    parts_of: dict[str, list[np.ndarray]] = {}
    largest_of: dict[str, float] = {}
    for trial, parts in zip(problem.trials, residuals, strict=True):
        for channel, r in zip(trial.channels, parts, strict=True):
            parts_of.setdefault(channel.name, []).append(r.ravel())
            largest_of[channel.name] = max(largest_of.get(channel.name, 0.0), float(np.abs(channel.values).max()))
    every = {name: np.concatenate(parts) for name, parts in parts_of.items()}
    sizes = {
        name: float(np.mean(r * r)) if loss == "linear" else (NORMAL * float(np.median(np.abs(r)))) ** 2
        for name, r in every.items()
    }
    found = []
    for trial, own in zip(problem.trials, before, strict=True):
        new = []
        for channel, old in zip(trial.channels, own, strict=True):
            share = 1.0 - count / total if total > count else 0.0  # degrees of freedom, by the share of numbers
            estimated = np.sqrt(sizes[channel.name] / share) if share > 0 else old
            new.append(channel.noise or max(float(estimated), 1e-12 * largest_of[channel.name]) or old)
        found.append(new)
    return found


def _result(
    problem: FitProblem,
    residuals: list[list[np.ndarray]],
    least: Least,
    sigma: list[list[float]],
    loss: str,
    search: Search | None,
    model: Any,
) -> DataFit:
    x = least.x
    r, J = flat(problem, x, residuals, sigma), stacked(problem, least.jacobian, sigma)
    told, covariance, undetermined = _known(_even(J, search), problem.names, _sizes(problem, x, *problem.bounds))
    covariance, dof = _robust_factor(r, loss) * covariance, max(len(r) - told.rank, 0)
    low, high = problem.bounds
    at_bound = ((x - low) < 1e-6 * np.abs(high - low)) | ((high - x) < 1e-6 * np.abs(high - low))
    at_bound &= np.isfinite(high - low)
    found = Found(tuple(problem.names), x, covariance, undetermined, at_bound, dof)
    points = [problem.point(i, x) for i in range(len(problem.trials))]
    biases = [
        [problem.bias(i, k, x, part.shape[1]) for k, part in enumerate(parts)] for i, parts in enumerate(residuals)
    ]
    success, message, more = _judged(unexplained(problem, residuals, loss), least, search, problem.patience)
    notes = (
        *problem.notes,
        *more,
        *_flat_bodies(problem, x, J.T @ r, J),
        *([] if not success else _correlated(problem, residuals)),
    )
    return DataFit(
        *(found, told, problem, tuple(points), residuals, sigma, biases, loss, least.iterations, notes, model),
        *(success, message, cost_of(r, loss)),
    )


def _flat_bodies(problem: FitProblem, x: np.ndarray, gradient: np.ndarray, J: np.ndarray) -> list[str]:
    """Notes on bodies that would lose more than all of an extent if they could: the data asks for a plate, a rod or a
    point. gradient: of the cost."""
    found = []
    for part, slot in zip(problem.bodies, (slot for slot in problem.slots if slot.kind == BODY), strict=True):
        axes, pressed = thin_directions(x[part]), 0.0
        for axis in axes.T:
            wider = np.zeros((4, 4))
            wider[:3, :3] = np.outer(axis, axis)
            seen = float(np.linalg.norm(J[:, part] @ ten_of(wider)))
            pressed = max(pressed, float(gradient[part] @ ten_of(wider)) / seen if seen else 0.0)
        if pressed > PRESSED:
            kind = ("a plate", "a rod", "a point")[axes.shape[1] - 1]
            along = " and ".join(f"({', '.join(f'{one + 0.0:.3g}' for one in axis.round(3))})" for axis in axes.T)
            found.append(
                f"{slot.name}: the data puts it at the limit of physical inertias: it is {kind} within the accuracy "
                f"of the data, without extent along {along}; intervals do not use this limit and are rather too wide"
            )
    return found


def _even(J: np.ndarray, search: Search | None) -> np.ndarray:
    """Derivatives as they are; of an unstable motion with less of the last rows, beside which the others are rounding,
    though they tell the unknowns apart. So the intervals are rather too wide."""
    if search is None or search.growth is None:
        return J
    sizes = np.linalg.norm(J, axis=1, keepdims=True)
    return J * np.minimum(1.0, UNEVEN * np.median(sizes) / np.maximum(sizes, np.finfo(float).tiny))


def _judged(
    far: list[Unexplained], least: Least, search: Search | None, patience: Patience
) -> tuple[bool, str, list[str]]:
    """Whether the fit is one, what is to be said of that, and notes."""
    if search is not None and search.growth is not None:
        grown = search.growth
        until = grown.begin + search.share * (grown.end - grown.begin)
        said = f"only the data until {until:.3g} of {grown.end:.3g} s is explained, and values are for it"
        if search.share == 1.0:
            said = "not all data is explained"
            if least.unsettled:
                said = f"the iteration has not settled: {least.unsettled.rstrip('.')}"
        said += f"; {grown.said}"
        return False, said, [said]
    if patience.ended:
        said = f"{patience.ended}, and these are the best values so far; more time (max_seconds) may lead further"
        return False, said, [said]
    if least.unsettled:
        return False, f"the iteration has not settled: {least.unsettled}", [least.unsettled]
    if far:
        starts = 1 if search is None else 1 + search.starts
        said = f"{far[0].name}: the residual is {far[0].ratio:.3g} times the scatter of the data"
        if search is not None and search.alike:
            said += f"; {starts} ways ended at the same values, so the model lacks something; intervals are too narrow"
            return True, said, [said]
        said += (
            "; this looks like a local minimum, the model lacks something, or a column has another unit (its header "
            "may name it: x [mm]). Intervals do not hold. "
            f"{f'The best of {starts} ways was taken' if starts > 1 else 'One start was tried'}: give other starts, "
            "narrower ranges, or data of a shorter time"
        )
        return False, said, [said]
    if search is not None:
        told = "the given start led to a local minimum; these values were found on another way, and explain the data"
        return True, told, [told]
    return True, "settled", []


def _known(J: np.ndarray, names: list[str], sizes: np.ndarray) -> tuple[Identifiability, np.ndarray, np.ndarray]:
    """What derivatives (rows, unknowns) in units of the noise tell: combinations, covariance, what is not determined.

    sizes: of large changes of the unknowns; whether one has an influence is not a question of its unit.
    """
    scaled = J * sizes
    told = identify(scaled, names, tolerance=UNSEEN)
    ratio = sizes[told.kept][:, None] / sizes[told.grouped]
    told = replace(told, combinations=told.combinations * ratio, triangle=told.triangle / sizes[told.kept])
    seen = np.setdiff1d(np.arange(len(names)), told.unseen)
    lengths = np.linalg.norm(scaled[:, seen], axis=0)
    _, s, Vt = np.linalg.svd(scaled[:, seen] / lengths, full_matrices=False)
    good = s > UNSEEN * s.max(initial=0.0)
    root = (Vt[good].T / s[good]) * (sizes[seen] / lengths)[:, None]
    covariance, undetermined = np.zeros((len(names), len(names))), np.ones(len(names), dtype=bool)
    covariance[np.ix_(seen, seen)] = root @ root.T
    undetermined[seen] = np.linalg.norm(Vt[~good], axis=0) > np.sqrt(UNSEEN)
    return told, covariance, undetermined


def _robust_factor(r: np.ndarray, loss: str) -> float:
    """By how much the covariance of an estimate with a robust loss is larger: mean ψ² / (mean ψ')²."""
    if loss == "linear":
        return 1.0
    z = r * r
    first, second = loss_slopes(z, loss)
    psi, slope = r * first, first + 2 * z * second
    return float(np.mean(psi * psi) / np.mean(slope) ** 2)


def _correlated(problem: FitProblem, residuals: list[list[np.ndarray]]) -> list[str]:
    """Residuals that follow each other are no noise: the model lacks something, and intervals are too narrow."""
    found = []
    for trial, parts in zip(problem.trials, residuals, strict=True):
        for channel, r in zip(trial.channels, parts, strict=True):
            centered = r - r.mean(axis=0)
            power = np.sum(centered * centered)
            if len(r) < 20 or power <= (EXACT * np.abs(channel.values).max()) ** 2 * r.size:  # no noise at all
                continue
            lag = float(np.sum(centered[1:] * centered[:-1]) / power)
            if lag > 4.0 / np.sqrt(centered.size) and lag > 0.3:
                found.append(
                    f"{trial.name}: residuals of {channel.name} follow each other (correlation {lag:.2f} from one to "
                    "the next): the model lacks something, or the noise is filtered; intervals are too narrow"
                )
    return found
