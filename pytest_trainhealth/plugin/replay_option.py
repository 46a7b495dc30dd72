"""`--trainhealth-replay FILE`: runs the one test that the file is from. Other runs get a folder for such files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import pytest

from ..engine.request import Reproducers, Request
from ..records.harmless import harmless
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
    """The settings of a run that replays. Raises `WrongSetting`, with a message of one line.

    The file may be from anybody. It names a test, and only one that this run would collect anyway answers to it; it
    names a factory, and only one that the command line names too is imported.
    """
    from ..reproducers import reproducer  # imports torch, which this run needs in any case

    config.option.trainhealth = True
    options = read(config)
    file = options["replay"]
    try:
        saved = config.stash[_REPLAYED] = reproducer.read(config.invocation_params.dir / file, shown_as=file)
        _factory_was_given(saved, options["training"])
    except WrongSetting as error:
        raise WrongSetting(f"{_FLAG}: {error}") from None
    if "::" in saved.test:
        config.pluginmanager.register(_OneFile(Path(saved.test.partition("::")[0]).name), "trainhealth-replay")
    # an ini file may select tests: this run has exactly one
    config.option.keyword = config.option.markexpr = ""
    if hasattr(config.option, "dist"):  # xdist: a worker would not report that the test is gone
        config.option.dist, config.option.tx = "no", []
    values = {**options.values, "checks": (saved.check,), "seed": saved.run_seed}
    return Options(values, {**options.given, "seed": "from the file"})


def refuse_foreign_settings(config: pytest.Config, file: str) -> None:
    """Raises `pytest.UsageError` if pytest may have taken its settings from beside the file, because of the file.

    Before it knows our options, pytest takes the file of `--trainhealth-replay FILE` for tests, and looks for settings
    where they are. An unpacked artifact would choose what is imported: plugins that its settings name with `-p` even
    before we can refuse. (With an equals sign, pytest does not.) So the other form never works: nobody gets used to it.
    """
    if _FLAG in config.invocation_params.args:
        why = "without an equals sign, pytest would look for its settings beside the file"
        raise pytest.UsageError(harmless(f"{_FLAG}: {why}. Write {_FLAG}={file}"))
    known = config.known_args_namespace
    ini, here = config.inipath, config.invocation_params.dir
    if ini is None or known.inifilename or known.rootdir:
        return
    given = [here, *((here / str(path).partition("::")[0]) for path in known.file_or_dir)]
    if ini.parent in (here / file).resolve().parents and not any(_lies_in(path, ini.parent) for path in given):
        why = f"{ini} lies beside {file}, and pytest took it for the settings of this run"
        raise pytest.UsageError(harmless(f"{_FLAG}: {why}. Write {_FLAG}={file}, with an equals sign"))


def _lies_in(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _factory_was_given(saved: Reproducer, given: str | None) -> None:
    """Raises `WrongSetting` unless the file is from a test, or from the factory on the command line."""
    if "::" in saved.test:
        if given is not None:
            raise WrongSetting(harmless(f"{saved.file} is from {saved.test}, and not from {given}"))
        return
    spec = _spec(saved)
    if not spec:
        in_python = f"In Python: pytest_trainhealth.replay({saved.file!r}, factory)"
        raise WrongSetting(harmless(f"{saved.file} is not from a test. {in_python}"))
    if given is None:
        why = f"{saved.file} says that it is from {spec}, and nothing is imported because a file says so"
        raise WrongSetting(harmless(f"{why}. If that is yours, add --trainhealth-training={quote(spec)}"))
    if given != spec:
        raise WrongSetting(harmless(f"{saved.file} is from {spec}, and not from {given}"))


class _OneFile:
    """Passes over all other files, so that a replay takes no longer than it has to."""

    def __init__(self, name: str) -> None:
        self._name = name

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        return True if collection_path.name != self._name and not collection_path.is_dir() else None


def keep_the_test(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Drops all other collected items. Raises `pytest.UsageError` if the test is not among them."""
    if _REPLAYED not in config.stash:
        return
    saved = config.stash[_REPLAYED]
    wanted = saved.test if "::" in saved.test else f"{_spec(saved)}[{saved.check}]"
    answering = [item for item in items if node_id(item) == wanted]
    answering = answering or [item for item in items if _same_seen_from_elsewhere(node_id(item), wanted)]
    items[:] = answering
    if not items and not session.testsfailed:  # a file that cannot be imported is an error of its own
        raise pytest.UsageError(harmless(f"{_FLAG}: {saved.file} is from {wanted}, which this run does not collect"))
    if len(items) > 1:
        found = " and ".join(node_id(item) for item in items[:2])
        raise pytest.UsageError(harmless(f"{_FLAG}: {saved.file} is from {wanted}, and that may be {found}: name one"))


def describe_outcomes(config: pytest.Config, results: SessionResults) -> Iterator[str]:
    """For the summary: a failure that no longer shows is good news, and the dot of a passed test does not say so."""
    if _REPLAYED in config.stash:
        for checked in results.checked:
            if checked.verdict["outcome"] == "passed" and checked.verdict["reason"]:
                yield f"{_FLAG}: {checked.verdict['reason']}"


def _spec(saved: Reproducer) -> str:
    """The value of --trainhealth-training, or what it would have to be for a factory given to `diagnose()`."""
    return saved.test.removesuffix(f"[{saved.check}]") or saved.factory


def _same_seen_from_elsewhere(one: str, other: str) -> bool:
    """Node ids begin in the root folder, which may be another one today: one path then ends like the other."""
    (path, _, inside), (other_path, _, other_inside) = one.partition("::"), other.partition("::")
    parts, other_parts = Path(path).parts, Path(other_path).parts
    shorter = min(len(parts), len(other_parts))
    return bool(shorter and inside) and inside == other_inside and parts[-shorter:] == other_parts[-shorter:]
