"""Measure the accuracy of chasles and of other libraries and write docs/accuracy.md with its picture.

Run: python -m benchmarks.accuracy            (all libraries, writes the page)
     python -m benchmarks.accuracy --check    (chasles only, writes nothing; exit code 1 if a figure exceeds the bar)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import page
from benchmarks.measure_accuracy import BAR, BARRED, BARRED_FUNCTIONS, Error, chasles_errors, errors, worst_ulp
from benchmarks.peers import Library, installed
from tests.oracle.definitions import THETAS

COMMAND = "python -m benchmarks.accuracy"
PAGE = page.DOCS / "accuracy.md"
PICTURE = page.DOCS / "_static" / "accuracy.png"

GROUPS = ("so3", "s3", "se3", "pose")
FREE_FUNCTIONS = ("cay2", "cay2inv", "dcay2", "dcay2inv", "ddexp", "ddexpinv")
DIFFERENTIALS = ("se3.dexp", "se3.dexpinv")
OTHERS = ("se3.exp", "se3.log", "so3.exp", "so3.log", "so3.dexp", "so3.dexpinv")
LARGE = [theta for theta in THETAS if theta >= 1.0]
DECADES = [0.0, 1e-12, *(10.0**k for k in range(-10, 0)), *LARGE]
FINE = [0.0, 1e-12, 1e-10, 1e-8, 1e-7, 1e-6, *(10.0 ** (k / 4) for k in range(-20, -3)), *LARGE]

Columns = dict[str, list[Error]]  # errors by library


# ---------------------------------------------------------------- measuring


def linear_norm(name: str) -> float:
    """Norm of the linear part in the comparisons; rotations have none."""
    return 1.0 if name.startswith("se3") else 0.0


def comparable(error: Error, name: str, of_element: bool) -> bool:
    """Whether a sample is in the table: |v| = 1, and at most half a turn for a differential taken at log(g)."""
    return error.v_norm == linear_norm(name) and not (of_element and error.theta > np.pi)


def compare(name: str, libraries: Sequence[Library]) -> Columns:
    """Errors of chasles and of every library that has the function, where they can be compared."""
    group, function = name.split(".")
    columns = {"chasles": [e for e in chasles_errors(group, function) if comparable(e, name, False)]}
    for library in libraries:
        if call := library.calls.get(name):
            of_element = call.function == "dexpinv_of_element"
            found = errors(call.group, call.function, call.call)
            columns[library.name] = [e for e in found if comparable(e, name, of_element)]
    return columns


# ---------------------------------------------------------------- tables


def number(value: float) -> str:
    """Two digits, without the padding of exponents."""
    if not np.isfinite(value):
        return "not finite"
    if value == 0 or 0.01 <= value < 1000:
        return f"{value:.0f}" if value == 0 or value >= 100 else f"{value:#.2g}".rstrip(".")
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def angle(theta: float) -> str:
    """An angle of THETAS as text."""
    if theta in (np.pi, np.pi - 1e-8):
        return "π" if theta == np.pi else "π − 1e-8"
    if theta == 0 or theta >= 0.1:
        return f"{theta:g}"
    mantissa, exponent = f"{theta:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def cell(found: Sequence[Error]) -> str:
    """Worst absolute error and worst error in ulp."""
    if not found:
        return "—"
    return f"{number(max(e.absolute for e in found))} ({number(max(e.ulp for e in found))})"


def error_table(columns: Columns, thetas: Sequence[float]) -> str:
    """Errors against the angle, and in the last row the worst of all angles."""
    rows = [[angle(theta), *(cell([e for e in c if e.theta == theta]) for c in columns.values())] for theta in thetas]
    rows.append([f"worst of {len(THETAS)} angles", *(cell(c) for c in columns.values())])
    return page.table(["θ", *columns], rows)


def own_table() -> tuple[str, float]:
    """Worst error in ulp of every function of chasles, and the worst of those that have a bar."""
    rows, worst_barred = [], 0.0
    for function in (*BARRED_FUNCTIONS, *FREE_FUNCTIONS):
        row = [f"`{function}`"]
        for group in GROUPS:
            ulp, theta = worst_ulp(group, function)
            barred = (group, function) in BARRED
            worst_barred = max(worst_barred, ulp if barred else 0.0)
            row.append(f"{ulp:.2f} at {angle(theta)}{'' if barred else ' *'}")
        rows.append(row)
    return page.table(["Function", *(f"`{group}`" for group in GROUPS)], rows), worst_barred


def calls_table(libraries: Sequence[Library]) -> str:
    """What is called in each library."""
    names = (*OTHERS, *DIFFERENTIALS)
    rows = [[f"`{name}`", *(c.text if (c := lib.calls.get(name)) else "—" for lib in libraries)] for name in names]
    return page.table(["chasles", *(f"{library.name} {library.version}" for library in libraries)], rows, "---")


# ---------------------------------------------------------------- picture


def draw(columns: Columns) -> None:
    """Error of SE(3) dexpinv against the angle, for every library."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.2, 4.4), layout="constrained")
    styles = {"chasles": ("#000000", "o"), "Pinocchio": ("#d55e00", "s"), "jaxlie": ("#0072b2", "^")}
    for name, found in columns.items():
        color, marker = styles.get(name, ("#009e73", "D"))
        thetas = [theta for theta in THETAS if theta > 0 and any(e.theta == theta for e in found)]
        worst = [max(e.absolute for e in found if e.theta == theta) for theta in thetas]
        front = 3 if name == "chasles" else 2
        axes.plot(thetas, worst, marker=marker, ms=3.5, lw=1.3, color=color, label=name, zorder=front)
    _decorate(axes)
    figure.savefig(PICTURE, dpi=150)
    pyplot.close(figure)


def _decorate(axes: Any) -> None:
    axes.set(xscale="log", yscale="log", xlabel="rotation angle θ [rad]", ylabel="largest absolute error of an entry")
    axes.set_title("dexpinv on SE(3), |v| = 1, double precision", fontsize=11)
    axes.axhline(np.finfo(float).eps, color="0.6", lw=0.8, ls="--", zorder=0)
    axes.annotate("2⁻⁵²", (1.0, np.finfo(float).eps), xycoords=("axes fraction", "data"), xytext=(3, -3),
                  textcoords="offset points", fontsize=8, color="0.4")  # fmt: skip
    axes.grid(color="0.92", lw=0.6)
    axes.legend(frameon=False, loc="upper left")


# ---------------------------------------------------------------- page

NOTES = {  # what the source text of exactly these versions shows
    "jaxlie 1.5.0": "`SE3.jlog` subtracts terms of the size 2/θ⁴ from each other where θ² ≥ 1e-10, and leaves out the "
    "terms of first order in θ below.",
    "Exudyn 1.13.6": "`TExpSE3` and `TExpSE3Inv` square a skew matrix entry by entry (`OmegaSkew**2`). From φ = 0.01 "
    "on, `TExpSE3Inv` has (2 − cot(φ/2))/(2φ²) in the place of (2 − φ cot(φ/2))/(2φ²).",
}


def write_page() -> float:
    """Measure everything and write the page; the worst figure with a bar is returned."""
    libraries, missing = installed()
    own, worst = own_table()
    labels = [f"{library.name} {library.version}" for library in libraries]
    tables = {name: compare(name, libraries) for name in (*DIFFERENTIALS, *OTHERS)}
    draw(tables["se3.dexpinv"])

    def listing(names: Sequence[str], thetas: Sequence[float]) -> str:
        return "\n\n".join(f"### `{name}`\n\n{error_table(tables[name], thetas)}" for name in names)

    page.write(
        PAGE,
        command=COMMAND,
        libraries=", ".join(labels) or "none",
        tools=page.versions("chasles", "numpy", "numba", "mpmath"),
        machine=page.machine(),
        missing=page.left_out(missing),
        bar=BAR,
        worst=worst,
        own=own,
        differentials=listing(DIFFERENTIALS, FINE),
        notes="\n".join(f"- {label} (source text): {NOTES[label]}" for label in labels if label in NOTES),
        others=listing(OTHERS, DECADES),
        calls=calls_table(libraries),
    )
    return worst


def check() -> float:
    """Measure the functions of chasles that have a bar, print them and return the worst figure."""
    worst = 0.0
    for group, function in BARRED:
        ulp, theta = worst_ulp(group, function)
        print(f"{group}.{function:8} {ulp:6.2f} ulp at {angle(theta)}{'' if ulp <= BAR else '   exceeds the bar'}")
        worst = max(worst, ulp)
    return worst


def main() -> int:
    """Command line; 0 if every figure keeps the bar."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="measure chasles only, write nothing")
    worst = check() if parser.parse_args().check else write_page()
    print(f"worst figure with a bar: {worst:.2f} ulp (bar {BAR:g})")
    return 0 if worst <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
