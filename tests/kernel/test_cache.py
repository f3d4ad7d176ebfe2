"""The cache of compiled code: never stale, never in the way."""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import chasles
from chasles.kernel import cache
from chasles.kernel.policy import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is cached when the compiler is switched off")

EVALUATE = "from chasles.lie import so3; print(repr(float(so3.dexp([0.3, 0.0, 0.0])[2, 1])))"


def run(code: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_an_edited_callee_in_another_module_is_recompiled(tmp_path):
    """Numba's own cache would run the old machine code here."""
    package = tmp_path / "site" / "chasles"
    shutil.copytree(Path(chasles.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {"PYTHONPATH": str(tmp_path / "site"), "CHASLES_CACHE_DIR": str(tmp_path / "cache")}
    before = run(EVALUATE, **environment)
    assert float(before.stdout) == pytest.approx((1 - np.cos(0.3)) / 0.3, rel=1e-14), before.stderr
    again = run("import chasles; print(chasles.__file__); " + EVALUATE, **environment)
    assert str(package) in again.stdout
    assert again.stdout.split()[-1] == before.stdout.strip()
    callee = package / "lie" / "ad_polynomial.py"
    text = callee.read_text()
    assert text.count("compose_matrix(k[0], scale(k[1], x)") == 1
    callee.write_text(text.replace("compose_matrix(k[0], scale(k[1], x)", "compose_matrix(k[0], scale(3.0 * k[1], x)"))
    after = run(EVALUATE, **environment)
    assert float(after.stdout) == pytest.approx(3 * float(before.stdout), rel=1e-12), after.stderr
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_the_key_depends_on_every_source_file(tmp_path):
    package = tmp_path / "chasles"
    shutil.copytree(Path(chasles.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    keys = {cache.source_key("", package)}
    for path in sorted(package.rglob("*.py")):
        path.write_text(path.read_text() + "\n# changed\n")
        keys.add(cache.source_key("", package))
    assert len(keys) == 1 + len(list(package.rglob("*.py")))


def test_a_layer_is_stale_with_what_it_stands_on_and_with_nothing_else(tmp_path):
    package = tmp_path / "chasles"
    shutil.copytree(Path(chasles.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def changed_by(file: str) -> set[str]:
        before = {layer: cache.source_key(layer, package) for layer in (*cache.BELOW, "cli")}
        (package / file).write_text((package / file).read_text() + "\n# changed\n")
        return {layer for layer, key in before.items() if cache.source_key(layer, package) != key}

    assert changed_by("cli/run.py") == {"cli"}
    inner = {layer for layer in cache.BELOW if layer.startswith(("relative.", "simulation."))}
    assert changed_by("relative/tables.py") == {"relative", *inner, "simulation", "cli"}
    (package / "relative" / "derivative").mkdir(exist_ok=True)
    (package / "relative" / "derivative" / "new.py").write_text("")
    assert changed_by("relative/derivative/new.py") == {"relative.derivative", "cli"}
    assert changed_by("lie/so3.py") == {*cache.BELOW, "cli"} - {"kernel", "view.raster"}
    assert changed_by("kernel/lanes.py") == {*cache.BELOW, "cli"}


def test_a_layers_key_covers_all_that_its_kernels_can_call():
    """A module with kernels imports from nowhere else: what it imports could be compiled into them."""
    package = Path(chasles.__file__).parent
    for path in sorted(package.rglob("*.py")):
        layer = cache.layer_of(".".join(path.relative_to(package).parts[:-1]))
        text = path.read_text()
        if layer in cache.BELOW and re.search(r"^@(kernel|face|field|algorithm)\b", text, re.MULTILINE):
            modules = re.findall(r"^(?:from|import) chasles\.([\w.]+)", text, re.MULTILINE)
            assert {cache.layer_of(module) for module in modules} <= {layer, *cache.BELOW[layer]}, path


def test_kernels_that_allocate_say_so_whoever_compiles_them():
    """Else they take the option of the first caller, and what is in the cache decides who that is."""
    from chasles.absolute.tables import part_of
    from chasles.lie.quaternion import product

    assert part_of.targetoptions["_nrt"] is True
    assert product.targetoptions["_nrt"] is False


UNWRITABLE = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from chasles.kernel import cache
    place = cache.folder("lie")
    cache.folder("kernel")
    from chasles.lie import so3
    so3.hat([1.0, 2.0, 3.0])
messages = [str(w.message) for w in caught if "compiled code" in str(w.message)]
print(len(messages), place)
"""


def test_an_unwritable_home_falls_back_and_says_so_once(tmp_path):
    """A file where the folder should be cannot be written to, whoever runs the test."""
    blocker = tmp_path / "home"
    blocker.write_text("not a folder")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    result = run(UNWRITABLE, CHASLES_CACHE_DIR=str(blocker / "cache"), TMPDIR=str(temporary))
    count, place = result.stdout.split()
    assert count == "1", result.stderr
    assert Path(place).is_relative_to(temporary)
    assert list(Path(place).glob("*.nbc"))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX permissions")
def test_a_folder_others_can_write_to_is_not_trusted(tmp_path):
    """Cached code is executed when it is loaded."""
    open_to_all = tmp_path / "shared"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    assert not cache._usable(open_to_all)
    assert cache._usable(tmp_path / "own")
    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o700


def test_the_place_follows_the_platform(monkeypatch):
    monkeypatch.delenv("CHASLES_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.user_cache() == Path("/somewhere/chasles")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache.user_cache() == Path("/home/someone/.cache/chasles")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.user_cache() == Path("/home/someone/Library/Caches/chasles")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/appdata")
    assert cache.user_cache() == Path("/appdata/chasles/cache")
