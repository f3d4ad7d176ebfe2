"""The certificate in a result file and the data that it judges belong together: a digest over both says so.

It notices what was edited or damaged. It is no signature: who changes a file by intention can compute it again, and
`certify(run)` judges anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.certificate.verdict import Certificate

if TYPE_CHECKING:
    from chasles.io.result.reader import Stored

AT_ONCE = 1 << 16  # rows that are read at once
BESIDE = ("certificate", "hull")  # of an outcome: what the digest is in, and what is for pictures
STORED = "as stored"


def digest(stored: Stored, certificate: Mapping[str, Any]) -> str:
    """Of what was simulated, all that came out, and the certificate."""
    outcome = {name: value for name, value in (stored.outcome or {}).items() if name not in BESIDE}
    words = [stored.header, stored.model, outcome, {k: v for k, v in certificate.items() if k != "digest"}]
    found = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
    for table in (stored.start, stored.points, stored.energy, stored.events, stored.laws):
        for first in range(0, len(table), AT_ONCE):
            found.update(np.ascontiguousarray(table[first : first + AT_ONCE]).tobytes())
    return found.hexdigest()


def sealed(stored: Stored, certificate: Certificate) -> dict[str, Any]:
    """A certificate for the file whose contents are `stored`."""
    table = json.loads(json.dumps(certificate.as_table()))
    return {**table, "digest": digest(stored, table)}


def opened(stored: Stored) -> Certificate:
    """The certificate of a file; one that is not of these data is not believed."""
    assert stored.outcome is not None
    table = stored.outcome["certificate"]
    found = Certificate.of_table(table, STORED)
    if digest(stored, table) == table["digest"]:
        return found
    why = "the file was changed after its certificate was made; certify(run) judges what is in it now"
    return Certificate(
        found.title, (), stored.outcome["message"], stored.outcome["success"], refused=why, origin=STORED
    )
