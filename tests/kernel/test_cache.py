"""The cache of compiled code: never stale, never in the way."""

import ast
import os
import shutil
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import platformdirs
import pytest

import chasles
from chasles.kernel import cache, code_store, folders, trusted
from chasles.kernel.policy import COMPILED, kernel

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


@pytest.mark.study
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
    assert len(list((tmp_path / "cache" / "compiled").iterdir())) == 2


EDITED = """
import time
from pathlib import Path
from chasles.lie import so3
import chasles.lie.ad_polynomial as callee
time.sleep(0.05)
path = Path(callee.__file__)
path.write_text(path.read_text() + "\\n# an edit while a process runs\\n")
print(so3.exp([0.1, 0.0, 0.0])[1, 1], so3.dexp([0.3, 0.0, 0.0])[2, 1])
"""


@pytest.mark.study
def test_what_was_loaded_before_an_edit_is_not_kept_as_what_stands_there_now(tmp_path):
    package = copied(tmp_path / "site")
    environment = {"PYTHONPATH": str(package.parent), "CHASLES_CACHE_DIR": str(tmp_path / "cache")}
    result = run(EDITED, **environment)
    assert result.returncode == 0, result.stderr
    assert not list((tmp_path / "cache").rglob("lie.so3.so3_dexp-*"))
    run(EVALUATE, **environment)
    assert list((tmp_path / "cache").rglob("lie.so3.so3_dexp-*"))


def copied(tmp_path):
    package = tmp_path / "chasles"
    unneeded = shutil.ignore_patterns("__pycache__", "*.js", "*.html", "*.css", "*.toml", "*.json")
    shutil.copytree(Path(chasles.__file__).parent, package, ignore=unneeded)
    return package


def test_code_is_stale_with_what_it_imports_and_with_nothing_else(tmp_path):
    package = copied(tmp_path)
    modules = sorted(cache.Sources(package).modules())

    def keys():
        sources = cache.Sources(package)
        return {module: cache.source_key(module, sources) for module in modules}

    last = [keys()]

    def changed_by(file: str) -> set[str]:
        (package / file).write_text((package / file).read_text() + "\n# changed\n")
        last.append(keys())
        return {module for module, key in last[-1].items() if key != last[-2][module]}

    assert len(modules) == len(list(package.rglob("*.py")))
    assert changed_by("cli/run.py") <= {name for name in modules if name.split(".")[0] in ("cli", "__main__")}
    by_lanes = changed_by("kernel/lanes.py")
    assert {
        "kernel.lanes",
        "kernel.face",
        "lie.so3",
        "integrate.engine",
        "absolute.kkt",
        "relative.forward",
    } <= by_lanes
    by_forward = changed_by("relative/forward.py")
    assert {"relative.forward", "simulation.tree.motion"} <= by_forward
    assert not {name for name in by_forward if name.split(".")[0] in ("kernel", "lie", "force", "integrate")}
    assert "relative.inverse" not in by_forward


def test_imports_are_read_as_python_reads_them(tmp_path):
    """All forms of import statements at a module's outermost level, against Python's own parser."""
    package = Path(chasles.__file__).parent
    sources = cache.Sources(package)
    for module in sorted(sources.modules())[::4]:
        path, expected = sources.file(module), set()
        parsed = ast.parse(path.read_text())
        for node in parsed.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "chasles":
                base = node.module.removeprefix("chasles").removeprefix(".")
                inner = {name.name: f"{base}.{name.name}".removeprefix(".") for name in node.names}
                expected |= {name if sources.file(name) else base for name in inner.values()}
            elif isinstance(node, ast.Import):
                names = [name.name for name in node.names if name.name.split(".")[0] == "chasles"]
                expected |= {name.removeprefix("chasles").removeprefix(".") for name in names}
            assert not (isinstance(node, ast.ImportFrom) and node.level), path
        for node in ast.walk(parsed):  # what is loaded when something is compiled
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("late", "with_numba", "kind_in"):
                named = getattr(node.args[0], "value", "")
                expected |= {named.removeprefix("chasles.")} if named.startswith("chasles.") else set()
        assert set(sources._imports(path.read_text())) == expected, module


CALLED = """
import sys, types
import chasles, importlib, pkgutil
from chasles.kernel import cache
from chasles.kernel.machine_code import Compiled
from chasles.kernel.face import Face
from chasles.relative.algorithm import Algorithm
import gc

for module in pkgutil.walk_packages(chasles.__path__, "chasles."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

def seen_by(function, seen):
    for name in names(function.__code__):
        if name in function.__globals__:
            visit(function.__globals__[name], seen)
    for cell in function.__closure__ or ():
        visit(cell.cell_contents, seen)

def names(code):
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names(constant)

def visit(value, seen):
    if isinstance(value, Face):
        value = value.kernel
    function = getattr(value, "py_func", value)
    if not isinstance(function, types.FunctionType) or function in seen:
        return
    if (function.__module__ or "").startswith("chasles."):
        seen.add(function)
        seen_by(function, seen)

for value in gc.get_objects():  # the loops that are made at first use
    if type(value) is Face:
        value.entry
    elif type(value) is Algorithm:
        value.scalar, value.lanes
count = 0
for value in gc.get_objects():
    if isinstance(value, Compiled):
        seen, module = set(), value.py_func.__module__.removeprefix("chasles.")
        visit(value, seen)
        called = {function.__module__.removeprefix("chasles.") for function in seen}
        missing = called - set(cache.OWN.closure(module))
        assert not missing, (value, missing)
        count += 1
print(count)
"""


def test_what_kernels_call_is_covered_by_their_key():
    """Of all functions that are kept, by the objects that their code names: each stands in a module of the closure."""
    result = run(CALLED)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout.split()[-1]) > 250


def test_kernels_that_allocate_say_so_whoever_compiles_them():
    """Else they take the option of the first caller, and what is in the cache decides who that is."""
    from chasles.absolute.entry import power_of_drives
    from chasles.lie.quaternion import product

    assert power_of_drives.dispatcher.targetoptions["_nrt"] is True
    assert product.targetoptions["_nrt"] is False


def double(x):
    return 2 * x


double.__module__ = "chasles.kernel.policy"  # so that it is kept


def doubled() -> int:
    """The function as a new process has it; for how many kinds of arguments its code was found."""
    fresh = kernel(entry=True)(double)
    assert (fresh(1.5), fresh(np.int64(4))) == (3.0, 8)
    return fresh.found


def said(caught: list[warnings.WarningMessage], words: str) -> int:
    """How many warnings have these words."""
    return sum(words in str(one.message) for one in caught)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of compiled code, as a new process finds it."""
    place = tmp_path / "cache"
    place.mkdir(mode=0o700)
    monkeypatch.setattr(cache, "folder", lambda: place)
    code_store.say_once.cache_clear()
    return place


@pytest.fixture
def looks_again():
    """The folder is looked for as in a new process, and once more by whoever comes afterwards."""
    ways = cache.root, cache.folder, code_store.say_once
    for way in ways:
        way.cache_clear()
    yield
    for way in ways:
        way.cache_clear()


def test_an_unwritable_home_falls_back_and_says_so_once(tmp_path, monkeypatch, looks_again, recwarn):
    """A file where the folder should be cannot be written to, whoever runs the test."""
    blocker, temporary = tmp_path / "home", tmp_path / "tmp"
    blocker.write_text("not a folder")
    temporary.mkdir()
    monkeypatch.setenv("CHASLES_CACHE_DIR", str(blocker / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    warnings.simplefilter("always")
    place = cache.folder()
    assert doubled() == 0
    assert said(recwarn.list, "compiled code") == 1
    assert place.is_relative_to(temporary)
    assert len(list(place.glob("*.nbc"))) == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX permissions")
def test_where_nothing_can_be_kept_all_is_run_all_the_same(tmp_path, monkeypatch, looks_again, recwarn):
    blocker = tmp_path / "file"
    blocker.write_text("no folder can be made here")
    monkeypatch.setenv("CHASLES_CACHE_DIR", str(blocker / "cache"))
    monkeypatch.setattr("tempfile.tempdir", "/dev/null/folder")
    warnings.simplefilter("always")
    assert (doubled(), doubled()) == (0, 0)
    assert said(recwarn.list, "; it is not kept. Set CHASLES_CACHE") == len(recwarn) == 1
    assert list(tmp_path.iterdir()) == [blocker]


POSIX = pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX permissions")


@POSIX
def test_a_folder_others_can_write_to_is_not_trusted(tmp_path):
    """Cached code is executed when it is loaded."""
    open_to_all = tmp_path / "shared"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    assert not trusted.usable(open_to_all)
    assert trusted.usable(tmp_path / "own")
    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o700
    open_to_all.chmod(0o1777)  # in a sticky folder of others our own is safe, but itself it is not ours alone
    assert not trusted.usable(open_to_all)
    assert trusted.usable(open_to_all / "own")


@POSIX
def test_every_folder_on_the_way_is_looked_at(tmp_path, monkeypatch):
    """Who can write above a folder can put another in its place; links are followed first."""
    for mode, safe in ((0o777, False), (0o757, False), (0o1777, True), (0o755, True), (0o700, True)):
        way = tmp_path / f"{mode:o}"
        way.mkdir()
        (way / "a" / "b").mkdir(parents=True, mode=0o700)
        way.chmod(mode)
        assert trusted.usable(way / "a" / "b") == safe, oct(mode)
        link = tmp_path / f"link{mode:o}"
        link.symlink_to(way / "a")
        assert trusted.usable(link / "b") == safe, oct(mode)
    group = tmp_path / "group"
    (group / "own").mkdir(parents=True, mode=0o700)
    group.chmod(0o775)
    for alone in (True, False):
        monkeypatch.setattr(trusted, "_group_of_one", lambda number, alone=alone: alone)
        assert trusted.usable(group / "own") == alone
    monkeypatch.undo()
    before = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: before + 1)  # the folders are another user's now
    assert not trusted.usable(tmp_path / "755" / "a" / "b")


def test_what_is_used_is_where_links_lead(tmp_path):
    """A link could lead elsewhere later."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    result = run("from chasles.kernel import cache; print(cache.root())", CHASLES_CACHE_DIR=str(tmp_path / "link"))
    assert result.stdout.strip() == str((tmp_path / "real").resolve()), result.stderr


SMALL = """
import sys, numpy as np
from chasles.kernel.policy import kernel

def double(x):
    return 2 * x

double.__module__ = "chasles.kernel.policy"  # so that it is kept
double = kernel(entry=True)(double)
print(double(1.5), double(np.int64(4)), double.found)
"""


def spoilings(data, rng):
    """Ways in which a file can be damaged."""
    yield b""
    yield data[:10]
    yield data[: len(data) // 2]
    yield data + b"x"
    yield b"\0" * len(data)
    for _ in range(6):
        changed = bytearray(data)
        changed[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        yield bytes(changed)


def test_damaged_files_are_compiled_again(kept, recwarn):
    """Its files, in each of these ways: the same numbers, one word, and a sound file afterwards."""
    warnings.simplefilter("always")
    assert doubled() == 0
    sound = {path: path.read_bytes() for path in sorted(kept.iterdir())}
    assert [path.suffix for path in sound] == [".nbc", ".nbc"]
    rng = np.random.default_rng(0)
    for k, (path, data) in enumerate(sound.items()):
        for number, spoiled in list(enumerate(spoilings(data, rng)))[k::2]:
            path.write_bytes(spoiled)
            assert doubled() == 1, (path, number)  # the other file
            assert path.read_bytes() != spoiled, (path, number)  # it was written again
    assert doubled() == 2
    first, second = sound
    first.write_bytes(sound[second])  # the code of other arguments under this name
    assert doubled() == 1
    assert said(recwarn.list, "is damaged, or is not what chasles wrote there") == len(recwarn) == 1


FULL = """
import resource, sys
sys.dont_write_bytecode = True  # Python leaves half of its files there
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))  # no file can become larger, as on a full disk
"""


@POSIX
def test_what_cannot_be_kept_is_run_all_the_same(tmp_path):
    """It is said once, and nothing is left behind."""
    result = run(FULL + SMALL, CHASLES_CACHE_DIR=str(tmp_path / "cache"))
    assert result.stdout.split()[:2] == ["3.0", "8"], result.stderr
    assert result.stderr.count("compiled code cannot be kept in") == result.stderr.count("Warning") == 1, result.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@POSIX
def test_what_others_could_have_written_is_not_loaded(kept, recwarn):
    """A file that anybody may write to, a named pipe, which would be waited for, a folder in its place."""
    warnings.simplefilter("always")
    assert doubled() == 0
    loaded, told = [], []
    for spoil in (
        lambda path: path.chmod(0o600),
        lambda path: path.chmod(0o666),
        pipe_in_its_place,
        folder_in_its_place,
    ):
        for path in sorted(kept.iterdir()):
            spoil(path)
        recwarn.clear()
        code_store.say_once.cache_clear()
        loaded.append(doubled() > 0)
        told.append(said(recwarn.list, "is damaged, or is not what chasles wrote there"))
    assert loaded == [True, False, False, False]
    assert told == [0, 1, 1, 1]
    assert said(recwarn.list, "compiled code cannot be kept in") == 1


def pipe_in_its_place(path):
    path.unlink()
    os.mkfifo(path, 0o600)


def folder_in_its_place(path):
    path.unlink()
    path.mkdir()


def test_one_rule_says_where_compiled_code_and_pages_are(monkeypatch):
    """That of the platform, which `platformdirs` knows, or the folder that the user names."""
    from chasles.view import page_cache as kept

    monkeypatch.delenv("CHASLES_CACHE_DIR", raising=False)
    assert folders.user_cache() == Path(platformdirs.user_cache_dir("chasles", False))
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
        assert folders.user_cache() == Path("/somewhere/chasles")
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", "/home/someone")
        assert folders.user_cache() == Path("/home/someone/.cache/chasles")
    assert kept.folder() == folders.user_cache() / "pages"
    monkeypatch.setenv("CHASLES_CACHE_DIR", "/elsewhere")
    assert folders.user_cache() == Path("/elsewhere")
    assert kept.folder() == Path("/elsewhere/pages")


def test_code_of_other_settings_of_the_compiler_is_not_for_all(tmp_path):
    """Without LLVM's optimization it would be slow for ever."""
    code = "from chasles import lie; lie.so3.vee(lie.so3.hat([1.0, 2.0, 3.0])); print(lie.so3.hat.entry.found)"
    folder = str(tmp_path / "kept")
    for settings, found in (({"NUMBA_OPT": "0"}, 0), ({}, 0), ({"NUMBA_OPT": "0"}, 1), ({}, 1)):
        assert run(code, CHASLES_CACHE_DIR=folder, **settings).stdout == f"{found}\n"


def test_a_tilde_is_the_home_of_the_user(tmp_path):
    show = "from chasles.kernel.folders import user_cache; print(user_cache())"
    assert run(show, CHASLES_CACHE_DIR="~/kept", HOME=str(tmp_path)).stdout == f"{tmp_path / 'kept'}\n"
    assert run(show, CHASLES_CACHE_DIR="~nobody-has-this-name/x").stdout == "~nobody-has-this-name/x\n"


def test_the_line_of_the_user_is_told_where_a_class_made_by_dataclasses_compiles(tmp_path):
    script, file = tmp_path / "script.py", tmp_path / "file"
    file.touch()
    script.write_text("import chasles as ch\n\nch.shapes.Cylinder(0.1, 0.5, pose=(1, 0, 0, 0, 0, 0, 1))\n")
    where = f"import runpy; runpy.run_path({str(script)!r})"
    said = run(where, CHASLES_CACHE_DIR=str(file), TMPDIR=str(tmp_path)).stderr
    assert said.startswith(f"{script}:3: RuntimeWarning: cannot write compiled code to {file}")
