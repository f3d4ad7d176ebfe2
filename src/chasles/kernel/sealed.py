"""Files of compiled code with a sum over their contents: what is damaged is not loaded, but compiled again.

Numba believes its files. A bit that has changed in one of them is a traceback at best, and at worst another program.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

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
