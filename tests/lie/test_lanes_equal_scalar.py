"""The kernels compiled for one state equal those compiled for four lanes, which the NumPy functions run.

Both come from one source. The compiler may fuse different products in them, so that they can differ in the last places.
"""

import functools

import numpy as np
import pytest

from chasles import lie
from chasles.kernel.face import compile_text
from chasles.kernel.policy import COMPILED, kernel
from tests.lie.cases import BY_NAME, arguments

pytestmark = [
    pytest.mark.study,  # one source for both; compiling it once more as scalars takes half a minute
    pytest.mark.skipif(not COMPILED, reason="there are neither scalars nor lanes when the compiler is off"),
]

MAPS = "exp log dexp dexpinv ddexp ddexpinv bch cay cayinv dcay dcayinv cay2 cay2inv dcay2 dcay2inv ccsk ccskinv"
GROUPS = ["so3", "s3", "se3", "pose"]
COUNT = 50


def own_maps(group):
    """The functions of MAPS that a group defines itself; those it shares are found with another group."""
    found = [getattr(getattr(lie, group), name, None) for name in MAPS.split()]
    return [face for face in found if face is not None and face.label.startswith(f"{group}.")]


def samples(face):
    """Algebra vectors with angles from 1e-12 to 5, and elements as their group draws them."""
    group, drawn = BY_NAME[face.label.partition(".")[0]], arguments(face, (COUNT,))
    kinds = [kind for _, kind in face.kinds]
    return [drawn[k] if kind.defect else group.vectors(k, (COUNT,), largest=5.0) for k, kind in enumerate(kinds)]


@kernel
def same(value):
    return value


def scalar_loop(group):
    """An entry that calls each function on tuples of floats, row by row; one for all, because compiling takes long."""
    scope, names, body = {"__name__": __name__}, [], []
    for f, face in enumerate(own_maps(group)):
        scope |= {f"function{f}": face, f"pack{f}": face.out[0].pack or same}
        values = []
        for k, (_, kind) in enumerate(face.kinds):
            scope[f"unpack{f}_{k}"] = kind.unpack or same
            row = "".join(f"x{f}_{k}[i, {j}], " for j in range(kind.size))
            values.append(f"unpack{f}_{k}(({row}))")
            names.append(f"x{f}_{k}")
        names.append(f"out{f}")
        body.append(f"        row{f} = pack{f}(function{f}({', '.join(values)}))")
        body.append(f"        for j in range({face.out[0].size}):")
        body.append(f"            out{f}[i, j] = row{f}[j]")
    lines = [f"def scalar_{group}({', '.join(names)}):", f"    for i in range({COUNT}):", *body]
    return kernel(entry=True)(compile_text("\n".join(lines) + "\n", f"scalar_{group}", scope))


@functools.cache
def scalar_results(group):
    results, flat = {}, []
    for face in own_maps(group):
        results[face.label] = np.full((COUNT, face.out[0].size), np.nan)
        flat += [*(a.reshape(COUNT, -1) for a in samples(face)), results[face.label]]
    scalar_loop(group)(*flat)
    return results


@pytest.mark.parametrize("face", [pytest.param(face, id=face.label) for group in GROUPS for face in own_maps(group)])
def test_scalars_equal_lanes(face):
    lanes = face(*samples(face)).reshape(COUNT, -1)
    scalars = scalar_results(face.label.partition(".")[0])[face.label]
    ulp = np.spacing(np.max(np.abs(lanes), axis=1))
    assert np.all(np.max(np.abs(scalars - lanes), axis=1) <= 2 * ulp)
