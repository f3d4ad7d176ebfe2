"""The error of a step of generalized alpha, with its derivation."""

from __future__ import annotations

from chasles.absolute.tables import BODY, SE3
from chasles.constrained.alpha_formulas import algorithmic
from chasles.constrained.chart import bracket, minus, plus, scaled
from chasles.constrained.error_estimate import error_size, leave_tangent
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load6, store6


@kernel
def estimate(workspace, method, h, h_before):
    """The error of the step relative to the tolerance, of coordinates and velocities.

    With δ = αm - αf the recursion of a gives a_n = V' + δ h x''' + O(h²), and γ = 1/2 - δ. By Taylor's series the
    formulas of x* and x' have, to leading order, the errors

        e = x(h) - x* = cx h³ x''',    cx = 1/6 - β - δ/2 = -1/12 - δ²/4,    where h x''' = a_{n+1} - a_n
        x'(h) - x' = cv h³ x'''',      cv = -1/12 + δ(1/2 - αf)

    Let b be twice the second divided difference of x''. Textbook form: x''' = V'', x'''' = V''' = b, but x lacks
    h³/12 [V, V']. Local form, where V = dexp_{-x} x': x''' = V'' + [V, V']/2 and x'''' = V''' + [V, V''], while
    b = V''' + [V, V'']/2, being of two charts. What a has beyond V' is turned on its way to the next chart, which adds
    δ/4 (1/2 - αf) h³ [V, [V, V']] to the error of x'; and e turns V by [V, e]/2. All in all the error of V is

        h³ cv b + (1 + cv/cx)/2 [V, e] + h³/48 [V, [V, V']]

    What the constraints take back of these errors is left out.
    """
    n, shift = workspace.tables.n, method.am - method.af
    cx, cv = 1 / 6 - method.beta - 0.5 * shift, -1 / 12 + shift * (0.5 - method.af)
    for i in range(n):
        on_se3, velocity = workspace.tables.bodies[i * BODY.size + BODY.space] == SE3, load6(workspace.v, 6 * i, 0.0)
        a, rate = load6(method.a_n, 6 * i, 0.0), load6(method.rate_n, 6 * i, 0.0)
        second, twist = load6(method.second, 6 * i, 0.0), bracket(on_se3, velocity, rate)
        off = scaled(h * h * cx, minus(algorithmic(method, second, rate, a), a))
        bend = minus(minus(second, rate), load6(method.growth, 6 * i, 0.0))
        fast = scaled(2.0 * h * h * cv / (h + h_before), bend)
        if method.local:
            fast = plus(fast, 0.5 * (1.0 + cv / cx), bracket(on_se3, velocity, off))
            fast = plus(fast, h * h * h / 48, bracket(on_se3, velocity, twist))
        else:
            off = plus(off, h * h * h / 12, twist)
        store6(method.error_x, 6 * i, off)
        store6(method.error_v, 6 * i, fast)
    leave_tangent(workspace, method)
    return error_size(workspace, method, h)
