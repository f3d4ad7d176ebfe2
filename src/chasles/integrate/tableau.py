"""Runge-Kutta tableaux as data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction as Q
from numbers import Real
from typing import SupportsFloat

import numpy as np


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method: coefficients, order, and for a pair the weights and order of the second one."""

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]  # strictly lower triangular, row i has i entries
    b: tuple[float, ...]
    embedded: tuple[float, ...] | None = None
    embedded_order: int = 0
    second_embedded: tuple[float, ...] | None = None  # damps the first estimate, as in DOP853

    def __post_init__(self) -> None:
        self._check_kinds()
        for name in ("b", "embedded", "second_embedded"):
            if (row := getattr(self, name)) is not None:
                object.__setattr__(self, name, _weights(*row))
        object.__setattr__(self, "a", tuple(_weights(*row) for row in self.a))
        s = len(self.b)
        if [len(row) for row in self.a] != list(range(s)):
            raise ValueError(f"tableau {self.name}: row i of `a` must have i entries, i = 0 ... {s - 1}")
        if abs(sum(self.b) - 1) > 1e-12:
            raise ValueError(f"tableau {self.name}: the weights b sum to {sum(self.b)}; expected 1")
        if self.embedded is not None and (len(self.embedded) != s or abs(sum(self.embedded) - 1) > 1e-12):
            raise ValueError(f"tableau {self.name}: the embedded weights must be {s} numbers that sum to 1")
        if self.second_embedded is not None and (self.embedded is None or len(self.second_embedded) != s):
            raise ValueError(f"tableau {self.name}: the second embedded weights go with the first, {s} numbers each")
        if self.order < 1 or (self.embedded is not None and self.embedded_order < 1):
            raise ValueError(f"tableau {self.name}: orders must be at least 1")

    def _check_kinds(self) -> None:
        """Files may hold anything."""
        if not isinstance(self.name, str):
            raise ValueError(f"tableau: its name is {self.name!r}; expected a text")
        if not all(isinstance(order, int | np.integer) for order in (self.order, self.embedded_order)):
            raise ValueError(
                f"tableau {self.name}: orders are whole numbers, not {self.order!r}, {self.embedded_order!r}"
            )
        rows = [self.b, *(w for w in (self.embedded, self.second_embedded) if w is not None)]
        if not isinstance(self.a, tuple | list) or not all(isinstance(row, tuple | list) for row in (*self.a, *rows)):
            raise ValueError(f"tableau {self.name}: `a` must be rows of numbers, the weights numbers")
        if not all(isinstance(x, Real) and math.isfinite(x) for row in (*self.a, *rows) for x in row):
            raise ValueError(f"tableau {self.name}: its coefficients must be finite numbers")

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def c(self) -> np.ndarray:
        return np.array([sum(row) for row in self.a], dtype=float)

    @property
    def matrix(self) -> np.ndarray:
        full = np.zeros((self.stages, self.stages))
        for i, row in enumerate(self.a):
            full[i, :i] = row
        return full

    @property
    def first_same_as_last(self) -> bool:
        """Whether the last stage is the field at the end of the step."""
        return self.b[-1] == 0 and self.a[-1] == self.b[:-1]


def _rows(*rows: Iterable[SupportsFloat]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(x) for x in row) for row in ((), *rows))


def _weights(*values: SupportsFloat) -> tuple[float, ...]:
    return tuple(float(x) for x in values)


EULER = Tableau("euler", 1, _rows(), (1.0,))
MIDPOINT = Tableau("midpoint", 2, _rows((0.5,)), (0.0, 1.0))
HEUN = Tableau("heun", 2, _rows((1,)), (0.5, 0.5), (1.0, 0.0), 1)
KUTTA3 = Tableau("kutta3", 3, _rows((0.5,), (-1, 2)), _weights(Q(1, 6), Q(2, 3), Q(1, 6)))
HEUN3 = Tableau("heun3", 3, _rows((Q(1, 3),), (0, Q(2, 3))), _weights(Q(1, 4), 0, Q(3, 4)))
BOGACKI_SHAMPINE = Tableau(
    "bs32",
    3,
    _rows((0.5,), (0, 0.75), (Q(2, 9), Q(1, 3), Q(4, 9))),
    _weights(Q(2, 9), Q(1, 3), Q(4, 9), 0),
    _weights(Q(7, 24), Q(1, 4), Q(1, 3), Q(1, 8)),
    2,
)
RK4 = Tableau("rk4", 4, _rows((0.5,), (0, 0.5), (0, 0, 1)), _weights(Q(1, 6), Q(1, 3), Q(1, 3), Q(1, 6)))
RK38 = Tableau("rk38", 4, _rows((Q(1, 3),), (Q(-1, 3), 1), (1, -1, 1)), _weights(Q(1, 8), Q(3, 8), Q(3, 8), Q(1, 8)))
_DOPRI_B = (Q(35, 384), Q(0), Q(500, 1113), Q(125, 192), Q(-2187, 6784), Q(11, 84))
DOPRI5 = Tableau(
    "dopri5",
    5,
    _rows(
        (Q(1, 5),),
        (Q(3, 40), Q(9, 40)),
        (Q(44, 45), Q(-56, 15), Q(32, 9)),
        (Q(19372, 6561), Q(-25360, 2187), Q(64448, 6561), Q(-212, 729)),
        (Q(9017, 3168), Q(-355, 33), Q(46732, 5247), Q(49, 176), Q(-5103, 18656)),
        _DOPRI_B,
    ),
    _weights(*_DOPRI_B, 0),
    _weights(Q(5179, 57600), 0, Q(7571, 16695), Q(393, 640), Q(-92097, 339200), Q(187, 2100), Q(1, 40)),
    4,
)
_TSIT_A = (
    (0.161,),
    (-0.008480655492356989, 0.335480655492357),
    (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
    (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
    (5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383),
    (
        *(0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742),
        *(-3.290069515436081, 2.324710524099774),
    ),
)
_TSIT_E = (
    *(-0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629),
    *(0.5823571654525552, -0.45808210592918697, 1 / 66),
)
TSIT5 = Tableau(
    "tsit5",
    5,
    _rows(*_TSIT_A),
    (*_TSIT_A[-1], 0.0),
    tuple(b + e for b, e in zip((*_TSIT_A[-1], 0.0), _TSIT_E, strict=True)),
    4,
)
BUTCHER6 = Tableau(
    "butcher6",
    6,
    _rows(
        (Q(1, 3),),
        (0, Q(2, 3)),
        (Q(1, 12), Q(1, 3), Q(-1, 12)),
        (Q(-1, 16), Q(9, 8), Q(-3, 16), Q(-3, 8)),
        (0, Q(9, 8), Q(-3, 8), Q(-3, 4), Q(1, 2)),
        (Q(9, 44), Q(-9, 11), Q(63, 44), Q(18, 11), 0, Q(-16, 11)),
    ),
    _weights(Q(11, 120), 0, Q(27, 40), Q(27, 40), Q(-4, 15), Q(-4, 15), Q(11, 120)),
)

# Dormand and Prince's method of order 8 (hairer1993, II.5), with its two error estimates.
_DOP853_A = (
    (0.05260015195876773,),
    (
        0.0197250569845379,
        0.0591751709536137,
    ),
    (
        0.02958758547680685,
        0,
        0.08876275643042054,
    ),
    (
        0.2413651341592667,
        0,
        -0.8845494793282861,
        0.924834003261792,
    ),
    (
        0.037037037037037035,
        0,
        0,
        0.17082860872947386,
        0.12546768756682242,
    ),
    (
        0.037109375,
        0,
        0,
        0.17025221101954405,
        0.06021653898045596,
        -0.017578125,
    ),
    (
        0.03709200011850479,
        0,
        0,
        0.17038392571223998,
        0.10726203044637328,
        -0.015319437748624402,
        0.008273789163814023,
    ),
    (
        0.6241109587160757,
        0,
        0,
        -3.3608926294469414,
        -0.868219346841726,
        27.59209969944671,
        20.154067550477894,
        -43.48988418106996,
    ),
    (
        0.47766253643826434,
        0,
        0,
        -2.4881146199716677,
        -0.590290826836843,
        21.230051448181193,
        15.279233632882423,
        -33.28821096898486,
        -0.020331201708508627,
    ),
    (
        -0.9371424300859873,
        0,
        0,
        5.186372428844064,
        1.0914373489967295,
        -8.149787010746927,
        -18.52006565999696,
        22.739487099350505,
        2.4936055526796523,
        -3.0467644718982196,
    ),
    (
        2.273310147516538,
        0,
        0,
        -10.53449546673725,
        -2.0008720582248625,
        -17.9589318631188,
        27.94888452941996,
        -2.8589982771350235,
        -8.87285693353063,
        12.360567175794303,
        0.6433927460157636,
    ),
)
_DOP853_B = (
    0.054293734116568765,
    0,
    0,
    0,
    0,
    4.450312892752409,
    1.8915178993145003,
    -5.801203960010585,
    0.3111643669578199,
    -0.1521609496625161,
    0.20136540080403034,
    0.04471061572777259,
)
_DOP853_E5 = (
    0.01312004499419488,
    0,
    0,
    0,
    0,
    -1.2251564463762044,
    -0.4957589496572502,
    1.6643771824549864,
    -0.35032884874997366,
    0.3341791187130175,
    0.08192320648511571,
    -0.022355307863886294,
)
_DOP853_E3 = (
    -0.18980075407240762,
    0,
    0,
    0,
    0,
    4.450312892752409,
    1.8915178993145003,
    -5.801203960010585,
    -0.4226823213237919,
    -0.1521609496625161,
    0.20136540080403034,
    0.02265179219836082,
)
DOP853 = Tableau(
    "dop853",
    8,
    _rows(*_DOP853_A),
    _weights(*_DOP853_B),
    tuple(float(b - e) for b, e in zip(_DOP853_B, _DOP853_E5, strict=True)),
    5,
    tuple(float(b - e) for b, e in zip(_DOP853_B, _DOP853_E3, strict=True)),
)

TABLEAUX = {
    t.name: t
    for t in (
        *(EULER, MIDPOINT, HEUN, KUTTA3, HEUN3, BOGACKI_SHAMPINE, RK4, RK38),
        *(DOPRI5, TSIT5, BUTCHER6, DOP853),
    )
}
