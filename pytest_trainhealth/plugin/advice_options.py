"""What `--trainhealth-advise` asks for: how long, where what was measured is kept, and who is told of progress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..engine.request import AdviceRequest
from .stash import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable


def advice_options(config: pytest.Config) -> AdviceRequest:
    options = config.stash[OPTIONS]
    return AdviceRequest(options["advise_budget"], options["advise_steps"], _kept_in(config), _progress(config))


def _kept_in(config: pytest.Config) -> Path | None:
    """pytest's own cache by default: it is left out of version control, and `--cache-clear` measures anew."""
    named = config.stash[OPTIONS]["advise_cache"]
    if named is not None:
        return config.invocation_params.dir / Path(named).expanduser()
    cache: Any = getattr(config, "cache", None)  # None with -p no:cacheprovider
    return None if cache is None else Path(cache.mkdir("trainhealth")) / "advice.jsonl"


def _progress(config: pytest.Config) -> Callable[[str], None] | None:
    """On a terminal that somebody looks at. Workers of xdist have none, and a log needs no line for each change."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or reporter.verbosity < 0 or not (reporter.isatty or reporter.verbosity > 0):
        return None
    write: Callable[[str], None] = reporter.write_line
    return write
