"""Which tests execute which lines of the rules, and how long each takes: one run of the tests under coverage.py."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import coverage
import pytest


class Contexts:
    """Tells coverage which test runs, and notes how long it took."""

    def __init__(self, lines: coverage.Coverage) -> None:
        self.lines = lines
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.lines.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self) -> None:
        self.lines.switch_context("")


def measure(sources: list[str], tests: list[str], target: Path) -> None:
    """Run ``tests`` here and write lines and durations to ``target``."""
    lines = coverage.Coverage(data_file=None, include=[f"{source}/*" for source in sources], timid=False)
    contexts = Contexts(lines)
    lines.start()
    pytest.main([*tests, "-q", "-n", "0", "-p", "no:cacheprovider"], plugins=[contexts])
    lines.stop()
    data = lines.get_data()
    reach = {
        str(Path(path).relative_to(Path.cwd())): {
            str(line): sorted(set(tests) - {""} - contexts.failed)
            for line, tests in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }
    target.write_text(json.dumps({"reach": reach, "seconds": contexts.seconds, "failed": sorted(contexts.failed)}))


if __name__ == "__main__":
    sources, tests, target = sys.argv[1:4]
    measure(sources.split(","), tests.split(","), Path(target))
