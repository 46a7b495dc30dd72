"""Whether pytest-benchmark can measure in this run, and if not, why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def fixture(config: pytest.Config, request: Callable[[], Any] | None) -> tuple[Any, str | None]:
    """The `benchmark` fixture, or the reason why nothing can be measured with it.

    It is requested only when nothing speaks against it: requested and then unused, it warns.
    """
    if request is None:
        return None, "it is measured with the benchmark fixture, which only a test function can ask for"
    reason = why_not(config)
    if reason is not None:
        return None, reason
    benchmark = request()
    if not hasattr(benchmark, "stats"):  # so with pytest-codspeed, which takes the fixture's name
        return None, f"the benchmark fixture of {type(benchmark).__module__.partition('.')[0]} keeps no statistics"
    if not getattr(benchmark, "enabled", True):
        return None, "pytest-benchmark is disabled in this run"
    # It measures once for a test. What is asked for after that is timed without it, and is in the verdict alone.
    return (benchmark if getattr(benchmark, "_mode", None) is None else None), None


def why_not(config: pytest.Config) -> str | None:
    if hasattr(config, "workerinput"):
        return "pytest-benchmark does not measure under xdist: run it without -n"
    if not any(config.pluginmanager.has_plugin(name) for name in ("benchmark", "pytest_benchmark.plugin", "codspeed")):
        return "it is measured with pytest-benchmark, which is not installed or is switched off"
    enabled = config.getoption("benchmark_enable", default=False)  # over a --benchmark-disable in the configuration
    for option in ("benchmark_skip", *(() if enabled else ("benchmark_disable",))):
        if config.getoption(option, default=False):
            return f"pytest-benchmark measures nothing with --{option.replace('_', '-')}"
    return None
