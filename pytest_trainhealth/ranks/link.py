"""A rank's end of the line to the process that started it. One whose parent is gone ends itself."""

from __future__ import annotations

import os
import queue
import signal
import threading
from typing import Any

from ..revisions.protocol import Message, Server


class Link:
    """A thread reads, because the rank itself may wait for another rank forever."""

    def __init__(self) -> None:
        self._server = Server()
        self._orders: queue.Queue[Message | None] = queue.Queue()
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for order in self._server.requests():
            self._orders.put(order)
        if self._server.dismissed:
            self._orders.put(None)
        elif hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)  # workers of a DataLoader, too
        else:
            os._exit(1)

    def send(self, **message: Any) -> None:
        with self._lock:
            self._server.send(**message)

    def wait(self) -> Message | None:
        """The next order. None if the parent needs this rank no more."""
        return self._orders.get()
