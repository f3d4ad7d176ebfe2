"""`chasles info`: what this installation is made of."""

from __future__ import annotations

import importlib.util
import platform

from rich.console import Console
from rich.table import Table

FOUNDATIONS = ("numpy", "scipy", "numba", "llvmlite", "cyclopts", "rich", "matplotlib")
OPTIONAL = {
    "mjcf": ("mujoco",),
    "mesh": ("trimesh",),
    "video": ("imageio_ffmpeg",),
    "jax": ("jax",),
    "torch": ("torch",),
    "casadi": ("casadi",),
    "ipopt": ("ipyopt",),
    "gym": ("gymnasium",),
    "cluster": ("distributed",),
    "cosseratbench": ("cosseratbench",),
    "docs": ("sphinx", "myst_parser", "furo", "latex2mathml"),
    "peers": ("exudyn", "jaxlie"),
    "test": ("pytest", "hypothesis", "mpmath", "pinocchio", "mujoco", "pandas", "xarray"),
}


def info() -> None:
    """Show versions, the vector width in use, the cache folder and which extras are installed."""
    from importlib.metadata import version

    import chasles
    from chasles.kernel import cache, cpu, lanes, policy, shipped

    table = Table(show_header=False, box=None)
    table.add_row("chasles", chasles.__version__)
    table.add_row("Python", platform.python_version())
    for name in FOUNDATIONS:
        table.add_row(name, version(name))
    table.add_row("processor", cpu.name())
    table.add_row("vectors", f"{lanes.WIDTH} doubles at a time, in registers of {cpu.register_bits()} bits")
    mode = "compiled" if policy.COMPILED else "compiler switched off (NUMBA_DISABLE_JIT)"
    table.add_row("kernels", mode + (", bounds checked (CHASLES_CHECK)" if policy.CHECKED else ""))
    current, outdated = cache.files()
    size = sum(file.stat().st_size for file in current) / 1e6
    table.add_row("cache", f"{cache.folder() or 'none'} ({len(current)} compiled functions, {size:.1f} MB)")
    if outdated:
        table.add_row("", f"compiled functions of other versions: {len(outdated)}; `chasles warm --clean` removes them")
    table.add_row("shipped code", shipped.status())
    for extra, modules in OPTIONAL.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        table.add_row(f"extra {extra}", "installed" if not missing else f"not complete, missing: {', '.join(missing)}")
    Console(soft_wrap=True).print(table)
