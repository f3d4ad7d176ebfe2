"""One writer for a result file: a lock that ends with its process, however that ends."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from chasles.io.result.layout import NotWrittenError, ResultFileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

ELSEWHERE = 1 << 20  # Windows: the byte that is locked; those of the text can be read


class Lock:
    """The right to write a file, until `release`. It is a lock of the operating system on a small file beside it, so
    that of a killed process is no obstacle; what such a process left behind is removed."""

    def __init__(self, file: Path):
        self.file, self.path = file, file.with_name(f".{file.name}.lock")
        self.descriptor, self._owner = -1, os.getpid()
        if not file.parent.is_dir():
            raise ResultFileError(file, f"cannot be written: there is no folder {file.parent}")
        try:
            while self.descriptor < 0:
                self._try()
            os.ftruncate(self.descriptor, 0)
            os.write(self.descriptor, str(self._owner).encode())
            for left in file.parent.iterdir():  # of a process that was killed while it made the file larger
                if left.name.startswith(f".{file.name}.") and left.name.endswith(".new"):
                    left.unlink(missing_ok=True)
        except OSError as error:
            self.release()
            raise NotWrittenError(file, error) from None

    def _try(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, 0o644)
        try:
            if not _take(descriptor):
                owner = os.read(descriptor, 32).decode("ascii", "replace").strip()
                raise ResultFileError(
                    self.file,
                    f"is being written by another run{f' (process {owner})' if owner else ''}; wait for its end, or "
                    "give another file",
                )
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), self.path.stat()):  # else its owner has just removed it
                    self.descriptor, descriptor = descriptor, -1
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def release(self) -> None:
        """Let others write. A process that was forked off has no say in it."""
        if self.descriptor < 0 or self._owner != os.getpid():
            return
        descriptor, self.descriptor = self.descriptor, -1
        if fcntl is not None:
            self.path.unlink(missing_ok=True)
            os.close(descriptor)
        else:  # Windows removes no file that is open
            os.close(descriptor)
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            with suppress(OSError):  # the folder is gone
                self.release()


def _take(descriptor: int) -> bool:
    """Whether the lock is ours. Where a file system knows no locks, it always is."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            os.lseek(descriptor, ELSEWHERE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
    except (BlockingIOError, PermissionError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        return False
    except OSError:
        return True
    return True
