"""`--trainhealth-replay FILE`: a run of the very test that the file is from; and what every other run keeps for it."""

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
    """The request with the place where its reproducer goes, or with what it replays."""
    here, seed = config.invocation_params.dir, config.stash[OPTIONS]["seed"]
    if _REPLAYED in config.stash:
        return replace(request, replays=config.stash[_REPLAYED])
    return replace(request, reproducers=Reproducers(config.rootpath / FOLDER, seed, seen_from=here))


def prepare(config: pytest.Config) -> Options:
    """The settings of a run that replays. Raises `WrongSetting` in one line."""
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
    # what an ini file asks for as a rule: here it is one test, and none but that
    config.option.keyword = config.option.markexpr = ""
    if hasattr(config.option, "dist"):  # xdist: a worker would keep to itself that the test is gone
        config.option.dist, config.option.tx = "no", []
    return Options(values, {**options.given, "seed": "from the file"})


def _test_file(config: pytest.Config, saved: Reproducer, path: str) -> Path:
    """Node ids are told from the root folder, which is where the file lies, unless it was moved."""
    folders = (config.rootpath, config.invocation_params.dir, (config.invocation_params.dir / saved.file).parents[1])
    for folder in folders:
        if (folder / path).is_file():
            return (folder / path).resolve()
    raise WrongSetting(f"{_FLAG}: {saved.file} is from {saved.test}, and {path} no longer exists")


def keep_the_test(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of all items that were collected. Raises `pytest.UsageError` where it is not among them."""
    if _REPLAYED not in config.stash:
        return
    saved = config.stash[_REPLAYED]
    wanted = _inside(saved.test) if "::" in saved.test else f"{_spec(saved)}[{saved.check}]"
    items[:] = [item for item in items if _inside(node_id(item)) == wanted]
    if not items and not session.testsfailed:  # a file that cannot be imported is an error of its own
        raise pytest.UsageError(f"{_FLAG}: {saved.file} is from {saved.test or wanted}, which no longer exists")


def describe_outcomes(config: pytest.Config, results: SessionResults) -> Iterator[str]:
    """For the summary: a failure that does not show any more is good news that no dot can tell."""
    if _REPLAYED in config.stash:
        for checked in results.checked:
            if checked.verdict["outcome"] == "passed" and checked.verdict["reason"]:
                yield f"{_FLAG}: {checked.verdict['reason']}"


def _spec(saved: Reproducer) -> str:
    """What --trainhealth-training was given, or would have to be given for a factory that was diagnosed."""
    return saved.test.removesuffix(f"[{saved.check}]") or saved.factory


def _inside(node_id: str) -> str:
    """Without the file, whose path depends on the root folder."""
    return node_id.partition("::")[2] or node_id
