"""Loads a file that nobody vouches for: plain values and tensors, or one line that says what is wrong with it.

`torch.load(weights_only=True)` runs no code that a file names, but may take all memory: of a compressed archive, of a
tensor that repeats one value a billion times, of a list of lists. So limits come first, on what the file says of
itself, and nothing but what our own files consist of is loaded at all.
"""

from __future__ import annotations

import io
import os
import pickletools
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .step_state import LARGEST

#: Bytes. Besides its tensors a file holds names, numbers and the archive's own notes, some 300 bytes for each tensor.
_LARGEST_FILE = LARGEST + 64 * 2**20
#: Bytes of everything but the tensors, of which a state has some 12,000. By judgement: read in 10 seconds.
LARGEST_PICKLE = 8 * 2**20
#: Tensors. By judgement: models have up to 50,000 parameters, with a gradient and two values of Adam's for each.
_MOST_TENSORS = 300_000
#: Values, and how deep they are nested. By judgement: the first as many as the pickle may hold letters for.
_MOST_VALUES, _DEEPEST = 4_000_000, 50
#: All that `torch.save` writes for plain values and tensors.
_OPERATIONS = {
    *("PROTO", "STOP", "MARK", "REDUCE", "GLOBAL", "BINPERSID", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET"),
    *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPEND", "APPENDS"),
    *("EMPTY_DICT", "SETITEM", "SETITEMS", "NONE", "NEWTRUE", "NEWFALSE"),
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE"),
}
_TENSORS = re.compile(r"torch._utils _rebuild_tensor_v[23]|torch(\.storage)? \w+Storage|collections OrderedDict")


class Untrusted(Exception):
    """The file is not read any further; the message says why, in one line."""


def load(path: Path) -> Any:
    """Dicts, lists, tuples, tensors, numbers and strings. Raises `Untrusted`."""
    content = _bytes(path)
    pickled = _pickle_of(content)
    _only_known_operations(pickled)
    try:
        loaded = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:
        raise Untrusted(_one_line(error)) from None
    _Walk().over(loaded, 0)
    return loaded


def _bytes(path: Path) -> bytes:
    """All of the file, if it is one and not too large; whatever happens to it meanwhile."""
    try:
        # opening a pipe would wait for somebody who writes to it
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Untrusted("it is no regular file")
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise Untrusted(error.strerror or str(error)) from None
    if len(content) > _LARGEST_FILE:
        raise Untrusted(f"it is larger than {_LARGEST_FILE / 2**20:,.0f} MB")
    return content


def _pickle_of(content: bytes) -> bytes:
    """The part of the archive that is not tensors. Nothing is unpacked: whatever is compressed may be any size."""
    if content.count(b"PK\x01\x02") > _MOST_TENSORS:
        raise Untrusted(f"it holds more than {_MOST_TENSORS:,} tensors")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if any(entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 for entry in entries):
                raise Untrusted("it is compressed or encrypted")
            if sum(max(entry.file_size, entry.compress_size) for entry in entries) > len(content):
                raise Untrusted("it says that it is larger than it is")
            if len({entry.filename for entry in entries}) < len(entries):
                raise Untrusted("it holds two parts of the same name")
            (pickled,) = [entry for entry in entries if entry.filename.rpartition("/")[2] == "data.pkl"]
            if pickled.file_size > LARGEST_PICKLE:
                raise Untrusted(f"its values without tensors take more than {LARGEST_PICKLE / 2**20:,.0f} MB")
            return archive.read(pickled)
    except Untrusted:
        raise
    except Exception as error:  # zipfile has many for damaged archives
        raise Untrusted(f"no file of torch.save ({_one_line(error)})") from None


def _only_known_operations(pickled: bytes) -> None:
    try:
        for operation, argument, _ in pickletools.genops(pickled):
            if operation.name not in _OPERATIONS:
                raise Untrusted(f"it holds more than plain values and tensors ({operation.name})")
            name = str(argument)
            if operation.name == "GLOBAL" and not (_TENSORS.fullmatch(name) or _is_dtype(name)):
                raise Untrusted(f"it holds more than plain values and tensors ({name.replace(' ', '.')})")
    except ValueError as error:
        raise Untrusted(_one_line(error)) from None


def _is_dtype(name: str) -> bool:
    module, _, dtype = name.partition(" ")
    return module == "torch" and isinstance(getattr(torch, dtype, None), torch.dtype)


class _Walk:
    """Counts while it walks: a list that holds itself, or another ten times, has no end or a very late one."""

    def __init__(self) -> None:
        self._values = self._bytes = 0

    def over(self, value: Any, depth: int) -> None:
        self._values += 1
        if self._values > _MOST_VALUES or depth > _DEEPEST:
            raise Untrusted("it holds more values than any training has")
        if type(value) is dict:
            for key, each in value.items():
                self.over(key, depth + 1)
                self.over(each, depth + 1)
        elif type(value) in (list, tuple):
            for each in value:
                self.over(each, depth + 1)
        elif type(value) is Tensor:
            self._tensor(value)
        elif value is not None and type(value) not in (bool, int, float, str):
            raise Untrusted(f"it holds a {type(value).__name__}")

    def _tensor(self, tensor: Tensor) -> None:
        """By its shape, not by what it stores: a tensor may show one stored value any number of times."""
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
            raise Untrusted("it holds a tensor without plain values")
        self._bytes += tensor.numel() * tensor.element_size()
        if self._bytes > LARGEST:
            raise Untrusted(f"its tensors take more than {LARGEST / 2**20:,.0f} MB")


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split()):.200}"
