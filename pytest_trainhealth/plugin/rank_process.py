"""What runs in the process of a rank: finds the test as pytest does, and trains what it gives.

Imports only the standard library before the import path is set: anything else would come from the wrong folder.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ranks.link import Link
from ..revisions.error_lines import of_error
from ..revisions.protocol import Message

if TYPE_CHECKING:
    from ..ranks.process_group import ProcessGroup

#: Lines of a traceback that the parent shows. By judgement: the innermost 6 of the user's own say where it was.
_SHOWN = 6


class RankService:
    """Receives the training of the one test; what `ServePlugin` needs of a service."""

    def __init__(self, link: Link, order: Message, group: ProcessGroup) -> None:
        self.server, self.order, self._group = link, order, group
        self.given = False

    def give(self, subject: Any) -> None:
        from ..ranks.steps import RankRun

        self.given = True
        run = RankRun(self.server, self.order, self._group)
        try:
            run.give(subject)
        except BaseException as error:  # pytest.skip() raises no Exception, and the parent waits for an answer
            found = {"without_gradient": run.observer.without_gradient} if run.observer.count else {}
            self.server.send(**_described(error), **found)
            self.server.wait()  # a rank that goes would make others raise before the parent has looked
            if not isinstance(error, Exception):
                raise


def main() -> None:
    """The first line is the order: which test, and what to do."""
    link = Link()
    order = link.wait()
    assert order is not None
    sys.path[:] = order["path"]
    os.chdir(order["folder"])
    from ..ranks.process_group import ProcessGroup
    from ..ranks.stacks import write_on_signal
    from .revision_process import serve

    write_on_signal(Path(order["stack"]))
    try:
        serve(RankService(link, order, ProcessGroup(Path(order["meeting"]))))
    except BaseException as error:  # a conftest.py that ends the process, for example
        link.send(**_described(error))
        raise


def _described(error: BaseException) -> Message:
    """With the user's lines of its traceback, innermost last."""
    from ..observe.source.authorship import is_library_file
    from ..observe.source.places import place_of

    traceback.print_exception(error)
    steps = traceback.extract_tb(error.__traceback__)
    own = [place_of(step.filename, step.lineno) for step in steps if step.lineno and not is_library_file(step.filename)]
    shown = [f"  {place}   {place.code}".rstrip() for place in own[-_SHOWN:]]
    found: Message = of_error(error)
    if "raised" in found:
        last = own[-1] if own else None
        found |= {"place": None if last is None else (last.file, last.line, last.code), "traceback": shown}
    return found
