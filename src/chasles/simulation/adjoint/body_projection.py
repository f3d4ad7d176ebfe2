"""Cotangents through the projection of bodies onto their constraints (`absolute.entry.project`).

Positions go there by sweeps q ← q ⊕ a, M a + J(q)ᵀ μ = 0, where μ is that of equations that were factorized before,

    M b + J*ᵀ μ = 0,   J* b = -g(q),

at the last stage of the step, or anew where sweeps were slow. Each sweep is taken again, and then back, with all its
derivatives; those of the factor too, which count where steps are long. What is left of g is rounding, but its
derivative is not: an exact projection of cotangents, at the end, stands for all further sweeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.absolute.body_residuals import MovingStates
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.constrained.group import on_se3
from chasles.constraint.projection import SPEED_ROUNDING, SPEED_SWEEPS, is_off, is_slow, may_sweep, stays
from chasles.lie.rotation import quaternion_to_matrix
from chasles.simulation.adjoint.constrained_back import ConstrainedBack, at_rest

NOTHING, SMALL = 1e-15, 1e-8  # moves that do not count, or not their squares
POOR = 1e-3  # a first sweep of velocities that leaves more than this needs a factor of its own
FURTHER = 3  # sweeps that derivatives are taken through beyond those that moved something


class Spot(NamedTuple):
    """Poses with the rows of their constraints: J on (ω in the body, r' in space), and the symmetric matrix of their
    equations."""

    states: MovingStates
    place: np.ndarray
    jacobian: np.ndarray
    rotations: np.ndarray
    matrix: np.ndarray


class Swept(NamedTuple):
    """A sweep: where it began, whose factor it took (-1: that of the stage before), (b, μ) and a."""

    here: Spot
    factor: int
    solution: np.ndarray
    moved: np.ndarray


class SpeedSwept(NamedTuple):
    """A sweep of velocities: those that it began with, its factor, (b, μ), and the change in space."""

    v: np.ndarray
    factor: Spot
    solution: np.ndarray
    change: np.ndarray


class ProjectionBack:
    """The projection of a mechanism. anew: whether each sweep has a factor of its own."""

    def __init__(self, through: ConstrainedBack, anew: bool):
        self.through, self.residuals, self.anew = through, through.residuals, anew
        self.n, self.mechanism = self.residuals.n, self.residuals.mechanism
        self.turning = on_se3(self.mechanism)
        self.masses = np.concatenate(
            [self.mechanism.moments, np.repeat(self.residuals.masses[:, None], 3, axis=1)], axis=1
        ).ravel()

    def spot(self, t: float, q: np.ndarray, angles: np.ndarray) -> Spot:
        residuals, size = self.residuals, 6 * self.n
        states = at_rest(residuals, t, q, angles)
        values, _, by_velocity = residuals.slopes(states)
        R = residuals.rotations(states.q)
        jacobian = residuals.to_space(by_velocity.speed, R)[0]
        matrix = np.zeros((size + len(jacobian), size + len(jacobian)))
        matrix[:size, :size] = np.diag(self.masses)
        matrix[:size, size:], matrix[size:, :size] = jacobian.T, jacobian
        matrix[size:, size:] = np.diag(self.through.release)
        return Spot(states, np.where(residuals.measured, values.place[0], 0.0), jacobian, R[0], matrix)

    def sweeps(self, start: Spot, before: Spot | None) -> tuple[list[Swept], Spot]:
        """The sweeps, as they were taken, and where they end. before: where the first factor is from."""
        t, q, angles = float(start.states.t[0]), start.states.q[0].reshape(-1, 7), start.states.angles[0]
        found: list[Swept] = []
        here, size = start, 6 * self.n
        factor, owner = (before, -1) if before is not None else (here, 0)
        size_of_place = 1.0 + np.abs(q[:, 4:]).max(initial=0.0)
        off = np.abs(here.place).max(initial=0.0) / size_of_place
        while is_off.py_func(off) and may_sweep.py_func(len(found)):
            right = np.concatenate([np.zeros(size), -here.place])
            solution = self.through.solve(factor.matrix, right)  # which is symmetric
            moved = -(solution[size:] @ here.jacobian) / self.masses
            found.append(Swept(here, owner, solution, moved))
            q = displaced(q, moved.reshape(-1, 6))
            here, last = self.spot(t, q, angles), off
            off = np.abs(here.place).max(initial=0.0) / size_of_place
            if stays.py_func(off, last) and len(found) > 2:
                break
            if self.anew or is_slow.py_func(off, last):
                factor, owner = here, len(found)
        return found, here

    def speed_sweeps(self, end: Spot, factor: Spot, v: np.ndarray) -> tuple[list[SpeedSwept], np.ndarray]:
        """Sweeps of velocities at poses that are on the constraints, as they were taken, and where they end."""
        residuals, size, before = self.residuals, 6 * self.n, 0.0
        found: list[SpeedSwept] = []
        for sweep in range(SPEED_SWEEPS):
            speed = residuals.at(end.states._replace(v=np.ascontiguousarray(v.reshape(1, -1)))).speed[0]
            off = np.where(residuals.measured, speed, 0.0)
            largest = np.abs(off).max(initial=0.0)
            if largest <= SPEED_ROUNDING * (1.0 + np.abs(v).max(initial=0.0)):
                break
            if sweep == 1 and largest > POOR * before:
                factor = end
            solution = self.through.solve(factor.matrix, np.concatenate([np.zeros(size), -off]))
            change = -(solution[size:] @ end.jacobian) / self.masses
            found.append(SpeedSwept(v, factor, solution, change))
            v, before = v + self._in_body(change, end), largest
        return found, v

    def back(
        self, swept: tuple[list[Swept], Spot], before: Spot | None, v: np.ndarray, turn: np.ndarray, v_bar: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """From cotangents of the projected poses and velocities those of poses and velocities that were given, and of
        the poses where the first factor is from. swept: of `sweeps`."""
        found, end = swept
        owner = found[-1].factor if found else (-1 if before is not None else 0)
        factor = self._factor(found, owner, before, end)
        owed = np.zeros((len(found) + 1, 6 * self.n))  # to the poses of factors; last: to those before
        if self.residuals.rotors.any():
            turn, v_bar, of_factor = self._speeds_back(end, factor, v, turn, v_bar)
            owed[owner] += of_factor
        else:  # the result is the same whatever the factor is
            v_bar, more = self.through.onto(end.states, v, self.speed_sweeps(end, end, v)[1], v_bar)
            turn = turn + more
        turn = self._settled_back(end, factor, turn)
        for k in range(len(found) - 1, -1, -1):
            if np.abs(found[k].moved).max() < NOTHING:
                continue
            after = end if k + 1 == len(found) else found[k + 1].here
            own = self._factor(found, found[k].factor, before, end)
            turn, of_factor = self._sweep_back(found[k], after, own, turn)
            owed[found[k].factor] += of_factor
            turn = turn + owed[k]
        return (turn if found or before is not None else turn + owed[0]), v_bar, owed[-1]

    def _factor(self, found: list[Swept], owner: int, before: Spot | None, end: Spot) -> Spot:
        """Where a factor is from."""
        if owner < 0:
            assert before is not None
            return before
        return found[owner].here if owner < len(found) else end

    def _settled_back(self, end: Spot, factor: Spot, turn: np.ndarray) -> np.ndarray:
        """Through all further sweeps, which move nothing but derivatives: some with the factor, the rest at once."""
        residuals, size, total = self.residuals, 6 * self.n, np.zeros(len(end.jacobian))
        for spot in (end, *(factor,) * FURTHER) if residuals.rotors.any() else (end,):
            bar = self._in_space(turn, end) / self.masses
            hat = self.through.solve(spot.matrix, np.concatenate([np.zeros(size), -(end.jacobian @ bar)]))
            place = np.where(residuals.measured, hat[size:], 0.0)
            turn, total = turn - self._in_body(place @ end.jacobian, end), total + place
        self.through.weigh(end.states, place=total)
        return turn

    def _sweep_back(self, sweep: Swept, after: Spot, factor: Spot, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Through a sweep: cotangents of the poses that it began at, and of those of its factor."""
        residuals, through, size = self.residuals, self.through, 6 * self.n
        here, _, solution, moved = sweep
        bar = self._in_space(turn, after).reshape(-1, 6)
        half = 0.5 * moved.reshape(-1, 6)[:, :3]
        length = 1.0 + np.sum(half * half, axis=1, keepdims=True)
        spin = (bar[:, :3] + np.cross(half, bar[:, :3])) / length  # transposed derivative of Cayley's map
        w = np.concatenate([spin, bar[:, 3:]], axis=1).ravel() / self.masses
        of_mu = np.concatenate([np.zeros(size), -(here.jacobian @ w)])
        hat = self.through.solve(factor.matrix, of_mu)
        place = np.where(residuals.measured, hat[size:], 0.0)
        mu = through.of_tiles(solution[size:])
        pushed = here.states._replace(lam=mu)
        _, by_pose, _ = residuals.slopes(pushed)
        carried = bar.copy()
        carried[:, :3] = (cayley(half) @ bar[:, :3, None])[..., 0]
        turn = self._in_body(carried.ravel(), here) - w @ by_pose.motion[0] - place @ by_pose.place[0]
        through.weigh(pushed._replace(rate=self._body_rate(moved, here)), motion=w, place=place)
        return turn, self._factor_back(factor, hat, solution)

    def _factor_back(self, factor: Spot, hat: np.ndarray, solution: np.ndarray) -> np.ndarray:
        """How equations follow the poses that they were factorized at: -hat · dK (b, μ). Sweeps that follow make up for
        it to first order, but for what rotors share."""
        through, size = self.through, 6 * self.n
        if np.abs(solution[:size]).max(initial=0.0) < (NOTHING if self.residuals.rotors.any() else SMALL):
            return np.zeros(size)
        mu, b = through.of_tiles(solution[size:]), solution[:size]
        own = factor.states._replace(lam=mu, zeta=through.of_tiles(hat[size:]))
        _, by_pose, _ = self.residuals.slopes(own)
        none = np.zeros_like(own.zeta)
        through.weigh(own._replace(zeta=none, rate=self._body_rate(b, factor)), motion=hat[:size])
        through.weigh(own._replace(zeta=none, lam=own.zeta), motion=b)
        return -hat[:size] @ by_pose.motion[0] - b @ by_pose.shift[0]

    def _speeds_back(
        self, end: Spot, factor: Spot, v: np.ndarray, turn: np.ndarray, v_bar: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Through the sweeps of velocities. Rotors share what the others are told, as the factor has it, and no further
        sweep corrects their shares."""
        residuals, through, size = self.residuals, self.through, 6 * self.n
        passed, last = self.speed_sweeps(end, factor, v)
        of_factor = np.zeros(size)
        # velocities that are on the constraints already still have derivatives that are not
        further = SpeedSwept(last, passed[-1].factor if passed else factor, np.zeros(len(end.matrix)), np.zeros(size))
        for speeds, own, solution, change in (*(further,) * FURTHER, *passed[::-1]):
            mu = solution[size:]
            w = self._in_space(v_bar, end) / self.masses
            hat = self.through.solve(own.matrix, np.concatenate([np.zeros(size), -(end.jacobian @ w)]))
            held = np.where(residuals.measured, hat[size:], 0.0)
            moving = end.states._replace(v=speeds.reshape(1, -1))
            pushed = end.states._replace(lam=through.of_tiles(mu))
            _, by_pose, by_velocity = residuals.slopes(moving)
            _, pushed_by_pose, _ = residuals.slopes(pushed)
            through.weigh(moving, speed=held)
            through.weigh(pushed._replace(rate=self._body_rate(change, end)), motion=w)
            followed = self._factor_back(own, hat, solution)
            if own is end:
                turn = turn + followed
            else:
                of_factor += followed
            # the change is made in space: seen from a body that turns, it turns the other way
            turn = turn - w @ pushed_by_pose.motion[0] - held @ by_pose.speed[0] + self._turned(change, v_bar, end)
            v_bar = v_bar - held @ by_velocity.speed[0]
        return turn, v_bar, of_factor

    def _turned(self, change: np.ndarray, v_bar: np.ndarray, end: Spot) -> np.ndarray:
        """Cotangents of poses from Rᵀ times a change in space, of bodies whose velocities are in the body."""
        out = np.zeros((self.n, 6))
        seen, bar = self._in_body(change, end).reshape(-1, 6)[:, 3:], v_bar.reshape(-1, 6)[:, 3:]
        out[:, :3] = np.where(self.turning[:, None], np.cross(bar, seen), 0.0)
        return out.ravel()

    def _in_space(self, turn: np.ndarray, spot: Spot) -> np.ndarray:
        """Cotangents by q exp(δ) as those by (turn in the body, shift in space)."""
        out = turn.reshape(-1, 6).copy()
        out[:, 3:] = np.einsum("ijk,ik->ij", spot.rotations, out[:, 3:])
        return out.ravel()

    def _in_body(self, bar: np.ndarray, spot: Spot) -> np.ndarray:
        out = bar.reshape(-1, 6).copy()
        out[:, 3:] = np.einsum("ikj,ik->ij", spot.rotations, out[:, 3:])
        return out.ravel()

    def _body_rate(self, change: np.ndarray, spot: Spot) -> np.ndarray:
        """Turns in the body and shifts in space as a state has rates."""
        return self._in_body(change, spot).reshape(1, -1)


def displaced(q: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Poses (bodies, 7) moved by (turn in the body, shift in space), as `absolute.entry.displace` does."""
    turn = np.concatenate([np.ones((len(a), 1)), 0.5 * a[:, :3]], axis=1)
    unit = product(q[:, :4], turn)
    return np.concatenate([unit / np.linalg.norm(unit, axis=1, keepdims=True), q[:, 4:] + a[:, 3:]], axis=1)


def cayley(half: np.ndarray) -> np.ndarray:
    """Rotation matrices of unit quaternions along (1, half)."""
    turn = np.concatenate([np.ones((len(half), 1)), half], axis=1)
    return quaternion_to_matrix(turn / np.linalg.norm(turn, axis=1, keepdims=True))


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of quaternions of any length, (..., 4)."""
    (s, x, y, z), (t, u, v, w) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack(
        (
            s * t - x * u - y * v - z * w,
            s * u + t * x + y * w - z * v,
            s * v + t * y + z * u - x * w,
            s * w + t * z + x * v - y * u,
        ),
        axis=-1,
    )


def projects_stages(mechanism: AbsoluteMechanism, refined: bool) -> bool:
    """Whether the field is that of the nearest state on the constraints (`constrained.index1.move`)."""
    return refined and not any(mechanism.baumgarte)
