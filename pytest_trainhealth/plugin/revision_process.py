"""What runs in the process of a side: finds the training, then answers until it is told to quit.

Nothing but the standard library is imported before the import path is set: whatever else was loaded by then would
come from the wrong folder.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compare.error_lines import of_error
from ..compare.import_paths import Folders
from ..compare.protocol import Message, Server
from ..compare.worktree import Worktree

if TYPE_CHECKING:
    from ..compare.session import Served


class Service:
    """Answers about one training."""

    def __init__(self, server: Server, order: Message) -> None:
        self.server, self.order = server, order
        self.given = False

    def give(self, subject: Any) -> None:
        from ..compare.session import NoTraining, served

        order, self.given = self.order, True
        try:
            build = {name: order[name] for name in ("seed", "threads", "device", "promised")}
            with served(subject, **build) as training:
                folders = Folders(Path(order["top"]), Path(order["side"]))
                strangers = folders.strangers(sys.modules, order["path"])
                self.server.send(ready=True, device=training.device, strangers=strangers)
                for request in self.server.requests():
                    self.server.send(**self._answer(training, request))
        except NoTraining as why:
            self.server.send(unfit=str(why))
        except BaseException as error:  # pytest.skip() is none of Exception's, and somebody waits for an answer
            self.server.send(**of_error(error))
            if not isinstance(error, Exception):
                raise

    @staticmethod
    def _answer(training: Served, request: Message) -> Message:
        try:
            return training.answer(request)
        except Exception as error:  # the next question may be answered all the same
            return of_error(error)


def main() -> None:
    """The order comes as the first line."""
    server = Server()
    order = next(server.requests())
    sys.path[:] = order["path"]
    os.chdir(order["folder"])
    try:
        _serve(Service(server, order))
    except BaseException as error:  # a conftest.py that ends the process, for one
        if server.owes:
            server.send(**of_error(error))
        raise
    finally:
        # Nobody else is left to do it. Both sides do: the last thing that either writes is its pytest's cache.
        if server.deserted():
            Worktree.of(order["worktree"]).remove()


def _serve(service: Service) -> None:
    order = service.order
    if order["function"] is None:
        from .serve_plugin import run

        run(service)
        return
    subject = _function(Path(order["file"]), order["function"])
    if subject is None:
        service.server.send(missing=True)
    else:
        service.give(subject)


def _function(file: Path, name: str) -> Any:
    """Of a file that need not be importable; None where there is no such file or function."""
    if not file.is_file():
        return None
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)  # where pickle looks for classes
    spec.loader.exec_module(module)
    return getattr(module, name, None)
