"""Where the text of an outlet goes.

A regular file is replaced as a whole: a reader, or a run that is killed, never sees half of it. (What is added to it
until the run ends is added by `growing_file.py`.) Anything else (a pipe,
a terminal, `/dev/null`) is written to as it is, once, when the run has ended: it keeps all that it is given, and
several documents in a row are none.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from pathlib import Path

#: Descriptors that this process has open. Opened anew, a file behind one would be written from its start.
_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,9})")
#: Of the name of a file. File systems take 255 bytes, and a character may take 4.
_LONGEST_NAME = 40


def write(target: Path, text: str, *, last: bool) -> None:
    """Raises `OSError` if it cannot. `last`: the run has ended, and nothing else will be written."""
    descriptor = _own_descriptor(target)
    if descriptor is None and not _is_stream(target):
        _replace(Path(os.path.realpath(target)), text, durable=last)
    elif not last:
        _must_be_writable(target)
    elif descriptor is not None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        _put(os.dup(descriptor), text)
    else:
        # without a reader, opening a pipe would wait for one for ever
        opened = os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
        if hasattr(os, "set_blocking"):
            os.set_blocking(opened, True)
        _put(opened, text)


def _own_descriptor(target: Path) -> int | None:
    """Follows links one by one, because the last one leads from a descriptor to the file behind it."""
    name = os.path.abspath(target)
    for _ in range(40):  # as many as Linux follows
        found = _DESCRIPTOR.fullmatch(name)
        if found or name in _STANDARD:
            return int(found[1]) if found else _STANDARD[name]
        if not os.path.islink(name):
            break
        name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))
    return None


def _is_stream(target: Path) -> bool:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    return not stat.S_ISREG(mode)


def _must_be_writable(target: Path) -> None:
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))


def _new_file(final: Path) -> tuple[int, Path]:
    """Opens an unfinished file under a name that nobody can have prepared, not even as a link."""
    unfinished = final.with_name(f".{final.name[:_LONGEST_NAME]}.{secrets.token_hex(8)}")
    return os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), unfinished


def _replace(file: Path, text: str, durable: bool) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, unfinished = _new_file(file)
    try:
        if file.exists() and hasattr(os, "fchmod"):
            os.fchmod(descriptor, stat.S_IMODE(file.stat().st_mode))
        _put(descriptor, text, durable)
        try:
            unfinished.replace(file)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            _put(os.open(file, os.O_WRONLY | os.O_TRUNC), text, durable)  # a container has only this one file mounted
    finally:
        unfinished.unlink(missing_ok=True)


def _put(descriptor: int, text: str, durable: bool = False) -> None:
    """Writes all of it and closes. A network's disk tells only then that it is full."""
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as opened:
        opened.write(text)
        opened.flush()
        if durable:
            os.fsync(descriptor)
