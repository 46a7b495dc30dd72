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

from .folders import Folders
from .talking import Answerer, Message
from .worktree import remove

if TYPE_CHECKING:
    from .serving import Served


class Service:
    """Answers about one training."""

    def __init__(self, answerer: Answerer, order: Message) -> None:
        self.answerer, self.order = answerer, order
        self.given = False

    def give(self, subject: Any) -> None:
        from .serving import NoTraining, served

        order, self.given = self.order, True
        try:
            with served(subject, seed=order["seed"], threads=order["threads"], device=order["device"]) as training:
                folders = Folders(Path(order["top"]), Path(order["side"]))
                self.answerer.send(ready=True, strangers=folders.strangers(sys.modules, order["path"]))
                for request in self.answerer.requests():
                    self.answerer.send(**self._answer(training, request))
        except NoTraining as why:
            self.answerer.send(unfit=str(why))
        except Exception as error:
            self.answerer.send(raised=_in_one_line(error))

    @staticmethod
    def _answer(training: Served, request: Message) -> Message:
        try:
            return training.answer(request)
        except Exception as error:  # the next question may be answered all the same
            return {"raised": _in_one_line(error)}


def main() -> None:
    """The order comes as the first line."""
    answerer = Answerer()
    order = next(answerer.requests())
    sys.path[:] = order["path"]
    os.chdir(order["folder"])
    try:
        _serve(Service(answerer, order))
    finally:
        if order["side"] != order["top"] and answerer.deserted():
            remove(Path(order["top"]), Path(order["side"]))  # nobody else is left to do it


def _serve(service: Service) -> None:
    order = service.order
    if order["function"] is None:
        from .in_pytest import run

        run(service)
        return
    try:
        subject = _function(Path(order["file"]), order["function"])
    except Exception as error:
        service.answerer.send(raised=_in_one_line(error))
    else:
        if subject is None:
            service.answerer.send(missing=True)
        else:
            service.give(subject)


def _function(file: Path, name: str) -> Any:
    """Of a file that need not be importable; None where there is no such file or function."""
    if not file.is_file():
        return None
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[file.stem] = importlib.util.module_from_spec(spec)  # where pickle looks for classes
    spec.loader.exec_module(module)
    return getattr(module, name, None)


def _in_one_line(error: Exception) -> str:
    first = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
