"""All methods for constrained systems. A new one is one file with its `SCHEME`, and a line here."""

from __future__ import annotations

from chasles.constrained import bliedf, energy_momentum, generalized_alpha, half_explicit, radau, rattle

SCHEMES = {
    scheme.data: scheme
    for scheme in (
        generalized_alpha.SCHEME,
        bliedf.SCHEME,
        rattle.SCHEME,
        half_explicit.SCHEME,
        energy_momentum.SCHEME,
        radau.SCHEME,
    )
}
