"""Machine code that comes in a wheel: nothing is compiled, and where it does not fit it is as if it were not there."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from chasles.kernel import cache, code_store, shipped
from chasles.kernel.policy import COMPILED
from chasles.lie import so3
from tests.kernel.first_use import example, shortest

pytestmark = [
    pytest.mark.slow,  # a wheel is made, whatever the cache has
    pytest.mark.skipif(not COMPILED, reason="nothing is compiled"),
    pytest.mark.skipif(shipped.machine() not in shipped.BASELINES, reason="no baseline for this machine"),
]
ROOT = Path(__file__).parents[2]


def make(out: Path, *options: str) -> Path:
    command = [sys.executable, "-m", "tools.kernels", "--out", str(out), *options]
    result = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=3000)
    assert result.returncode == 0, result.stderr
    (wheel,) = out.glob("*.whl")
    return wheel


def use(name: str, home: Path, site: Path | None = None, python: str = sys.executable) -> tuple[int, float, str]:
    """One first use from an empty home: functions that were compiled, processor time [s], what was said."""
    shutil.rmtree(home, ignore_errors=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CHASLES_", "XDG_"))}
    environment |= {"HOME": str(home), "CHASLES_CACHE_DIR": str(home / "cache")}
    if site:
        environment["PYTHONPATH"] = os.pathsep.join([str(site), environment.get("PYTHONPATH", "")])
    command = [python, "-m", "tests.kernel.first_use", name]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=True)
    count, spent = re.search(r"compiled (\d+) functions in ([\d.]+) s", result.stdout).groups()
    return int(count), float(spent), result.stdout + result.stderr


def wheel_of(folder: Path, code: str) -> Path:
    """A wheel of what a script uses, and a rotation."""
    script = folder / "script.py"
    script.write_text(code + "\nfrom chasles.lie import so3\nso3.exp([0.0, 0.0, 0.1])\n")
    return make(folder / "dist", "--script", str(script))


@pytest.fixture(scope="module")
def small_wheel(tmp_path_factory):
    return wheel_of(tmp_path_factory.mktemp("kernels"), shortest())


@pytest.fixture(scope="module")
def readme_wheel(tmp_path_factory):
    return wheel_of(tmp_path_factory.mktemp("readme"), example())


def installed(wheel: Path, folder: Path) -> Path:
    """The wheel as an installer puts it in place."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def site(small_wheel, tmp_path):
    return installed(small_wheel, tmp_path)


@pytest.fixture
def readme_site(readme_wheel, tmp_path):
    return installed(readme_wheel, tmp_path)


def test_the_first_result_needs_no_compiler(site, tmp_path):
    count, spent, said = use("simulated", tmp_path / "home", site)
    assert count == 0
    assert spent < 6.0, said  # 1.5 on a quiet machine; other tests run beside
    assert not list((tmp_path / "home" / "cache").rglob("*.nbc"))  # nor is anything written


def has_exponential(archive: shipped.Archive | None) -> bool:
    """Whether a function would be taken from it, as `CodeStore` does."""
    so3.exp([0.0, 0.0, 0.1])
    (arguments,) = so3.exp.entry.signatures
    name = archive and so3.exp.entry.store._name(arguments, archive.key("lie.so3"), archive.processor)
    return bool(name and code_store.unsealed(name, archive.read(name), shipped.PACKAGE))


def changed(archive: Path, **made_for: object) -> None:
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    files["made_for.json"] = json.dumps(json.loads(files["made_for.json"]) | made_for).encode()
    with zipfile.ZipFile(archive, "w") as new:
        for name, data in files.items():
            new.writestr(name, data)


def muddled(archive: Path, part: str) -> None:
    """What is packed in a file of the archive makes no sense to what unpacks it."""
    with zipfile.ZipFile(archive) as old:
        (info,) = [one for one in old.infolist() if part in one.filename]
    data = bytearray(archive.read_bytes())
    at = info.header_offset + 30 + len(info.filename)
    assert info.compress_type == zipfile.ZIP_DEFLATED
    data[at : at + info.compress_size] = b"\xff" * info.compress_size  # blocks of a kind that there is not
    archive.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: changed(path, versions=["0.1", "0.1", "3.11"]), "made for 0.1 0.1 3.11, this is "),
        (lambda path: changed(path, system=["plan9", "vax"]), "made for plan9 vax, this is "),
        (lambda path: changed(path, processor=["x", "y", "z"]), ""),  # nothing in it has a name that is looked for
        (lambda path: changed(path, versions=7), "damaged"),
        (lambda path: changed(path, versions=[1, 2]), "damaged"),
        (lambda path: changed(path, processor=[]), "damaged"),
        (lambda path: muddled(path, "made_for.json"), "damaged"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "damaged"),
        (lambda path: path.write_bytes(b"not an archive"), "damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:-400]), "damaged"),
        (lambda path: path.write_bytes(bytes(b ^ (k % 211 == 0) for k, b in enumerate(path.read_bytes()))), "damaged"),
        (lambda path: path.unlink(), "damaged"),
    ],
)
def test_what_does_not_fit_or_is_damaged_is_not_used(spoil, said, site, monkeypatch, recwarn):
    monkeypatch.syspath_prepend(site)
    shipped.archive.cache_clear()
    assert has_exponential(shipped.archive())
    assert shipped.BASELINES[shipped.machine()][0] in shipped.status()
    spoil(site / shipped.PACKAGE / "kernels.zip")
    shipped.archive.cache_clear()
    recwarn.clear()
    assert not has_exponential(shipped.archive())
    told = [str(one.message) for one in recwarn]
    assert len(told) == bool(said)
    assert all(f"chasles-kernels is not used: {said}" in one for one in told)
    assert said in shipped.status()
    shipped.archive.cache_clear()


def test_a_function_that_cannot_be_unpacked_is_compiled(site, monkeypatch):
    monkeypatch.syspath_prepend(site)
    muddled(site / shipped.PACKAGE / "kernels.zip", "so3_exp")
    shipped.archive.cache_clear()
    code_store.say_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="compiled code in chasles_kernels is damaged"):
        assert not has_exponential(shipped.archive())
    shipped.archive.cache_clear()


def test_who_asks_for_other_code_is_told_that_it_is_not_used(site, monkeypatch):
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    shipped.archive.cache_clear()
    assert shipped.archive() is None
    assert shipped.status() == "not used: NUMBA_CPU_NAME asks for other code"
    shipped.archive.cache_clear()
    monkeypatch.delenv("NUMBA_CPU_NAME")
    monkeypatch.setenv("CHASLES_CHECK", "0")  # as if it were not set
    assert has_exponential(shipped.archive())
    shipped.archive.cache_clear()


@pytest.mark.study
def test_what_is_damaged_is_compiled(site, tmp_path):
    (site / shipped.PACKAGE / "kernels.zip").write_bytes(b"not an archive")
    assert use("rotation", tmp_path / "home", site)[0] > 0


def test_shipped_code_serves_other_versions_of_numpy_and_patch_versions_of_python(monkeypatch):
    before = {shipped_one: cache.source_key("lie.so3", shipped=shipped_one) for shipped_one in (True, False)}
    for place, name, value in (
        (cache.np, "__version__", "2.0.99"),
        (cache.platform, "python_version", lambda: "3.11.99"),
    ):
        with monkeypatch.context() as other:
            other.setattr(place, name, value)
            assert cache.source_key("lie.so3", shipped=True) == before[True]
            assert cache.source_key("lie.so3", shipped=False) != before[False]


def fresh(folder: Path) -> str:
    """The interpreter of a new environment with nothing but pip."""
    venv.create(folder, with_pip=True)
    return str(folder / "bin" / "python")


@pytest.mark.study
def test_another_version_of_numpy(readme_site, tmp_path):
    """The wheel was made with one version of NumPy and is used with another: nothing is compiled."""
    other = "2.3.5" if not np.__version__.startswith("2.3.") else "2.2.6"
    pip = [fresh(tmp_path / "env"), "-m", "pip"]  # an environment by uv has no pip
    place = [*pip, "install", "-q", "--no-deps", "--target", str(readme_site), f"numpy=={other}"]
    subprocess.run(place, check=True, timeout=900)
    count, _, said = use("readme", tmp_path / "home", readme_site)
    assert f"numpy {other}" in said
    assert count == 0
    assert "verdict: passed" in said


@pytest.mark.study
def test_another_patch_version_of_python(readme_site, tmp_path, monkeypatch):
    """The wheel was made with one patch version of Python and is used with another, with the same packages."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    found = [path for path in (shutil.which(name, path=where) for where in ("/usr/bin", "/usr/local/bin")) if path]
    ask = "import platform; print(platform.python_version())"
    told = {path: subprocess.check_output([path, "-c", ask], text=True).strip() for path in found}
    others = [path for path, version in told.items() if version != platform.python_version()]
    if not others:
        pytest.skip(f"there is no other {name} here")
    packages = [place for place in sys.path if "site-packages" in place] + [str(ROOT / "src")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(packages))
    count, _, said = use("readme", tmp_path / "home", readme_site, others[0])
    assert f"python {told[others[0]]}" in said
    assert count == 0
    assert "verdict: passed" in said


def test_each_function_is_verified(site, tmp_path):
    """A function whose machine code has changed in an archive that is sound in itself."""
    path = site / shipped.PACKAGE / "kernels.zip"
    with zipfile.ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, data in files.items():
            middle = len(data) // 2
            damaged = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
            new.writestr(name, damaged if name.endswith(".nbc") else data)
    assert use("rotation", tmp_path / "home", site)[0] > 0


def test_a_processor_without_the_baseline(site, monkeypatch):
    archive = shipped.Archive(site / shipped.PACKAGE / "kernels.zip")
    assert not archive.misfit()
    assert archive.count() > 5
    monkeypatch.setattr(shipped.llvm, "get_host_cpu_features", lambda: {"sse4.2": True})
    assert "this processor lacks" in archive.misfit()
    monkeypatch.syspath_prepend(site)
    shipped.archive.cache_clear()
    with pytest.warns(RuntimeWarning, match="chasles-kernels is not used: .* this processor lacks avx.*compiled at"):
        assert shipped.archive() is None
    shipped.archive.cache_clear()


@pytest.mark.study
def test_the_whole_wheel_in_a_fresh_environment(tmp_path):
    """Minutes: `pytest -m study tests/kernel/test_shipped.py -s` shows the times. A wheel that was made of these
    sources before is taken if CHASLES_KERNELS_WHEEL names it."""
    wheel = os.environ.get("CHASLES_KERNELS_WHEEL") or make(tmp_path / "dist")
    python = fresh(tmp_path / "env")
    subprocess.run([python, "-m", "pip", "install", "-q", str(ROOT), str(wheel)], check=True, timeout=900)
    use("rotation", tmp_path / "home", python=python)  # Python writes its bytecode files
    for name in ("readme", "heavy_top", "loop", "absolute", "linearize", "report", "gallery"):
        times = [use(name, tmp_path / "home", python=python)[:2] for _ in range(2)]
        print(f"{name}: {times}")
        assert [count for count, _ in times] == [0, 0], name
        assert min(spent for _, spent in times) < (8.0 if name == "gallery" else 3.0), name
