"""Datasets of a study file for xarray: what is looked at is read, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.ensembles.study_file import StoredArrays

if TYPE_CHECKING:
    import xarray


def variable(values: Mapping[str, Any], name: str, series: bool, unit: str) -> xarray.Variable:
    """Numbers by name, along members and, of a series, times. Those in a file are read when they are asked for."""
    from xarray import Variable

    found = _stored(values, name) if isinstance(values, StoredArrays) else np.asarray(values[name])
    along = ["member", *(["t"] if series else [])]
    along += [f"{name} component"] * (len(found.shape) - len(along))
    return Variable(along, found, {"units": unit} if unit else {})


def _stored(stored: StoredArrays, name: str) -> Any:
    """A dataset as xarray wants it of those who read files; it is opened at each reading."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class StoredVariable(BackendArray):
        shape, dtype = stored.form(name)

        def __getitem__(self, key: Any) -> Any:
            support = indexing.IndexingSupport.OUTER_1VECTOR
            return indexing.explicit_indexing_adapter(key, self.shape, support, lambda part: stored.part(name, part))

    return indexing.LazilyIndexedArray(StoredVariable())
