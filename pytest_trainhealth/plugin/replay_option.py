"""`--trainhealth-replay FILE`: runs the one test that the file is from. Other runs get a folder for such files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..engine.request import Reproducers, Request
from ..settings import WrongSetting
from .items import node_id
from .options import Options, read
from .stash import OPTIONS

if TYPE_CHECKING:
    from ..reproducers.reproducer import Reproducer
    from .session_results import SessionResults

FOLDER = ".trainhealth"
_FLAG = "--trainhealth-replay"
_REPLAYED: pytest.StashKey[Reproducer] = pytest.StashKey()


def with_reproducers(request: Request, config: pytest.Config) -> Request:
    """The request with the folder for its reproducer, or with the reproducer that it replays."""
    current_folder, seed = config.invocation_params.dir, config.stash[OPTIONS]["seed"]
    if _REPLAYED in config.stash:
        return replace(request, replays=config.stash[_REPLAYED])
    return replace(request, reproducers=Reproducers(config.rootpath / FOLDER, seed, seen_from=current_folder))


def prepare(config: pytest.Config) -> Options:
    """The settings of a run that replays. Raises `WrongSetting`, with a message of one line."""
    from ..reproducers import reproducer  # imports torch, which this run needs in any case

    config.option.trainhealth = True
    options = read(config)
    file = options["replay"]
    try:
        saved = config.stash[_REPLAYED] = reproducer.read(config.invocation_params.dir / file, shown_as=file)
    except WrongSetting as error:
        raise WrongSetting(f"{_FLAG}: {error}") from None
    values = {**options.values, "checks": (saved.check,), "seed": saved.run_seed}
    if "::" in saved.test:
        path = saved.test.partition("::")[0]
        config.args = [str(_test_file(config, saved, path))]
    elif _spec(saved):
        values["training"], config.args = _spec(saved), []
    else:
        in_python = f"In Python: pytest_trainhealth.replay({file!r}, factory)"
        raise WrongSetting(f"{_FLAG}: {file} is not from a test. {in_python}")
    # an ini file may select tests: this run has exactly one
    config.option.keyword = config.option.markexpr = ""
    if hasattr(config.option, "dist"):  # xdist: a worker would not report that the test is gone
        config.option.dist, config.option.tx = "no", []
    return Options(values, {**options.given, "seed": "from the file"})


def _test_file(config: pytest.Config, saved: Reproducer, path: str) -> Path:
    """Node ids are relative to the root folder, in which the reproducer lies too unless it was moved."""
    folders = (config.rootpath, config.invocation_params.dir, (config.invocation_params.dir / saved.file).parents[1])
    for folder in folders:
        if (folder / path).is_file():
            return (folder / path).resolve()
    raise WrongSetting(f"{_FLAG}: {saved.file} is from {saved.test}, and {path} no longer exists")


def keep_the_test(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drops all other collected items. Raises `pytest.UsageError` if the test is not among them."""
    if _REPLAYED not in config.stash:
        return
    saved = config.stash[_REPLAYED]
    wanted = _inside(saved.test) if "::" in saved.test else f"{_spec(saved)}[{saved.check}]"
    items[:] = [item for item in items if _inside(node_id(item)) == wanted]
    if not items and not session.testsfailed:  # a file that cannot be imported is an error of its own
        raise pytest.UsageError(f"{_FLAG}: {saved.file} is from {saved.test or wanted}, which no longer exists")


def describe_outcomes(config: pytest.Config, results: SessionResults) -> Iterator[str]:
    """For the summary: a failure that no longer shows is good news, and the dot of a passed test does not say so."""
    if _REPLAYED in config.stash:
        for checked in results.checked:
            if checked.verdict["outcome"] == "passed" and checked.verdict["reason"]:
                yield f"{_FLAG}: {checked.verdict['reason']}"


def _spec(saved: Reproducer) -> str:
    """The value of --trainhealth-training, or what it would have to be for a factory given to `diagnose()`."""
    return saved.test.removesuffix(f"[{saved.check}]") or saved.factory


def _inside(node_id: str) -> str:
    """The node id without the file, whose path depends on the root folder."""
    return node_id.partition("::")[2] or node_id
