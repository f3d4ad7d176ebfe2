"""What is done one lane after the other: numbers of a lane apart, for functions that compute with one state."""

from __future__ import annotations

from chasles.kernel.lanes import WIDTH
from chasles.kernel.policy import kernel


@kernel
def gather(source, lane, target):
    """One lane of a buffer of lanes."""
    for k in range(target.shape[0]):
        target[k] = source[WIDTH * k + lane]


@kernel
def scatter(source, lane, target):
    """Numbers into one lane of a buffer of lanes."""
    for k in range(source.shape[0]):
        target[WIDTH * k + lane] = source[k]
