"""A side's own pytest run: collects the one test, and serves where its check would be judged."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ..compare.error_lines import first_line, last_line
from ..compare.protocol import Message
from ..engine.request import Request
from ..records.verdict import Verdict
from .items import check_of, test_of
from .revision_process import Service

#: How `run_check` finds out that it is to serve rather than to judge.
PLUGIN = "trainhealth-side"


class ServePlugin:
    def __init__(self, service: Service) -> None:
        self._service, self._check = service, service.order["check"]
        self.collects = False
        self.complaint: Message = {}

    def pytest_collection(self) -> None:
        self.collects = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """The marker may be new: then the other revision's test has none, and gets it here."""
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
        """A test with the fixture may ask several times: the n-th is the one that is compared."""
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
        # a module that cannot be imported is told with its traceback, and the error comes last
        message = last_line(report.longreprtext) if crash is None else first_line(crash.message)
        self.complaint = {"raised": message or "an error"}


class _Registers:
    def __init__(self, side: ServePlugin) -> None:
        self._side = side

    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self._side, PLUGIN)


def run(service: Service) -> None:
    side, order = ServePlugin(service), service.order
    code = pytest.main([*order["arguments"], order["target"]], plugins=[_Registers(side)])
    if service.given:
        return
    if side.complaint:
        service.server.send(**side.complaint)
    elif not side.collects:  # a conftest.py that cannot be imported, for one
        sys.stdout.flush()  # what it printed is read by who asked
        sys.stderr.flush()
        service.server.send(ended=int(code))
    else:
        service.server.send(missing=True)
