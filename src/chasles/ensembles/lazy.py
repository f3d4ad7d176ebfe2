"""Datasets of a study file for xarray: what is looked at is read, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xarray import Variable
from xarray.backends import BackendArray
from xarray.core import indexing

from chasles.ensembles.study_file import StoredArrays


class StoredVariable(BackendArray):
    """A dataset that is opened at each reading, as xarray wants it of those who read files."""

    def __init__(self, stored: StoredArrays, name: str):
        self.stored, self.name = stored, name
        self.shape, self.dtype = stored.form(name)

    def __getitem__(self, key: Any) -> Any:
        support = indexing.IndexingSupport.OUTER_1VECTOR
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        return self.stored.part(self.name, key)


def variable(values: Mapping[str, Any], name: str, series: bool) -> Variable:
    """Numbers by name, along members and, of a series, times. Those in a file are read when they are asked for."""
    found = StoredVariable(values, name) if isinstance(values, StoredArrays) else np.asarray(values[name])
    along = ["member", *(["t"] if series else [])]
    along += [f"{name} component"] * (len(found.shape) - len(along))
    return Variable(along, found if isinstance(found, np.ndarray) else indexing.LazilyIndexedArray(found))
