"""The backward pass: from the last step to the first, the best change of each input and how it follows the state.

With the value V(x) = v x + ½ xᵀ W x of what comes after, a step x⁺ = A x + B u and the costs of its node make a
quadratic function of (x, u). Its minimum over u within bounds is u = k + K x, with K zero for inputs at a bound
(Tassa, Mansard and Todorov, Control-limited differential dynamic programming, 2014).
"""

from __future__ import annotations

from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel

SWEEPS = 20  # of Newton's method for an input within bounds; each makes the set of those at a bound better


@kernel
def clear_rows(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = 0.0


@kernel
def add_product(x, y, out):
    """out += x y."""
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            a = x[i, k]
            for j in range(y.shape[1]):
                out[i, j] += a * y[k, j]


@kernel
def add_transposed(x, y, out):
    """out += xᵀ y."""
    for k in range(x.shape[0]):
        for i in range(x.shape[1]):
            a = x[k, i]
            for j in range(y.shape[1]):
                out[i, j] += a * y[k, j]


@kernel
def factor_free(H, held, L):
    """The factor of H with rows and columns of those that are held as of the identity; False if H is not positive."""
    m = H.shape[0]
    for i in range(m):
        for j in range(i + 1):
            total = H[i, j]
            if held[i] != 0.0 or held[j] != 0.0:
                total = 1.0 if i == j else 0.0
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                L[i, i] = sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return True


@kernel
def solve_factored(L, x, column):
    """x[:, column] becomes (L Lᵀ)⁻¹ of it."""
    m = L.shape[0]
    for i in range(m):
        total = x[i, column]
        for k in range(i):
            total -= L[i, k] * x[k, column]
        x[i, column] = total / L[i, i]
    for j in range(m):
        i = m - 1 - j
        total = x[i, column]
        for k in range(i + 1, m):
            total -= L[k, i] * x[k, column]
        x[i, column] = total / L[i, i]


@kernel
def within_bounds(H, g, low, high, step, held, L, trial):
    """The minimum of ½ uᵀ H u + gᵀ u within bounds: inputs at a bound that the slope keeps there are held, the others
    take a Newton step, cut at the bounds, until nothing changes. False if H is not positive."""
    m = g.shape[0]
    for i in range(m):
        step[i] = min(max(0.0, low[i]), high[i])
        held[i] = 0.0
    for _ in range(SWEEPS):
        changed = False
        for i in range(m):
            slope = g[i]
            for j in range(m):
                slope += H[i, j] * step[j]
            at = 1.0 if (step[i] <= low[i] and slope > 0.0) or (step[i] >= high[i] and slope < 0.0) else 0.0
            if at != held[i]:
                changed = True
            held[i] = at
            trial[i, 0] = 0.0 if at != 0.0 else -slope
        if not factor_free(H, held, L):
            return False
        solve_factored(L, trial, 0)
        moved = False
        for i in range(m):
            if held[i] == 0.0:
                found = min(max(step[i] + trial[i, 0], low[i]), high[i])
                if found != step[i] + trial[i, 0]:
                    moved = True
                step[i] = found
        if not changed and not moved:
            return True
    return True


@kernel
def expand(s, linear, costs, v, W, rooms):
    """First and second derivatives by (x, u) of the cost of node s and of the value after its step."""
    A, B = linear
    cx, cu, cxx, cuu, cux = costs
    WA, WB, Hxx, Hux, Huu, _, _, gx, gu, _, _ = rooms
    n, m = B.shape[1], B.shape[2]
    for i in range(n):
        gx[i] = cx[s, i]
        for j in range(n):
            Hxx[i, j] = cxx[s, i, j]
    for i in range(m):
        gu[i] = cu[s, i]
        for j in range(n):
            Hux[i, j] = cux[s, i, j]
        for j in range(m):
            Huu[i, j] = cuu[s, i, j]
    for i in range(n):
        for j in range(n):
            gx[j] += A[s, i, j] * v[i]
        for j in range(m):
            gu[j] += B[s, i, j] * v[i]
    clear_rows(WA)
    clear_rows(WB)
    add_product(W, A[s], WA)
    add_product(W, B[s], WB)
    add_transposed(A[s], WA, Hxx)
    add_transposed(B[s], WB, Huu)
    add_transposed(B[s], WA, Hux)


@kernel(entry=True)
def backward(linear, costs, bounds, damping, v, W, found, change, slopes, rooms):
    """The sweep. linear: A (N, n, n), B (N, n, m). costs: x (N + 1, n), u (N, m), xx, uu, ux (N, m, n). bounds: of the
    change of each input, (N, m) each. found: k (N, m), K (N, m, n). v, W become the value at the start, `change` what
    the cost changes by to first and to second order, `slopes` v of all nodes (N + 1, n). Returns the number of the step
    at which the Hessian of the inputs is not positive, or -1."""
    A, B = linear
    cx, cxx = costs[0], costs[2]
    low, high = bounds
    k, K = found
    _, WB, Hxx, Hux, Huu, L, trial, gx, gu, held, damped = rooms
    N, n, m = A.shape[0], A.shape[1], B.shape[2]
    change[0], change[1] = 0.0, 0.0
    for i in range(n):
        v[i] = slopes[N, i] = cx[N, i]
        for j in range(n):
            W[i, j] = cxx[N, i, j]
    for back in range(N):
        s = N - 1 - back
        expand(s, linear, costs, v, W, rooms)
        for i in range(m):
            for j in range(m):
                damped[i, j] = Huu[i, j]
            damped[i, i] += damping * abs(Huu[i, i])
        if not within_bounds(damped, gu, low[s], high[s], k[s], held, L, trial):
            return s
        for i in range(m):
            for j in range(n):
                K[s, i, j] = 0.0 if held[i] != 0.0 else -Hux[i, j]
        for j in range(n):
            solve_factored(L, K[s], j)
        for i in range(m):
            along = 0.0
            for j in range(m):
                along += Huu[i, j] * k[s, j]
            change[0] += gu[i] * k[s, i]
            change[1] += 0.5 * k[s, i] * along
            trial[i, 0] = gu[i] + along
        for i in range(m):
            a, b = trial[i, 0], k[s, i]
            for j in range(n):
                gx[j] += K[s, i, j] * a + Hux[i, j] * b
        clear_rows(WB)  # (n, m): Kᵀ Huu + Huxᵀ
        add_transposed(K[s], Huu, WB)
        for i in range(n):
            for j in range(m):
                WB[i, j] += Hux[j, i]
        add_product(WB, K[s], Hxx)
        add_transposed(K[s], Hux, Hxx)
        for i in range(n):
            v[i] = slopes[s, i] = gx[i]
            for j in range(n):
                W[i, j] = 0.5 * (Hxx[i, j] + Hxx[j, i])
    return -1
