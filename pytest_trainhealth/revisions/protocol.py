"""Requests to the process of a revision and its answers: one JSON object a line, and nothing the user's code prints."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

Message = dict[str, Any]


class Silence(Exception):
    """No answer within the time given."""


class Ended(Exception):
    """The other end is gone."""


class Client:
    """The end that asks. A thread reads, because not every system can wait for a pipe with a time limit."""

    def __init__(self, requests: IO[str], answers: IO[str]) -> None:
        self._requests = requests
        self._answers: queue.Queue[Message | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(answers,), daemon=True)
        self._reader.start()

    def _read(self, answers: IO[str]) -> None:
        with answers:
            for line in answers:
                with suppress(ValueError):  # printed before `Server` took the stream, by a sitecustomize for example
                    self._answers.put(json.loads(line))
        self._answers.put(None)

    def send(self, **request: Any) -> None:
        try:
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()
        except (BrokenPipeError, ValueError, OSError):
            raise Ended from None

    def answer(self, seconds: float) -> Message:
        try:
            found = self._answers.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            raise Silence from None
        if found is None:
            raise Ended
        return found

    def close(self) -> None:
        """Call this after the process has ended: only then does the reader reach the end of its stream."""
        with suppress(OSError):
            self._requests.close()
        self._reader.join(timeout=5)


class Server:
    """The end that answers. Takes over standard input and output: user code then reads nothing and prints to stderr."""

    def __init__(self) -> None:
        self._requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self.dismissed = False
        #: A request came that has no answer yet.
        self.owes = False
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115

    def requests(self) -> Iterator[Message]:
        """Yields requests until one says to quit, or the client is gone."""
        while not self.dismissed and (line := self._requests.readline()):
            request = json.loads(line)
            self.dismissed = request.get("ask") == "quit"
            if not self.dismissed:
                self.owes = True
                yield request

    def deserted(self) -> bool:
        """Waits for the end. True if the client is gone without saying quit, because it was killed for example."""
        for _ in self.requests():
            pass
        return not self.dismissed

    def send(self, **answer: Any) -> None:
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()
        self.owes = False
