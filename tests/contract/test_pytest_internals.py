"""What the plugin relies on although pytest does not promise it: told here when it goes, not by users."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def few_plugins(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis alone would take longer than all of these."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest -p no:benchmark")


class Reports:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seen.append(report)


def test_a_failure_has_a_crash_whose_message_can_be_set(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\ndef test_it(): pytest.fail('first\\nsecond', pytrace=False)")
    reports = Reports()
    pytester.inline_run(plugins=[reports])
    crash = next(report.longrepr.reprcrash for report in reports.seen if report.failed)
    crash.message, crash.path, crash.lineno = "headline", "test.py", 3
    assert str(crash) == "test.py:3: headline"


def test_a_skip_is_a_tuple_of_path_line_and_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\ndef test_it(): pytest.skip('no GPU')")
    reports = Reports()
    pytester.inline_run(plugins=[reports])
    path, line, reason = next(report.longrepr for report in reports.seen if report.skipped)
    assert path.endswith(".py")
    assert line == 2
    assert reason == "Skipped: no GPU"


def test_items_of_a_function_share_their_fixture_names(pytester: pytest.Pytester) -> None:
    """Hence the copy that an item of keeps_throughput gets; should they no longer share, it does no harm."""
    items = pytester.getitems("import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test_it(n): pass")
    first, second = (item for item in items if isinstance(item, pytest.Function))
    first.fixturenames = [*first.fixturenames, "more"]
    assert "more" in first.fixturenames
    assert "more" not in second.fixturenames


def test_where_paths_come_from_is_known(pytester: pytest.Pytester) -> None:
    assert pytester.parseconfig().args_source is not pytest.Config.ArgsSource.ARGS
    assert pytester.parseconfig(str(pytester.path)).args_source is pytest.Config.ArgsSource.ARGS
