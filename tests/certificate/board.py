"""The board: runs with a truth of their own, each wrong, right or neither, and what their certificates say.

Wrong: off by more than ten times the tolerance of the certificate; right: by less than it.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

TOLERANCE = 1e-3
FAMILIES = {}


def family(function):
    """Add a generator of cases to the board."""
    FAMILIES[function.__name__] = function
    return function


@dataclass(frozen=True)
class Case:
    label: str
    run: object = field(repr=False)
    error: float

    @property
    def kind(self):
        return "wrong" if self.error > 10 * TOLERANCE else "right" if self.error < TOLERANCE else "neither"


def case(label, run, *pairs):
    """A run, and pairs (truth, found, size); the largest difference counts."""
    with np.errstate(all="ignore"):
        error = max(float(np.max(np.abs(np.asarray(a) - np.asarray(b)) / size)) for a, b, size in pairs)
    return Case(label, run, error if math.isfinite(error) else math.inf)


def count(cases):
    """How many of each kind have which verdict, and those that are judged wrongly."""
    counted, bad = Counter(), []
    for one in cases:
        status = one.run.certificate.status
        counted[one.kind, status] += 1
        if (one.kind, status) == ("wrong", "passed") or (one.kind == "right" and status != "passed"):
            bad.append(f"{one.label}: off by {one.error:.1e}\n{one.run.certificate}")
    return counted, bad
