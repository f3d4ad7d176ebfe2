"""High-precision reference values for Lie group maps, computed from their definitions.

Inputs are doubles, taken exactly as they are (mpmath numbers are accepted as well). Matrices are
returned as ``mp.matrix``; twists, quaternions and poses as lists of ``mpf``. Work is done with 60
digits, or with the precision of the caller where that is higher.

Conventions: a twist is (angular, linear), a quaternion (w, x, y, z), a pose (w, x, y, z, rx, ry, rz).
Differentials are right-trivialized: d/dt f(X) = hat(df_X X') f(X). Every group is a matrix group given
by a basis of its algebra in a faithful representation, and no closed formula (Rodrigues and its
relatives) is used: exponentials and their differentials are summed power series, and the Cayley
and second-kind differentials come from the product rule on the basis.

Elements given as doubles are off the group by rounding. They are first replaced by the nearest group
element: the rotation block by its orthogonal polar factor, the quaternion by its normalization.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from mpmath import mp, mpf

mp.dps = 50
WORK_DPS = 60

Array = np.ndarray  # of dtype object, holding mpf
Vector = list[mpf]
Entries = list[tuple[int, int, mpf]]  # the nonzero (row, column, value) of a matrix


def precise(function: Callable) -> Callable:
    """Run the function with the working precision."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with mp.workdps(max(WORK_DPS, mp.dps)):
            return function(*args, **kwargs)

    return wrapped


# Linear algebra on object arrays of mpf.

_convert = np.frompyfunc(mp.convert, 1, 1)


def _array(x: Any) -> Array:
    """Exact copy of a vector or a matrix as an object array of mpf."""
    return _convert(np.array(x.tolist() if isinstance(x, mp.matrix) else x, dtype=object))


def _vector(x: Any) -> Array:
    return _array(x).reshape(-1)


def _matrix(a: Array) -> mp.matrix:
    return mp.matrix(a.tolist())


def _zeros(rows: int, columns: int) -> Array:
    return np.full((rows, columns), mpf(0), dtype=object)


def _identity(n: int) -> Array:
    a = _zeros(n, n)
    a[np.diag_indices(n)] = mpf(1)
    return a


def _mul(a: Array, b: Array) -> Array:
    """Matrix product; zeros of the first factor are skipped."""
    out = _zeros(len(a), b.shape[1])
    columns = b.T.tolist()
    for i, row in enumerate(a.tolist()):
        used = [(k, x) for k, x in enumerate(row) if x]
        for j, column in enumerate(columns):
            out[i, j] = mp.fdot((x, column[k]) for k, x in used if column[k])
    return out


def _product(*factors: Array) -> Array:
    return functools.reduce(_mul, factors)


def _solve(a: Array, b: Array) -> Array:
    """Solution of a y = b by Gauss-Jordan elimination with partial pivoting."""
    n = len(a)
    m = np.concatenate([a, b], axis=1)
    for k in range(n):
        pivot = k + max(range(n - k), key=lambda i: abs(m[k + i, k]))
        m[[k, pivot]] = m[[pivot, k]]
        m[k, k:] = m[k, k:] / m[k, k]
        for i in range(n):
            if i != k and m[i, k]:
                m[i, k:] = m[i, k:] - m[k, k:] * m[i, k]
    return m[:, n:]


def _inverse(a: Array) -> Array:
    return _solve(a, _identity(len(a)))


def _norm(v: Iterable[mpf]) -> mpf:
    return mp.sqrt(mp.fsum(v, squared=True))


# Power series of a matrix, in fixed point (integers times 2^-bits) for speed.

_to_fixed = np.frompyfunc(lambda x, bits: int(mp.ldexp(x, bits)), 2, 1)
_from_fixed = np.frompyfunc(lambda n, bits: mp.ldexp(mpf(n), -bits), 2, 1)


_NEGLIGIBLE = 1 << 32  # terms below this many units end a series, within the guard bits


def _bits(*matrices: Array) -> int:
    """Fraction bits that leave the smallest entry with the working precision and 64 guard bits."""
    smallest = min((mp.mag(x) for a in matrices for x in a.flat if x), default=0)
    return mp.prec + 64 + max(0, -int(smallest))


def _taylor(a: Array, shift: int) -> Array:
    """sum_k a^k / (k + shift)! for shift 0 or 1: the exponential, or its integral over [0, 1]."""
    bits = _bits(a)
    fixed = _to_fixed(a, bits)
    term = _to_fixed(_identity(len(a)), bits)
    total, k = term, 0
    while np.any(abs(term) > _NEGLIGIBLE):
        k += 1
        term = (term.dot(fixed) >> bits) // (k + shift)
        total = total + term
    return _from_fixed(total, bits)


def _taylor_derivative(a: Array, b: Array, shift: int) -> Array:
    """Derivative at t = 0 of sum_k (a + t b)^k / (k + shift)!, by the product rule on the powers."""
    bits = _bits(a, b)
    fixed, direction = _to_fixed(a, bits), _to_fixed(b, bits)
    term = _to_fixed(_identity(len(a)), bits)
    change = 0 * term
    total, k = change, 0
    while np.any(abs(term) > _NEGLIGIBLE) or np.any(abs(change) > _NEGLIGIBLE):
        k += 1
        change = ((change.dot(fixed) + term.dot(direction)) >> bits) // (k + shift)
        term = (term.dot(fixed) >> bits) // (k + shift)
        total = total + change
    return _from_fixed(total, bits)


def _polynomial(a: Array, coefficients: Iterable[Any]) -> Array:
    """sum_k c_k a^k over the given coefficients."""
    bits = _bits(a)
    fixed = _to_fixed(a, bits)
    power = _to_fixed(_identity(len(a)), bits)
    total = 0 * power
    for k, c in enumerate(coefficients):
        if k:
            power = power.dot(fixed) >> bits
        mantissa, exponent = mp.frexp(mp.convert(c))
        scaled = power * int(mp.ldexp(mantissa, bits))
        shift = bits - int(exponent)
        total = total + (scaled >> shift if shift >= 0 else scaled << -shift)
    return _from_fixed(total, bits)


# Rotations.


def _polar(a: Array) -> Array:
    """Orthogonal polar factor, by the Newton iteration a <- (a + a^-T) / 2."""
    for _ in range(100):
        last, a = a, (a + _inverse(a).T) / 2
        if max(abs(a - last).flat) < mpf(10) ** (-(mp.dps // 2) - 5):
            return a
    raise ValueError("the polar iteration did not converge")


def _quaternion(r: Array) -> Array:
    """Unit quaternion with w >= 0 of a rotation matrix: a normalized row of 4 q q^T."""
    (a, b, c), (d, e, f), (g, h, i) = r
    rows = [
        [1 + a + e + i, h - f, c - g, d - b],
        [h - f, 1 + a - e - i, b + d, c + g],
        [c - g, b + d, 1 - a + e - i, f + h],
        [d - b, c + g, f + h, 1 - a - e + i],
    ]
    q = max(enumerate(rows), key=lambda entry: entry[1][entry[0]])[1]
    return np.array(q, dtype=object) / (_norm(q) if q[0] >= 0 else -_norm(q))


def _rotation_vector(q: Array) -> Array:
    """2 atan2(|v|, w) v / |v| of a quaternion (w, v); 2 pi e1 for (-1, 0, 0, 0)."""
    w, v = q[0], q[1:]
    n = _norm(v)
    if n == 0:
        return _array([0 if w >= 0 else 2 * mp.pi, 0, 0])
    return v * (2 * mp.atan2(n, w) / n)


def _left_multiplication(q: Iterable[Any]) -> Array:
    """4x4 matrix of p -> q p on quaternions."""
    w, x, y, z = q
    return _array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])


@precise
def nearest_rotation(r: Any) -> mp.matrix:
    """Orthogonal polar factor of a matrix."""
    return _matrix(_polar(_array(r)))


# Groups.


class Group:
    """A group given by a basis of its algebra in a faithful matrix representation.

    Underscored methods work on object arrays and on the representation; public ones take doubles.
    ``_load`` and ``_store`` translate between the representation and the stored element.
    """

    angular: int  # number of leading angular coordinates
    half_turn = 1  # largest angle of the logarithm, in units of pi

    def __init__(self, basis: Sequence[Array]) -> None:
        self.size = len(basis[0])
        self.dim = len(basis)
        # Frobenius-orthogonal in every group here, so vee is a projection onto the basis.
        self.basis: list[Entries] = [[(int(i), int(j), e[i, j]) for i, j in np.argwhere(e != 0)] for e in basis]
        self.squares = [mp.fsum(s * s for _, _, s in e) for e in self.basis]
        # Structure constants from the definition: ad(E_i) E_j = vee [E_i, E_j].
        self.ad_basis = [np.array([self._vee(_mul(e, f) - _mul(f, e)) for f in basis], dtype=object).T for e in basis]

    def _load(self, g: Any) -> Array:
        return _polar(_array(g))

    def _store(self, g: Array) -> Any:
        return _matrix(g)

    def _hat(self, x: Array) -> Array:
        m = _zeros(self.size, self.size)
        for xk, e in zip(x, self.basis, strict=True):
            for i, j, s in e:
                m[i, j] += s * xk
        return m

    def _vee(self, m: Array) -> Array:
        x = [mp.fsum(s * m[i, j] for i, j, s in e) / n for e, n in zip(self.basis, self.squares, strict=True)]
        return np.array(x, dtype=object)

    def _between(self, left: Array, k: int, right: Array) -> Array:
        """vee(left E_k right), without forming the product."""
        x = _zeros(1, self.dim)[0]
        for row, (f, n) in enumerate(zip(self.basis, self.squares, strict=True)):
            pairs = ((s * left[a, i], t * right[j, b]) for i, j, s in self.basis[k] for a, b, t in f)
            x[row] = mp.fdot(pairs) / n
        return x

    def _sandwich(self, left: Array, right: Array) -> Array:
        """Matrix with the columns vee(left E_k right)."""
        return np.array([self._between(left, k, right) for k in range(self.dim)], dtype=object).T

    def _ad(self, x: Array) -> Array:
        a = _zeros(self.dim, self.dim)
        for xk, e in zip(x, self.ad_basis, strict=True):
            if xk:
                a = a + e * xk
        return a

    def _exp(self, x: Array) -> Array:
        return _taylor(self._hat(x), 0)

    def _log(self, g: Array) -> Array:
        raise NotImplementedError

    def _other_log(self, x: Array) -> Array:
        """Logarithm of the same element with the angle on the other side of the half turn."""
        w = x[: self.angular]
        return w * (1 - 2 * self.half_turn * mp.pi / _norm(w))

    def _cay(self, x: Array) -> Array:
        one, m = _identity(self.size), self._hat(x)
        return _solve(one - m, one + m)

    def _cayinv(self, g: Array) -> Array:
        one = _identity(self.size)
        return self._vee(_mul(g - one, _inverse(g + one)))

    def _dcay(self, x: Array) -> Array:
        # dC = (I - X)^-1 dX (I + C)
        one = _identity(self.size)
        c = self._cay(x)
        return self._sandwich(_inverse(one - self._hat(x)), _mul(one + c, _inverse(c)))

    def _dcay2(self, x: Array) -> Array:
        # dC = dA A + A dA with C = A A and dA = (I - X)^-1 dX (I + A)
        one = _identity(self.size)
        a = self._cay(x)
        left, right, ginv = _inverse(one - self._hat(x)), one + a, _inverse(_mul(a, a))
        return self._sandwich(left, _product(right, a, ginv)) + self._sandwich(_mul(a, left), _mul(right, ginv))

    def _ccsk_factors(self, x: Array) -> list[Array]:
        return [self._exp(np.where(np.arange(self.dim) == k, x, mpf(0))) for k in range(self.dim)]

    def _dccsk(self, x: Array) -> Array:
        # The product rule puts E_k after the first k - 1 factors P: dg g^-1 = P E_k P^-1.
        before, columns = _identity(self.size), []
        for k, factor in enumerate(self._ccsk_factors(x)):
            columns.append(self._between(before, k, _inverse(before)))
            before = _mul(before, factor)
        return np.array(columns, dtype=object).T

    def _dexp(self, x: Array) -> Array:
        return _taylor(self._ad(x), 1)

    @precise
    def hat(self, x: Any) -> mp.matrix:
        """Matrix of the algebra element with the coordinates x."""
        return _matrix(self._hat(_vector(x)))

    @precise
    def vee(self, m: Any) -> Vector:
        """Inverse of hat (the skew part of the angular block is taken)."""
        return list(self._vee(_array(m)))

    @precise
    def exp(self, x: Any) -> Any:
        """sum_k hat(x)^k / k!."""
        return self._store(self._exp(_vector(x)))

    @precise
    def log(self, g: Any) -> Vector:
        """The x of smallest angle with exp(x) = g, for g replaced by the nearest group element."""
        return list(self._log(self._load(g)))

    @precise
    def ad(self, x: Any) -> mp.matrix:
        """Matrix of y -> vee [hat(x), hat(y)]."""
        return _matrix(self._ad(_vector(x)))

    @precise
    def Ad(self, g: Any) -> mp.matrix:
        """Matrix of x -> vee(g hat(x) g^-1), for g replaced by the nearest group element."""
        m = self._load(g)
        return _matrix(self._sandwich(m, _inverse(m)))

    @precise
    def dexp(self, x: Any) -> mp.matrix:
        """sum_k ad(x)^k / (k+1)!."""
        return _matrix(self._dexp(_vector(x)))

    @precise
    def dexpinv(self, x: Any) -> mp.matrix:
        """Inverse matrix of dexp."""
        return _matrix(_inverse(self._dexp(_vector(x))))

    @precise
    def ddexp(self, x: Any, y: Any) -> mp.matrix:
        """d/dt dexp(x + t y) at t = 0, by the product rule on the powers of ad."""
        return _matrix(_taylor_derivative(self._ad(_vector(x)), self._ad(_vector(y)), 1))

    @precise
    def ddexpinv(self, x: Any, y: Any) -> mp.matrix:
        """d/dt dexpinv(x + t y) at t = 0, which is -dexpinv ddexp dexpinv."""
        x, y = _vector(x), _vector(y)
        inverse = _inverse(self._dexp(x))
        return _matrix(-_product(inverse, _taylor_derivative(self._ad(x), self._ad(y), 1), inverse))

    @precise
    def phi_ad(self, x: Any, taylor_coefficients: Iterable[Any]) -> mp.matrix:
        """sum_k c_k ad(x)^k over the given coefficients."""
        return _matrix(_polynomial(self._ad(_vector(x)), taylor_coefficients))

    @precise
    def bch(self, x: Any, y: Any) -> Vector:
        """log(exp(x) exp(y))."""
        return list(self._log(_mul(self._exp(_vector(x)), self._exp(_vector(y)))))

    @precise
    def cay(self, x: Any) -> Any:
        """(I - X)^-1 (I + X) with X = hat(x)."""
        return self._store(self._cay(_vector(x)))

    @precise
    def cayinv(self, g: Any) -> Vector:
        """vee((g - I) (g + I)^-1), for g replaced by the nearest group element."""
        return list(self._cayinv(self._load(g)))

    @precise
    def dcay(self, x: Any) -> mp.matrix:
        """Columns vee(dC C^-1), dC = (I - X)^-1 E_k (I + C), C = cay(x)."""
        return _matrix(self._dcay(_vector(x)))

    @precise
    def dcayinv(self, x: Any) -> mp.matrix:
        """Inverse matrix of dcay."""
        return _matrix(_inverse(self._dcay(_vector(x))))

    @precise
    def cay2(self, x: Any) -> Any:
        """cay(x) cay(x)."""
        c = self._cay(_vector(x))
        return self._store(_mul(c, c))

    @precise
    def cay2inv(self, g: Any) -> Vector:
        """cayinv of the square root exp(log(g) / 2)."""
        return list(self._cayinv(self._exp(self._log(self._load(g)) / 2)))

    @precise
    def dcay2(self, x: Any) -> mp.matrix:
        """Columns vee(dC C^-1), C = A A, dC = dA A + A dA, A = cay(x)."""
        return _matrix(self._dcay2(_vector(x)))

    @precise
    def dcay2inv(self, x: Any) -> mp.matrix:
        """Inverse matrix of dcay2."""
        return _matrix(_inverse(self._dcay2(_vector(x))))

    @precise
    def ccsk(self, x: Any) -> Any:
        """exp(x1 E1) exp(x2 E2) ... exp(xn En)."""
        return self._store(_product(*self._ccsk_factors(_vector(x))))

    @precise
    def dccsk(self, x: Any) -> mp.matrix:
        """Columns vee(dg g^-1), dg the derivative of g = ccsk(x) with respect to x_k."""
        return _matrix(self._dccsk(_vector(x)))

    @precise
    def dccskinv(self, x: Any) -> mp.matrix:
        """Inverse matrix of dccsk."""
        return _matrix(_inverse(self._dccsk(_vector(x))))

    @precise
    def other_log(self, x: Any) -> Vector:
        """The logarithm of exp(x) with the angular part w - 2 pi w/|w| (4 pi on S3)."""
        return list(self._other_log(_vector(x)))


def _generator(size: int, *entries: tuple[int, int, Any]) -> Array:
    m = _zeros(size, size)
    for i, j, s in entries:
        m[i, j] = mpf(s)
    return m


def _rotations(size: int) -> list[Array]:
    return [_generator(size, (j, i, 1), (i, j, -1)) for i, j in ((1, 2), (2, 0), (0, 1))]


class SO2(Group):
    """2x2 rotations."""

    angular = 1

    def __init__(self) -> None:
        super().__init__([_generator(2, (1, 0, 1), (0, 1, -1))])

    def _log(self, g: Array) -> Array:
        return _array([mp.atan2(g[1, 0] - g[0, 1], g[0, 0] + g[1, 1])])


class SO3(Group):
    """3x3 rotations; rotation vectors of angle at most pi."""

    angular = 3

    def __init__(self) -> None:
        super().__init__(_rotations(3))

    def _log(self, g: Array) -> Array:
        return _rotation_vector(_quaternion(g))


class S3(Group):
    """Unit quaternions, represented by left multiplication, in rotation-vector coordinates.

    E_k is left multiplication by e_k / 2, so that exp(x) = (cos(|x|/2), sin(|x|/2) x/|x|). The
    logarithm has an angle in [0, 2 pi]. hat and vee are the 3x3 ones of SO(3). The Cayley map is
    that of SO(3), lifted to the quaternion with w > 0; cay2 is the square of this quaternion.
    """

    angular = 3
    half_turn = 2

    def __init__(self, so3: SO3) -> None:
        self.so3 = so3
        super().__init__([_left_multiplication([0, *e]) / 2 for e in np.eye(3)])

    def hat(self, x: Any) -> mp.matrix:
        """That of SO(3)."""
        return self.so3.hat(x)

    def vee(self, m: Any) -> Vector:
        """That of SO(3)."""
        return self.so3.vee(m)

    def _load(self, g: Any) -> Array:
        q = _vector(g)
        return _left_multiplication(q / _norm(q))

    def _store(self, g: Array) -> Vector:
        return list(g[:, 0])

    def _log(self, g: Array) -> Array:
        return _rotation_vector(g[:, 0])

    def _cay(self, x: Array) -> Array:
        return _left_multiplication(_quaternion(self.so3._cay(x)))

    def _cayinv(self, g: Array) -> Array:
        return self.so3._cayinv(self._sandwich(g, _inverse(g)))

    def _dcay(self, x: Array) -> Array:
        return self.so3._dcay(x)

    def _dcay2(self, x: Array) -> Array:
        return self.so3._dcay2(x)


class SE(Group):
    """Homogeneous matrices [[R, r], [0, 1]] over a rotation group."""

    def __init__(self, rotation: Group) -> None:
        self.rotation = rotation
        self.angular = rotation.dim
        m = rotation.size
        angular = [_generator(m + 1, *entries) for entries in rotation.basis]
        super().__init__(angular + [_generator(m + 1, (i, m, 1)) for i in range(m)])

    def _load(self, g: Any) -> Array:
        m = self.rotation.size
        a = _identity(m + 1)
        g = _array(g)
        a[:m, :m], a[:m, m] = _polar(g[:m, :m]), g[:m, m]
        return a

    def _mean_rotation(self, w: Array) -> Array:
        # The power series of hat(x) has the block sum_k hat(w)^k / (k+1)! in front of v.
        return _taylor(self.rotation._hat(w), 1)

    def _log(self, g: Array) -> Array:
        m = self.rotation.size
        w = self.rotation._log(g[:m, :m])
        return np.concatenate([w, _solve(self._mean_rotation(w), g[:m, m:])[:, 0]])

    def _other_log(self, x: Array) -> Array:
        k = self.angular
        w = super()._other_log(x)
        r = _mul(self._mean_rotation(x[:k]), x[k:, None])
        return np.concatenate([w, _solve(self._mean_rotation(w), r)[:, 0]])


class Pose(SE):
    """SE(3) stored as (w, x, y, z, rx, ry, rz).

    The logarithm takes the quaternion with w >= 0, so its angle is in [0, pi]. Maps into the group
    have the quaternion of the same map on S3, whose w may be negative.
    """

    def __init__(self, so3: SO3, s3: S3) -> None:
        super().__init__(so3)
        self.s3 = s3

    def _load(self, g: Any) -> Array:
        p = _vector(g)
        a = _identity(4)
        q = self.s3._load(p[:4])
        a[:3, :3], a[:3, 3] = self.s3._sandwich(q, q.T), p[4:]
        return a

    def _lift(self, name: str, x: Any) -> Vector:
        translation = getattr(super(), name)(x)[:3, 3]
        return [*getattr(self.s3, name)(_vector(x)[:3]), *translation]

    @precise
    def exp(self, x: Any) -> Vector:
        """Quaternion of S3, translation of SE(3)."""
        return self._lift("exp", x)

    @precise
    def cay(self, x: Any) -> Vector:
        """Quaternion of S3, translation of SE(3)."""
        return self._lift("cay", x)

    @precise
    def cay2(self, x: Any) -> Vector:
        """Quaternion of S3, translation of SE(3)."""
        return self._lift("cay2", x)

    @precise
    def ccsk(self, x: Any) -> Vector:
        """Quaternion of S3, translation of SE(3)."""
        return self._lift("ccsk", x)

    @precise
    def log(self, g: Any) -> Vector:
        """As on SE(3); where w = 0 the axis is the one given by the quaternion."""
        p = _vector(g)
        w = _rotation_vector(p[:4] if p[0] >= 0 else -p[:4])
        return [*w, *_solve(self._mean_rotation(w), p[4:, None])[:, 0]]


class SO3xR3(Group):
    """The direct product, stored as the 4x4 matrix [[R, r], [0, 1]].

    It is represented by the 7x7 matrices diag(R, [[I, r], [0, 1]]). The exponential adds translations;
    the Cayley map, taken in this representation, has the translation 2 v, and cay2 has 4 v.
    hat and vee are the 4x4 ones of the storage.
    """

    angular = 3

    def __init__(self, so3: SO3, se3: SE) -> None:
        self.so3, self.se3 = so3, se3
        super().__init__(_rotations(7) + [_generator(7, (3 + i, 6, 1)) for i in range(3)])

    def hat(self, x: Any) -> mp.matrix:
        """That of SE(3)."""
        return self.se3.hat(x)

    def vee(self, m: Any) -> Vector:
        """That of SE(3)."""
        return self.se3.vee(m)

    def _load(self, g: Any) -> Array:
        a, g = _identity(7), _array(g)
        a[:3, :3], a[3:6, 6] = _polar(g[:3, :3]), g[:3, 3]
        return a

    def _store(self, g: Array) -> mp.matrix:
        a = _identity(4)
        a[:3, :3], a[:3, 3] = g[:3, :3], g[3:6, 6]
        return _matrix(a)

    def _log(self, g: Array) -> Array:
        return np.concatenate([self.so3._log(g[:3, :3]), g[3:6, 6]])

    def _other_log(self, x: Array) -> Array:
        return np.concatenate([super()._other_log(x), x[3:]])


def _groups() -> dict[str, Group]:
    with mp.workdps(WORK_DPS):
        so2, so3 = SO2(), SO3()
        s3, se2, se3 = S3(so3), SE(so2), SE(so3)
        return {
            "so2": so2,
            "so3": so3,
            "s3": s3,
            "se2": se2,
            "se3": se3,
            "so3xr3": SO3xR3(so3, se3),
            "pose": Pose(so3, s3),
        }


ORACLE = _groups()


# Errors.


@precise
def ulp_error(computed: Any, truth: Any) -> float:
    """Largest entry of |computed - truth|, in ulps of the largest entry of |truth| as a double."""
    computed, truth = np.ravel(np.asarray(computed, dtype=float)), _array(truth).ravel()
    if computed.size != truth.size:
        raise ValueError(f"{computed.size} entries computed, {truth.size} expected")
    if not np.all(np.isfinite(computed)):
        return float("inf")
    error, scale = max(abs(_array(computed) - truth)), max(abs(truth))
    if scale == 0:
        return 0.0 if error == 0 else float("inf")
    return float(error / float(np.spacing(float(scale))))


@precise
def antipodal_ulp_error(computed: Any, truth: Any, group: str) -> float:
    """ulp_error of a logarithm, also accepting the one on the other side of the half turn.

    The other one is only considered for angles beyond half of the largest angle.
    """
    error, g = ulp_error(computed, truth), ORACLE[group]
    if _norm(_vector(truth)[: g.angular]) <= g.half_turn * mp.pi / 2:
        return error
    return min(error, ulp_error(computed, g.other_log(truth)))


# Samples.

THETAS: list[float] = [
    0.0,
    1e-12,
    *(10.0 ** (k / 4) for k in range(-40, -3)),
    1.0,
    2.0,
    3.0,
    np.pi - 1e-8,
    np.pi,
    5.0,
]
V_NORMS: tuple[float, ...] = (0.0, 1e-3, 1.0, 1e3)


def directions(seed: int, n: int) -> np.ndarray:
    """n unit vectors: the coordinate axes first, then generic ones."""
    v = np.vstack([np.eye(3), np.random.default_rng(seed).normal(size=(max(n - 3, 0), 3))])[:n]
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def twists(theta: float, rng: np.random.Generator, v_norm: float) -> list[np.ndarray]:
    """Twists of angle theta about a generic axis with |v| = v_norm parallel, perpendicular and generic.

    A single twist is returned for v_norm = 0.
    """
    axis, other = rng.normal(size=(2, 3))
    axis /= np.linalg.norm(axis)
    linear = [axis, np.cross(axis, other), other] if v_norm else [axis]
    return [np.concatenate([theta * axis, v_norm * v / np.linalg.norm(v)]) for v in linear]
