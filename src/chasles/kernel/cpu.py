"""What the processor offers, as LLVM sees it."""

from __future__ import annotations

import llvmlite.binding as llvm


def name() -> str:
    """LLVM's name of the host processor, e.g. "znver3"."""
    return llvm.get_host_cpu_name()


def register_bits() -> int:
    """Width of the widest vector registers in bits: 512, 256 or 128."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 512
    return 256 if features.get("avx") else 128
