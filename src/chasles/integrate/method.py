"""Integration methods as frozen data. A method knows its order; the loops of `engine` do the work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction as Q
from typing import Any, SupportsFloat

import numpy as np

from chasles.integrate import table
from chasles.integrate.tableau import TABLEAUX, Tableau
from chasles.model.suggestion import meant

COORDINATES = {"exp": table.EXP, "cay": table.CAYLEY, "cay2": table.CAYLEY2, "second_kind": table.SECOND_KIND}

# (target stage or "end", i, j, coefficient of h^2 [f_i, f_j]); stages are counted from 0
MINIMAL = {
    "kutta3": (("end", 0, 2, -1 / 12),),
    "rk4": ((2, 0, 1, -1 / 8), ("end", 0, 3, -1 / 12)),
}


@dataclass(frozen=True)
class RKMK:
    """Runge-Kutta-Munthe-Kaas: a Runge-Kutta method for X' = dexpinv_X f (celledoni2022 eqs. (6)-(8)).

    `tableau` is a name or a `Tableau` of your own. `dexpinv` is "exact", a number of terms of its series (order p needs
    p - 2), or "minimal": no dexpinv but the fewest commutators, one for "kutta3" and two for "rk4" (celledoni2022
    section 2.2). Step control needs all terms that the order of the tableau needs.
    `coordinates` is "exp", "cay", "cay2" or "second_kind"; a problem may ask for its own.
    """

    tableau: str | Tableau = "rk4"
    dexpinv: str | int = "exact"
    coordinates: str = "exp"

    def __post_init__(self) -> None:
        self.table  # noqa: B018 (raises for an unknown name)
        if self.coordinates not in COORDINATES:
            raise ValueError(f"RKMK: coordinates {self.coordinates!r}; expected one of {', '.join(COORDINATES)}")
        if self.dexpinv == "minimal":
            if self.table.name not in MINIMAL or self.table != TABLEAUX[self.table.name]:
                raise ValueError(f"RKMK: minimal commutators are known for {', '.join(MINIMAL)} only")
        elif self.dexpinv != "exact" and not (isinstance(self.dexpinv, int) and 0 <= self.dexpinv <= 7):
            raise ValueError(
                f'RKMK: dexpinv is "exact", "minimal" or a number of terms from 0 to 7, not {self.dexpinv!r}'
            )
        if self.coordinates != "exp" and self.dexpinv != "exact":
            raise ValueError("RKMK: truncated series and minimal commutators go with exponential coordinates only")

    @property
    def table(self) -> Tableau:
        if isinstance(self.tableau, Tableau):
            return self.tableau
        if self.tableau not in TABLEAUX:
            raise ValueError(
                f"RKMK: unknown tableau {self.tableau!r}; {meant(self.tableau, TABLEAUX)}expected a Tableau or one of "
                f"{', '.join(TABLEAUX)}"
            )
        return TABLEAUX[self.tableau]

    @property
    def order(self) -> int:
        """Order of the method; a truncated dexpinv limits it (ad^m serves order m + 2, and 5 for m = 2 or 3)."""
        return min(self.table.order, self._series_order)

    @property
    def _series_order(self) -> int:
        """The highest order that the terms of dexpinv serve."""
        return {0: 2, 1: 3, 2: 5, 3: 5, 4: 7, 5: 7}.get(self.dexpinv, 9) if isinstance(self.dexpinv, int) else 9

    @property
    def embedded_order(self) -> int:
        """Order of the second result of a pair; 0 if there is none, or if it does not tell the error: both results of a
        pair leave out the same terms of dexpinv, so their difference shows nothing of these."""
        if self.dexpinv == "minimal" or self._series_order <= self.table.embedded_order:
            return 0
        return self.table.embedded_order

    @property
    def terms(self) -> int:
        """Terms of the truncated series, -1 for the exact one."""
        return 0 if self.dexpinv == "minimal" else -1 if self.dexpinv == "exact" else int(self.dexpinv)

    def commutators(self) -> np.ndarray:
        rows = MINIMAL[self.table.name] if self.dexpinv == "minimal" else ()
        stages = self.table.stages
        return np.array([(stages if to == "end" else to, i, j, c) for to, i, j, c in rows], dtype=float).reshape(-1, 4)


FactorRow = tuple[int, tuple[tuple[float, ...], ...]]  # where it starts (-1: the point of the step), and its factors


@dataclass(frozen=True)
class Exponentials:
    """A product of exponentials as data.

    `stages[i]` and `result` are (base, factors): start from stage `base` (-1: the point of the step), then move by
    exp(h sum_j w_j f_j) for each factor w in turn. `embedded` is the second result of a pair.
    """

    name: str
    order: int
    stages: tuple[FactorRow, ...]
    result: FactorRow
    embedded: FactorRow | None = None
    embedded_order: int = 0

    def __str__(self) -> str:
        return f"{self.name} (a product of exponentials of order {self.order})"

    @property
    def rows(self) -> tuple[FactorRow, ...]:
        return (*self.stages, self.result, *((self.embedded,) if self.embedded else ()))

    def program(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(base, first, end) for each row, the weights of all factors, and the stages' times."""
        s = len(self.stages)
        program: list[tuple[int, int, int]] = []
        weights: list[list[float]] = []
        times: list[float] = []
        for base, factors in self.rows:
            program.append((base, len(weights), len(weights) + len(factors)))
            weights += [[*w, *(0.0,) * (s - len(w))] for w in factors]
            times.append((times[base] if base >= 0 else 0.0) + sum(map(sum, factors)))
        return np.array(program, dtype=np.int64), np.array(weights, dtype=float).reshape(-1, s), np.array(times[:s])


def _row(base: int, *factors: Iterable[SupportsFloat]) -> FactorRow:
    return base, tuple(tuple(float(w) for w in factor) for factor in factors)


def _crouch_grossman(
    name: str, order: int, a: Any, b: Any, embedded: Any = None, embedded_order: int = 0
) -> Exponentials:
    """Each factor belongs to one field value; the lower stage acts first."""

    def factors(weights: Iterable[SupportsFloat]) -> list[tuple[SupportsFloat, ...]]:
        return [(*(0,) * j, w) for j, w in enumerate(weights)]

    stages = tuple(_row(-1, *factors(row)) for row in ((), *a))
    second = _row(-1, *factors(embedded)) if embedded else None
    return Exponentials(name, order, stages, _row(-1, *factors(b)), second, embedded_order)


def _low_storage(name: str, order: int, a: Iterable[SupportsFloat], b: Iterable[SupportsFloat]) -> Exponentials:
    """k = A k + h f, y = exp(B k) y: each stage continues from the one before it."""
    memory: list[list[float]] = []
    rows: list[FactorRow] = [_row(-1)]
    for i, (ai, bi) in enumerate(zip(a, b, strict=True)):
        previous = memory[-1] if memory else []
        memory.append([*(float(ai) * w for w in previous), 1.0])
        rows.append(_row(i, [float(bi) * w for w in memory[-1]]))
    return Exponentials(name, order, tuple(rows[:-1]), rows[-1])


_CF4_STAGES = (
    _row(-1),
    _row(-1, (0.5,)),
    _row(-1, (0, 0.5)),
    _row(1, (-0.5, 0, 1)),
)
_CF4_RESULT = _row(
    -1,
    (Q(1, 4), Q(1, 6), Q(1, 6), Q(-1, 12)),
    (Q(-1, 12), Q(1, 6), Q(1, 6), Q(1, 4)),
)
COMMUTATOR_FREE = {
    m.name: m
    for m in (
        Exponentials("lie_euler", 1, (_row(-1),), _row(-1, (1,))),
        Exponentials(
            "cf32a",
            3,
            (_row(-1), _row(-1, (Q(1, 3),)), _row(-1, (0, Q(2, 3)))),
            _row(1, (Q(-1, 12), 0, Q(3, 4))),
            _row(-1, (0, 0.5, 0.5)),
            2,
        ),
        Exponentials(
            "cf32b",
            3,
            (_row(-1), _row(-1, (Q(2, 3),)), _row(-1, (Q(5, 12), Q(1, 4)))),
            _row(2, (Q(-1, 6), Q(-1, 2), 1)),
            _row(-1, (Q(1, 4), 0, Q(3, 4))),
            2,
        ),
        Exponentials("cf4", 4, _CF4_STAGES, _CF4_RESULT),
        Exponentials(
            "cf43",
            4,
            (*_CF4_STAGES, _row(-1, (0, Q(3, 4)))),
            _CF4_RESULT,
            _row(-1, (Q(1, 3),), (Q(-1, 9), Q(1, 3), 0, 0, Q(4, 9))),
            3,
        ),
    )
}
CROUCH_GROSSMAN = {
    m.name: m
    for m in (
        _crouch_grossman("cg2", 2, ((0.5,),), (0, 1)),
        _crouch_grossman("cg3", 3, ((0.75,), (Q(119, 216), Q(17, 108))), (Q(13, 51), Q(-2, 3), Q(24, 17))),
        _crouch_grossman(
            "cg32",
            3,
            ((0.75,), (Q(119, 216), Q(17, 108))),
            (Q(13, 51), Q(-2, 3), Q(24, 17)),
            (Q(3, 4), Q(31, 4), Q(-15, 2)),
            2,
        ),
        _crouch_grossman(
            "cg4",
            4,
            (
                (0.8177227988124852,),
                (0.3199876375476427, 0.0659864263556022),
                (0.9214417194464946, 0.4997857776773573, -1.0969984448371582),
                (0.3552358559023322, 0.2390958372307326, 1.3918565724203246, -1.1092979392113465),
            ),
            (0.1370831520630755, -0.018369853156402, 0.739781398537078, -0.1907142565505889, 0.3322195591068374),
        ),
    )
}
LOW_STORAGE = {
    m.name: m
    for m in (
        _low_storage("williamson3", 3, (0, Q(-5, 9), Q(-153, 128)), (Q(1, 3), Q(15, 16), Q(8, 15))),
        _low_storage(
            "carpenter_kennedy",
            4,
            (
                0,
                Q(-567301805773, 1357537059087),
                Q(-2404267990393, 2016746695238),
                Q(-3550918686646, 2091501179385),
                Q(-1275806237668, 842570457699),
            ),
            (
                Q(1432997174477, 9575080441755),
                Q(5161836677717, 13612068292357),
                Q(1720146321549, 2090206949498),
                Q(3134564353537, 4481467310338),
                Q(2277821191437, 14882151754819),
            ),
        ),
        _low_storage(
            "rk46nl",
            4,
            (0, -0.737101392796, -1.634740794341, -0.744739003780, -1.469897351522, -2.813971388035),
            (0.032918605146, 0.823256998200, 0.381530948900, 0.200092213184, 1.718581042715, 0.27),
        ),
    )
}


def _named(family: str, table: dict[str, Exponentials], name: str) -> Exponentials:
    if name not in table:
        raise ValueError(f"{family}: unknown method {name!r}; {meant(name, table)}expected one of {', '.join(table)}")
    return table[name]


def CommutatorFree(name: str = "cf4") -> Exponentials:
    """Commutator-free methods: "lie_euler", "cf32a", "cf32b", "cf4", "cf43" (celledoni2022 eqs. (9), (34),
    section 4.2.1).
    """
    return _named("CommutatorFree", COMMUTATOR_FREE, name)


def CrouchGrossman(name: str = "cg3") -> Exponentials:
    """Crouch-Grossman methods: "cg2", "cg3", "cg32", "cg4"."""
    return _named("CrouchGrossman", CROUCH_GROSSMAN, name)


def LowStorage(name: str = "carpenter_kennedy") -> Exponentials:
    """Low-storage 2N methods, one exponential a stage: "williamson3", "carpenter_kennedy", "rk46nl"."""
    return _named("LowStorage", LOW_STORAGE, name)
