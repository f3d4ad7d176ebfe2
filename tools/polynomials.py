"""Compute the polynomial coefficients of `chasles.kernel.functions` that are not published ones.

Run: python -m tools.polynomials
"""

from mpmath import mp


def interpolate(function, low, high, degree):
    """Coefficients, highest power first, of the interpolant of `function` at Chebyshev points of [low, high]."""
    nodes = [
        (low + high) / 2 + (high - low) / 2 * mp.cos((2 * k + 1) * mp.pi / (2 * degree + 2)) for k in range(degree + 1)
    ]
    matrix = mp.matrix([[node**power for power in range(degree, -1, -1)] for node in nodes])
    return list(mp.lu_solve(matrix, mp.matrix([function(node) for node in nodes])))


def arctangent_tail(u):
    """(atan t - t) / t^3 as a function of u = t^2."""
    t = mp.sqrt(u)
    return (mp.atan(t) - t) / t**3


def main():
    mp.dps = 60
    print("ARCTANGENT = (")
    for coefficient in interpolate(arctangent_tail, mp.mpf(0), mp.tan(mp.pi / 8) ** 2, 11):
        print(f"    {float(coefficient)!r},")
    print(")")


if __name__ == "__main__":
    main()
