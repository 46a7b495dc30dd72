"""The pytest run inside the process of a revision: collects the one test, and serves its training instead of judging
it."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import pytest

from ..engine.request import Request
from ..records.verdict import Verdict
from ..revisions.error_lines import first_line, last_line
from ..revisions.protocol import Message
from .items import check_of, test_of

#: The name by which `run_check` finds this plugin, and so serves instead of judging.
PLUGIN = "trainhealth-side"


class Sender(Protocol):
    def send(self, **answer: Any) -> None: ...


class Service(Protocol):
    """What does something with the training of the one test: the process of a revision, or of a rank."""

    @property
    def order(self) -> Message: ...

    @property
    def server(self) -> Sender: ...

    @property
    def given(self) -> bool: ...

    def give(self, subject: Any) -> None: ...


class ServePlugin:
    def __init__(self, service: Service) -> None:
        self._service, self._check = service, service.order["check"]
        self.collects = False
        self.complaint: Message = {}

    def pytest_collection(self) -> None:
        self.collects = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Adds the marker if the test has none: it may be new since the other revision."""
        marked = {mark.name for mark in metafunc.definition.iter_markers()}
        if self._check not in marked and "trainhealth" not in metafunc.fixturenames:
            metafunc.definition.add_marker(self._check)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        wanted = self._service.order["test"]
        items[:] = [item for item in items if test_of(item)[0] == wanted and check_of(item) in (None, self._check)]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def serve(self, request: Request, subject: Any) -> Verdict:
        """A test may call the fixture several times: serves only the call that is compared."""
        if (request.check, request.call) == (self._check, self._service.order["call"]):
            self._service.give(subject)
        return Verdict(request.check, request.name, "passed", "served another run")

    def _note(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if report.passed or self.complaint:
            return
        if isinstance(report.longrepr, tuple):  # file, line and reason of a skip
            self.complaint = {"skipped": report.longrepr[2].removeprefix("Skipped: ")}
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        # pytest reports a module that cannot be imported with its traceback, whose last line is the error
        message = last_line(report.longreprtext) if crash is None else first_line(crash.message)
        self.complaint = {"raised": message or "an error"}


class _Registers:
    def __init__(self, plugin: ServePlugin) -> None:
        self._plugin = plugin

    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self._plugin, PLUGIN)


def run(service: Service) -> None:
    plugin, order = ServePlugin(service), service.order
    code = pytest.main([*order["arguments"], order["target"]], plugins=[_Registers(plugin)])
    if service.given:
        return
    if plugin.complaint:
        service.server.send(**plugin.complaint)
    elif not plugin.collects:  # a conftest.py that cannot be imported, for example
        sys.stdout.flush()  # the client reads what it printed
        sys.stderr.flush()
        service.server.send(ended=int(code))
    else:
        service.server.send(missing=True)
