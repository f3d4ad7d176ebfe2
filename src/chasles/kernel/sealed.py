"""Compiled code on disk, with a sum over its contents: what is damaged is not loaded, but compiled again.

Numba believes its files. A bit that has changed in one of them is a traceback at best, and at worst another program.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from pathlib import Path
from typing import Any

from chasles.kernel.cache import folder, layer_of
from chasles.kernel.numba_private import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

SEAL = hashlib.sha256().digest_size


class DamagedError(OSError):
    """A file whose contents are not what was written; Numba takes it for one that is not there."""


class SealedFiles(IndexDataCacheFile):
    """Numba's index and data files of a function, each after its sum.

    With the machine code its key is kept. Two processes that compile a function at the same time for different
    arguments can give their files the same name; that too must not be believed.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> Any:
        try:
            version, stamp, overloads = self._opened(self._index_path)
        except OSError:
            return {}
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: Any) -> None:
        self._close(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._opened(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._close(self._data_path(name), data)

    def _opened(self, path: str) -> Any:
        contents = memoryview(Path(path).read_bytes())
        if hashlib.sha256(contents[SEAL:]).digest() != contents[:SEAL]:
            raise DamagedError(f"{path} is damaged")
        return pickle.loads(contents[SEAL:])

    def _close(self, path: str, contents: Any) -> None:
        data = self._dump(contents)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(data).digest() + data)


class _Locator(_CacheLocator):
    """One flat folder a layer; freshness is the folder's name, so the stamp is constant."""

    def __init__(self, py_func):
        module = py_func.__module__.removeprefix("chasles.")
        self._layer = layer_of(module)
        self._unique = f"{module}-{py_func.__code__.co_firstlineno}"

    def get_cache_path(self):
        return str(folder(self._layer))

    def get_source_stamp(self):
        return "chasles"

    def get_disambiguator(self):
        return self._unique

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func)


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 (Numba's own spelling)


class PackageCache(FunctionCache):
    """Numba's function cache, in our folder, of files that are looked at before they are believed."""

    _impl_class = _Impl
    _told = False

    def __init__(self, py_func):
        super().__init__(py_func)
        locator = self._impl.locator
        self._cache_file = SealedFiles(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def save_overload(self, sig, data):
        """Keep compiled code; that a disk is full is no reason not to run it."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            if not PackageCache._told:
                PackageCache._told = True
                warnings.warn(
                    f"compiled code cannot be kept: {error}; it will be compiled again", RuntimeWarning, stacklevel=2
                )
