"""A regular file whose end is written anew each time something is added before that end.

In one write, so that a process that is killed leaves the document whole: as it was, or with what was added. Whatever
somebody else has done to the file meanwhile is noticed, and then nothing is added.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


class GrowingFile:
    def __init__(self, file: Path, known: os.stat_result, end: bytes) -> None:
        self._file = file
        self._known = known
        self._end = end

    @classmethod
    def just_written(cls, file: Path, text: str, end: str) -> GrowingFile | None:
        """None if the file cannot be added to: it is none, or is somebody else's already."""
        try:
            found = file.stat()
        except OSError:
            return None
        regular = stat.S_ISREG(found.st_mode) and found.st_size == len(text.encode())
        return cls(file, found, end.encode()) if regular else None

    def add(self, text: str, end: str) -> bool:
        """False if it is not as it was left, or has a second name. Raises `OSError`, and leaves it whole."""
        added, end_now = text.encode(), end.encode()
        if len(added) + len(end_now) < len(self._end):
            return False
        try:
            descriptor = os.open(self._file, os.O_WRONLY | getattr(os, "O_BINARY", 0))
        except OSError:
            return False
        try:
            if not self._is_as_left(os.fstat(descriptor)):
                return False
            self._put(descriptor, added + end_now)
            self._known, self._end = os.fstat(descriptor), end_now
        finally:
            os.close(descriptor)
        return True

    def _is_as_left(self, now: os.stat_result) -> bool:
        then = self._known
        same = (now.st_dev, now.st_ino, now.st_size) == (then.st_dev, then.st_ino, then.st_size)
        return same and now.st_mtime_ns == then.st_mtime_ns and now.st_nlink == 1

    def _put(self, descriptor: int, content: bytes) -> None:
        """In one write. If that writes a part only, the next one says why, and what the part lies upon is put back."""
        where, written = self._known.st_size - len(self._end), 0
        os.lseek(descriptor, where, os.SEEK_SET)
        try:
            while written < len(content):
                written += os.write(descriptor, content[written:])
        except OSError:
            # the disk is full, say; this needs no room, and goes no further than could be written
            os.lseek(descriptor, where, os.SEEK_SET)
            os.write(descriptor, self._end[:written])
            os.ftruncate(descriptor, self._known.st_size)
            raise
