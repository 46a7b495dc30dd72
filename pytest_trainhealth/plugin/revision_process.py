"""What runs in the process of a revision: finds the training, then answers requests until one says to quit.

Imports only the standard library before the import path is set: anything else would come from the wrong folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..revisions.error_lines import of_error
from ..revisions.found_file import Unguarded, function_in
from ..revisions.import_paths import Folders
from ..revisions.protocol import Message, Server
from ..revisions.worktree import Worktree

if TYPE_CHECKING:
    from ..revisions.session import Served
    from .serve_plugin import Service as Serves


class Service:
    """Answers requests about one training."""

    def __init__(self, server: Server, order: Message) -> None:
        self.server, self.order = server, order
        self.given = False

    def give(self, subject: Any) -> None:
        from ..revisions.session import NoTraining, served

        order, self.given = self.order, True
        try:
            build = {name: order[name] for name in ("seed", "threads", "device", "promised")}
            with served(subject, **build) as training:
                folders = Folders(Path(order["top"]), Path(order["root"]))
                foreign = folders.foreign_modules(sys.modules, order["path"])
                self.server.send(ready=True, device=training.device, foreign_modules=foreign)
                for request in self.server.requests():
                    self.server.send(**self._answer(training, request))
        except NoTraining as why:
            self.server.send(unfit=str(why))
        except BaseException as error:  # pytest.skip() raises no Exception, and the client waits for an answer
            self.server.send(**of_error(error))
            if not isinstance(error, Exception):
                raise

    @staticmethod
    def _answer(training: Served, request: Message) -> Message:
        try:
            return training.answer(request)
        except Exception as error:  # the next request may still succeed
            return of_error(error)


def main() -> None:
    """The first line is the order: what to build, and where."""
    server = Server()
    order = next(server.requests())
    sys.path[:] = order["path"]
    os.chdir(order["folder"])
    try:
        serve(Service(server, order))
    except BaseException as error:  # a conftest.py that ends the process, for example
        if server.owes:
            server.send(**of_error(error))
        raise
    finally:
        # The client is gone, so nobody else removes it. Both processes do, because either may write its cache last.
        if server.deserted():
            Worktree.of(order["worktree"]).remove()


def serve(service: Serves) -> None:
    """Gives the service the test or the function that its order names."""
    order = service.order
    if order["function"] is None:
        from .serve_plugin import run

        run(service)
        return
    try:
        subject = function_in(Path(order["file"]), order["function"])
    except Unguarded as why:
        service.server.send(unfit=str(why))
        return
    if subject is None:
        service.server.send(missing=True)
    else:
        service.give(subject)
