"""What a plan can ask for at each moment: the place of a frame, a state, a joint, or a function of them.

A quantity has numbers r, zero where it is as wanted, and their derivatives by (δ, δv), δ along q exp(δ): rotations are
compared by log, so that no quaternion is ever subtracted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose as pose_group
from chasles.lie import s3
from chasles.lie.rotation import quaternion_to_matrix
from chasles.relative.tables import FREE, LINK, SPHERICAL, link_table
from chasles.simulation.actuation import Actuation
from chasles.simulation.start.values import by_name

Numbers = tuple[np.ndarray, np.ndarray]  # (nodes, m) and (nodes, m, 2 nv), or with inputs (nodes, m, 2 nv + inputs)
CALLER = "plan"
INPUTS = "u"  # what functions call them
TINY = 1e-30  # of a complex step: what is below rounding does no harm


class MotionQuantity(ABC):
    """Numbers of a motion at its nodes; of a `driven` one in its steps, as they are functions of the inputs too."""

    name = ""
    driven = False

    def prepare(self, mechanism: Any) -> None:  # noqa: B027  # most have nothing to refuse
        """Refuse what the mechanism has not."""

    def given(self, design: Mapping[str, Any]) -> MotionQuantity:
        """The same that knows the parameters of a design."""
        return self

    def straight(self, mechanism: Any) -> bool:
        """Whether the derivatives are the same everywhere."""
        return False

    @abstractmethod
    def numbers(
        self, mechanism: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: np.ndarray | None = None
    ) -> Numbers:
        """The numbers at nodes, and their derivatives by (δ, δv), with inputs by (δ, δv, u)."""


@dataclass(frozen=True)
class FramePlace(MotionQuantity):
    """A frame's or body's place less its target: three numbers, or six of a pose, by log in the target's frame."""

    frame: str
    target: Any

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"frame {self.frame!r}"

    def prepare(self, mechanism: Any) -> None:
        q = mechanism.neutral()
        mechanism.poses(q, self.frame)  # says which frames there are
        wanted = self._wanted(np.zeros(1))
        if wanted.shape[-1] not in (3, 7):
            raise ValueError(
                f"{CALLER}: the target of {self.name} has {wanted.shape[-1]} numbers; expected a position (3) or a "
                "pose (7: quaternion and position)"
            )
        if not np.isfinite(wanted).all():
            raise ValueError(f"{CALLER}: the target of {self.name} is not finite")

    def _wanted(self, t: np.ndarray) -> np.ndarray:
        return np.asarray(self.target(t) if callable(self.target) else self.target, dtype=float)

    def numbers(
        self, mechanism: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: np.ndarray | None = None
    ) -> Numbers:
        wanted, poses, J = self._wanted(t), mechanism.poses(q, self.frame), mechanism.jacobian(q, self.frame)
        if wanted.ndim == 2 and len(wanted) != len(t):
            raise ValueError(
                f"{CALLER}: the target of {self.name} has {len(wanted)} rows; expected one target, or {len(t)}"
            )
        if wanted.shape[-1] == 3:
            off = poses[:, 4:] - wanted
            slopes = quaternion_to_matrix(poses[:, :4]) @ J[:, 3:]
        else:
            wanted = np.broadcast_to(wanted, poses.shape)
            off = pose_group.log(pose_group.compose(pose_group.inverse(wanted), poses))
            slopes = pose_group.dexpinv(-off) @ J
        return off, np.concatenate([slopes, np.zeros_like(slopes)], axis=-1)


class Posture(MotionQuantity):
    """Coordinates and velocities less what they should be; those of joints that are not named count not."""

    name = "state"

    def __init__(self, q: Any, v: Any):
        if q is None and v is None:
            raise ValueError(f"{CALLER}: a state needs q or v")
        self.q, self.v = q, v

    def prepare(self, mechanism: Any) -> None:
        self._targets(mechanism)

    def straight(self, mechanism: Any) -> bool:
        return bool(mechanism.nq == mechanism.nv)

    def _targets(self, mechanism: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Full q and v, and which of (δ, δv) count."""
        counted = np.zeros(2 * mechanism.nv, dtype=bool)
        full = {"q": mechanism.neutral(), "v": np.zeros(mechanism.nv)}
        for at, (key, given) in enumerate((("q", self.q), ("v", self.v))):
            if given is None:
                continue
            own = counted[at * mechanism.nv : (at + 1) * mechanism.nv]
            if isinstance(given, Mapping):
                full[key] = np.asarray(by_name(f"{CALLER}: the state's {key}", mechanism, key, given), dtype=float)
                for joint in given:
                    own[mechanism.tree.velocities[joint]] = True
            else:
                own[:] = True
                check = mechanism.tables.check_q if key == "q" else mechanism.tables.check_v
                full[key] = check(CALLER, given) if key == "q" else check(CALLER, "v", given)
        return full["q"], full["v"], np.flatnonzero(counted)

    def numbers(
        self, mechanism: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: np.ndarray | None = None
    ) -> Numbers:
        wanted_q, wanted_v, counted = self._targets(mechanism)
        nv, off = mechanism.nv, np.concatenate([mechanism.difference(q, wanted_q), v - wanted_v], axis=-1)
        slopes = np.tile(np.eye(2 * nv), (len(t), 1, 1))
        table = link_table(mechanism.tree.independent)
        for kind, at in zip(table[:, LINK.kind], table[:, LINK.velocity], strict=True):
            if kind in (SPHERICAL, FREE):
                own = slice(at, at + (6 if kind == FREE else 3))
                group = pose_group if kind == FREE else s3
                slopes[:, own, own] = group.dexpinv(-off[:, own])
        return off[:, counted], slopes[:, counted]


@dataclass(frozen=True)
class JointNumber(MotionQuantity):
    """The coordinate, or velocity, of a joint with axes."""

    joint: str
    rate: bool

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{'velocity' if self.rate else 'coordinate'} of joint {self.joint!r}"

    def prepare(self, mechanism: Any) -> None:
        if self.joint not in mechanism.tree.velocities:
            known = ", ".join(map(repr, mechanism.tree.velocities))
            raise ValueError(f"{CALLER}: there is no joint {self.joint!r} that moves; there are {known}")
        rates, places = mechanism.tree.velocities[self.joint], mechanism.tree.coordinates[self.joint]
        if not self.rate and rates.stop - rates.start != places.stop - places.start:
            raise ValueError(f"{CALLER}: joint {self.joint!r} turns freely and has no coordinates that add up")

    def straight(self, mechanism: Any) -> bool:
        return True

    def numbers(
        self, mechanism: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: np.ndarray | None = None
    ) -> Numbers:
        own, nv = mechanism.tree.velocities[self.joint], mechanism.nv
        shift = nv if self.rate else 0
        values = v[:, own] if self.rate else q[:, mechanism.tree.coordinates[self.joint]]
        slopes = np.eye(2 * nv)[own.start + shift : own.stop + shift]
        return values, np.tile(slopes, (len(t), 1, 1))


class InputSum(MotionQuantity):
    """Sums of the inputs with weights: of all of them, in their order, or of some by name."""

    driven = True

    def __init__(self, weights: Any, name: str):
        self.weights, self.name = weights, name

    def prepare(self, mechanism: Any) -> None:
        actuation = Actuation.of_tree(mechanism)
        weights = np.eye(actuation.inputs) if self.weights is None else self.weights
        alone = isinstance(weights, Mapping) or not any(map(np.iterable, weights))
        try:
            rows = [actuation.read(row, "these are") for row in ([weights] if alone else weights)]
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{CALLER}: the weights of {self.name}; expected a number for each input, rows of them, or weights by "
                f"name: {str(error).removeprefix('simulate: ')}"
            ) from None
        self.rows = np.array(rows)

    def straight(self, mechanism: Any) -> bool:
        return True

    def numbers(
        self, mechanism: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: np.ndarray | None = None
    ) -> Numbers:
        assert u is not None
        still = np.zeros((len(self.rows), 2 * mechanism.nv))
        return u @ self.rows.T, np.tile(np.concatenate([still, self.rows], axis=1), (len(t), 1, 1))


@dataclass(frozen=True)
class FunctionOf(MotionQuantity):
    """A function f(t, q, v) of all nodes at once, or f(t, q, v, u), with derivatives by complex steps."""

    function: Callable[..., Any]
    name: str = "function"

    def _takes(self) -> list[str]:
        """Names that it takes behind t, q and v."""
        try:
            return list(signature(self.function).parameters)[3:]
        except (TypeError, ValueError):  # what is compiled tells no names
            return []

    @property
    def driven(self) -> bool:  # type: ignore[override]
        return INPUTS in self._takes()

    def given(self, design: Mapping[str, Any]) -> MotionQuantity:
        """With those parameters that the function takes behind t, q and v."""
        takes = self._takes()
        if INPUTS in takes and INPUTS in design:
            raise ValueError(
                f"{CALLER}: {self.name} takes {INPUTS!r}, which is a parameter of the design and the name of the "
                "inputs; give the parameter another name"
            )
        return replace(self, function=partial(self.function, **{key: design[key] for key in takes if key in design}))

    def _values(self, t: np.ndarray, x: np.ndarray, nq: int, nv: int) -> np.ndarray:
        """Of states with the inputs behind them."""
        more = {INPUTS: x[:, nq + nv :]} if x.shape[1] > nq + nv else {}
        found = np.asarray(self.function(t, x[:, :nq], x[:, nq : nq + nv], **more))
        found = found[:, None] if found.ndim == 1 else found
        if found.ndim != 2 or len(found) != len(t):
            raise ValueError(
                f"{CALLER}: {self.name} returned shape {found.shape}; expected a number, or a row, for each of the "
                f"{len(t)} nodes"
            )
        return found

    def numbers(
        self, mechanism: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray, u: np.ndarray | None = None
    ) -> Numbers:
        nq, nv = mechanism.nq, mechanism.nv
        all_of = np.concatenate([q, v] if u is None or not self.driven else [q, v, u], axis=1)
        values = self._values(t, all_of, nq, nv).astype(float)
        rates = np.empty((*values.shape, all_of.shape[1]))
        for k in range(all_of.shape[1]):
            x = all_of.astype(complex)
            x[:, k] += 1j * TINY
            try:
                rates[..., k] = self._values(t, x, nq, nv).imag / TINY
            except TypeError as error:
                raise TypeError(f"{CALLER}: {self.name} does not take complex numbers: {error}") from error
        turned = mechanism.tables.configuration.lift(q[:, None], np.eye(nv)[None])  # (nodes, nv, nq)
        return values, np.concatenate([rates[..., :nq] @ turned.transpose(0, 2, 1), rates[..., nq:]], axis=-1)


def frame(name: str, target: ArrayLike | Callable[[np.ndarray], ArrayLike]) -> MotionQuantity:
    """Deviation of a frame or body from a target: a position (3), a pose (7), one per node, or a function of time."""
    return FramePlace(name, target if callable(target) else np.asarray(target, dtype=float))


def state(q: Any = None, v: Any = None) -> MotionQuantity:
    """The deviation of the state from given coordinates and velocities, of all joints, or of some by name."""
    return Posture(q, v)


def joint(name: str) -> MotionQuantity:
    """The coordinate of a joint with axes."""
    return JointNumber(name, False)


def speed(name: str) -> MotionQuantity:
    """The velocities of a joint."""
    return JointNumber(name, True)


def inputs(weights: Any = None, name: str = "inputs") -> MotionQuantity:
    """Sums of the inputs with weights: a row, rows, or weights by name, {"left": 1.0, "right": -1.0}; by default the
    inputs themselves. They hold in steps."""
    return InputSum(weights, name)


def quantity(function: Callable[..., Any], name: str = "function") -> MotionQuantity:
    """Numbers f(t, q, v) of all nodes at once, t (nodes,), q (nodes, nq), v (nodes, nv), of operations that take
    complex numbers too: these give the derivatives. A function f(t, q, v, u) takes the inputs u (steps, inputs) too,
    with the states at the starts of the steps. With parameters of a design it may take some of them behind v, by
    name."""
    return FunctionOf(function, name)
