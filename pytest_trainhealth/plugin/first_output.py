"""What a test has written, under "Captured stdout call" of its failure: once, as it would have without this plugin.

A check runs the test, or its training, many times to find the cause, and each run prints its epochs again.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

#: Whose output is read and written back. With `no` nothing is captured, and `tee-sys` has shown everything already.
_CAPTURING = ("fd", "sys")


@contextmanager
def first_output_kept(config: pytest.Config, body: Callable[[], object]) -> Iterator[Callable[[], object]]:
    """Yields the body to call instead: what is captured after its first run is forgotten, unless something raises."""
    # not public, so it may be gone one day: then all the output is shown, as it was
    read = getattr(config.pluginmanager.get_plugin("capturemanager"), "read_global_capture", None)
    if read is None or config.getoption("capture") not in _CAPTURING:
        yield body
        return
    runs, kept = 0, ("", "")

    @functools.wraps(body, assigned=())
    def counted() -> Any:
        nonlocal runs, kept
        __tracebackhide__ = True
        runs += 1
        if runs == 2:
            out, err = read()
            kept = (out, err)
        return body()

    yield counted
    if runs > 1:
        read()
        for stream, text in zip((sys.stdout, sys.stderr), kept, strict=True):
            stream.write(text)
