"""Make the package `chasles-kernels`: the machine code of chasles, for people who do not want to wait for a compiler.

    python -m tools.kernels                     # dist/chasles_kernels-...whl, everything: minutes
    python -m tools.kernels --script first.py   # only what this script uses

The code is for a baseline of processors (x86-64-v3, or any aarch64), for the version of Python (X.Y), of Numba and of
llvmlite that make it, and for these sources of chasles; the wheel is pinned to them. Whoever has another processor or
version compiles as before. See docs/kernels.md.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import chasles
from chasles.kernel.cache import versions
from chasles.kernel.shipped import BASELINES, PACKAGE, machine

PROCESSOR = """
import json
from chasles.kernel.cache import processor
print(json.dumps(processor()))
"""
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


def compile_all(folder: Path, script: str | None, jobs: int) -> list[str]:
    """Compile for the baseline into a folder; returns the processor as Numba names it."""
    if machine() not in BASELINES:
        sys.exit(f"there is no baseline for {machine()}; BASELINES in chasles/kernel/shipped.py lists what there is")
    environment = os.environ | {
        "CHASLES_CACHE_DIR": str(folder),
        "CHASLES_BASELINE": "1",
        "NUMBA_CPU_NAME": BASELINES[machine()][0],
        "NUMBA_CPU_FEATURES": "",
        "MPLBACKEND": "agg",
    }
    command = [script] if script else ["-m", "chasles", "warm", "--jobs", str(jobs)]
    with tempfile.TemporaryDirectory() as elsewhere:  # scripts write files
        subprocess.run([sys.executable, *command], env=environment, cwd=elsewhere, check=True)
    found = subprocess.run([sys.executable, "-c", PROCESSOR], env=environment, check=True, capture_output=True)
    return json.loads(found.stdout)


def archive(folder: Path, processor: list[str], path: Path) -> int:
    """Put the compiled functions into one file; returns how many they are."""
    made_for = {"versions": list(versions(shipped=True)), "system": [sys.platform, machine()], "processor": processor}
    functions = sorted((folder / "compiled").glob("*.nbc"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        target.writestr("made_for.json", json.dumps(made_for))
        for function in functions:
            target.writestr(function.name, function.read_bytes())
    return len(functions)


def platform_tag() -> str:
    """Machine code without a system library of its own runs with every C library that Python runs with."""
    own = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return own.replace("linux_", "manylinux_2_17_") if own.startswith("linux_") else own


def wheel(contents: Path, folder: Path) -> Path:
    """Write the wheel around the archive."""
    release = chasles.__version__
    tag = f"cp{PYTHON.replace('.', '')}-none-{platform_tag()}"
    info = f"{PACKAGE}-{release}.dist-info"
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {PACKAGE.replace('_', '-')}",
        f"Version: {release}",
        "Summary: Machine code of chasles, so that nothing has to be compiled",
        "License: MIT",
        f"Requires-Python: =={PYTHON}.*",
        f"Requires-Dist: chasles=={release}",
        *(f"Requires-Dist: {name}=={version(name)}" for name in ("numba", "llvmlite")),
    ]
    files = {
        f"{PACKAGE}/__init__.py": b'"""Machine code of chasles; chasles.kernel.shipped reads it."""\n',
        f"{PACKAGE}/kernels.zip": contents.read_bytes(),
        f"{info}/METADATA": "\n".join(metadata).encode() + b"\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: chasles\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    record = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]).encode() + b"\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{PACKAGE}-{release}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in files.items():
            target.writestr(name, data)
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.kernels", description="Make the wheel of compiled code.")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder for the wheel (dist)")
    parser.add_argument("--script", help="compile only what this Python script uses")
    parser.add_argument("--jobs", type=int, default=0, help="number of processes (one a core)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = str(Path(chosen.script).resolve()) if chosen.script else None
        processor = compile_all(folder, script, chosen.jobs)
        count = archive(folder, processor, folder / "kernels.zip")
        path = wheel(folder / "kernels.zip", chosen.out)
    print(f"{path}: {count} functions for {processor[1]}, {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
