"""Whom a folder belongs to: compiled code is executed when it is loaded, so nobody else may be able to put it there."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

try:
    import grp
    import pwd
except ImportError:  # Windows, where a user's folders are the user's
    grp = pwd = None  # type: ignore[assignment]


def usable(folder: Path) -> bool:
    """Make the folder and try to write in it; False if that fails, or if others could."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not private(folder):
            return False
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def private(folder: Path) -> bool:
    """Whether a folder, where all links lead, is ours, and no folder on the way to it can be changed by others: they
    could put another in its place."""
    if not hasattr(os, "getuid"):
        return True
    place = folder.resolve()
    if not own(place.stat()):
        return False
    above = [path.stat() for path in place.parents]
    return all(info.st_uid in (0, os.getuid()) and not _writable_by_others(info) for info in above)


def own(info: os.stat_result) -> bool:
    """Whether a file is ours, and nobody else can write to it."""
    return not hasattr(os, "getuid") or (info.st_uid == os.getuid() and not _writable_by_others(info, sticky=False))


def _writable_by_others(info: os.stat_result, sticky: bool = True) -> bool:
    """In a sticky folder, such as /tmp, others can write but not replace what is not theirs."""
    if sticky and info.st_mode & stat.S_ISVTX:
        return False
    group = info.st_mode & stat.S_IWGRP and not _group_of_one(info.st_gid)
    return bool(group or info.st_mode & stat.S_IWOTH)


def _group_of_one(number: int) -> bool:
    """The group that many systems make for each user, with nobody else in it."""
    try:
        name, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}
