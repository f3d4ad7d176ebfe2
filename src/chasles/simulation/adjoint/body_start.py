"""Cotangents through the start of generalized alpha (`generalized_alpha.start`): accelerations at and beside the start,
and velocities that are moved off the constraints."""

from __future__ import annotations

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, made_states
from chasles.constrained.group import bracket, moved, on_se3
from chasles.constrained.start import Start
from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.simulation.adjoint.alpha import Cotangents
from chasles.simulation.adjoint.chart_slopes import ad_of, back_of, onward_of, times
from chasles.simulation.adjoint.constrained_back import ConstrainedBack, at_rest
from chasles.simulation.adjoint.nearest_back import NearestBack


class StartBack(ConstrainedBack):
    """The start of a run, from its point to what the method carries."""

    def __init__(self, residuals: BodyResiduals, start: Start, method: GeneralizedAlpha):
        super().__init__(residuals)
        self.start, self.method = start, method
        self.mechanism, self.h = start.mechanism, start.h
        self.turning = on_se3(self.mechanism)
        self.constrained = method.index == 3 and bool(self.mechanism.tiles)
        self.v = start.onto_constraints(start.v) if self.constrained else start.v
        self.rates = start.motion(self.v)[0]

    def back(self, given: Cotangents) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents of the poses and velocities of the start."""
        start, method, h, shape = self.start, self.method, self.h, self.v.shape
        v, rates = self.v, self.rates
        ahead = start.rates_after(h, v, rates)
        behind = rates if start.jump else start.rates_after(-h, v, rates)
        change = ahead - rates if start.jump else 0.5 * (ahead - behind)
        resolved = start.resolves(change, v, rates)
        change = change if resolved else start.change_in_time(v, rates)
        turn, v_bar, rate_bar = given.turn.copy(), given.v.copy(), given.rate + given.a
        change_bar, twist_bar = method.shift * given.a, np.zeros(v.size)
        if self.constrained:
            twist = h * bracket(self.mechanism, v, rates)
            share = h * (1 - 6 * method.coefficients[3] - 3 * method.shift) / 6
            off = share * (change + 0.5 * twist) if method.local else share * change + h * twist / 12
            # V = v + off - (onto(v + off) - v)
            more, on_turn = self._onto_back(v + off, -given.v)
            turn, off_bar = turn + on_turn, given.v + more
            v_bar = 2.0 * given.v + more
            change_bar = change_bar + share * off_bar
            twist_bar = twist_bar + (0.0 if method.local else h / 12) * off_bar
        if method.local:
            twist_bar = twist_bar + 0.5 * change_bar
        ad_v, ad_rates = (ad_of(self.turning, x.reshape(shape)) for x in (v, rates))
        rate_bar = rate_bar + h * times(ad_v, twist_bar)
        v_bar = v_bar - h * times(ad_rates, twist_bar)
        if resolved:
            sides = ((h, change_bar),) if start.jump else ((h, 0.5 * change_bar), (-h, -0.5 * change_bar))
            rate_bar = rate_bar - change_bar if start.jump else rate_bar
            for side, bar in sides:
                found = self._beside_back(side, bar)
                turn, v_bar, rate_bar = turn + found[0], v_bar + found[1], rate_bar + found[2]
        else:
            at_end = self._motion_back(start.t + h, start.q, v, change_bar)
            turn, v_bar, rate_bar = turn + at_end[0], v_bar + at_end[1], rate_bar - change_bar
        own = self._motion_back(start.t, start.q, v, rate_bar)
        turn, v_bar = turn + own[0], v_bar + own[1]
        if self.constrained:
            v_bar, on_turn = self._onto_back(start.v, v_bar)
            turn = turn + on_turn
        return turn, v_bar

    def _beside_back(self, side: float, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Through `Start.rates_after`: cotangents of the poses, of v and of V'."""
        v, rates, shape = self.v, self.rates, self.v.shape
        x = side * v + 0.5 * side * side * rates
        there = moved(self.mechanism, self.start.q, x)
        turn, v_bar = self._motion_back(self.start.t + side, there, v + side * rates, bar)
        x = x.reshape(shape)
        of_x = times(onward_of(self.turning, x), turn)
        return (
            times(back_of(self.turning, x), turn),
            v_bar + side * of_x,
            side * v_bar + 0.5 * side * side * of_x,
        )

    def _motion_back(self, t: float, q: np.ndarray, v: np.ndarray, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Through the accelerations of a state, from the index-1 equations."""
        mechanism = self.mechanism
        turned = mechanism.angles(q)
        angles = turned + 2 * np.pi * np.round((self.start.angles - turned) / (2 * np.pi))
        held = self.start.problem.held
        nearest = NearestBack(self.residuals, t, q, v, angles) if mechanism.redundant else None
        if nearest is not None:  # `reactions.on_constraints`
            q, v = nearest.q, nearest.v.reshape(v.shape)
        rates, multipliers = mechanism.constrained_motion(q, v, held, t, angles)
        given = {"t": t, "angles": angles, "q": q, "v": v, "rate": rates, "lam": multipliers}
        if held is not None:
            given["controls"] = held
        turn, v_bar, _ = self.motion(made_states(mechanism, 1, **given), bar)
        if nearest is not None:
            turn, v_bar = nearest.back(turn, v_bar)
            self.account += nearest.account
        return turn, v_bar

    def _onto_back(self, v: np.ndarray, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Through velocities that are projected onto the constraints: cotangents of them and of the poses."""
        start = self.start
        return self.onto(at_rest(self.residuals, start.t, start.q, start.angles), v, start.onto_constraints(v), bar)
