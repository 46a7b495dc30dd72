"""The baseline of one request: found before the run, and written where that is asked for."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from shlex import quote

from .. import wording
from ..analysis.departures import followed
from ..engine.examination import Examination
from ..engine.request import Request
from ..records.baseline import Baseline, KeptBaseline
from ..records.trace import Trace
from ..records.verdict import Verdict
from .file import UnreadableBaseline, read, write
from .recorded_runs import NotRecorded, first_run, recorded

_NO_FILE = "it needs the file of a recorded run: baseline= names it"


def with_baseline(request: Request) -> Request:
    """With what was recorded, and with its seed: another one would be another run."""
    given = request.values.get("baseline")
    command = _command(request)
    if given is None:
        return _keeping(request, KeptBaseline("", command, why_not=_NO_FILE))
    path = Path(given)
    shown = _shown(path)
    try:
        baseline = read(path)
    except FileNotFoundError:
        return _keeping(request, KeptBaseline(shown, command, why_not=f"there is no {shown} yet. {command} records it"))
    except (OSError, UnreadableBaseline) as error:
        why = getattr(error, "strerror", None) or error
        return _keeping(request, KeptBaseline(shown, command, why_not=f"{shown}: {why}. {command} records it anew"))
    if request.test and baseline.test != _without_folders(request.test):
        why = f"{shown} is the baseline of {baseline.test}. {command} records one of this test"
        return _keeping(request, KeptBaseline(shown, command, why_not=why))
    kept = _keeping(request, KeptBaseline(shown, command, baseline))
    if request.values.get("update_baseline"):
        return kept
    return replace(kept, seed=baseline.seed, values={**kept.values, "steps": len(baseline.steps)})


def _keeping(request: Request, kept: KeptBaseline) -> Request:
    return replace(request, values={**request.values, "kept_baseline": kept})


def _command(request: Request) -> str:
    if not request.item:
        return "diagnose(..., checks='matches_baseline', baseline=..., update_baseline=True)"
    return f"pytest --trainhealth-update-baseline {quote(request.item)}"


def _shown(path: Path) -> str:
    """Relative, where that is shorter to read and the same for everybody."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # on another drive
        return path.name
    return path.name if relative.startswith("..") else Path(relative).as_posix()


def _without_folders(test: str) -> str:
    """Wherever pytest is started, and wherever the whole project is moved to."""
    file, separator, names = test.partition("::")
    return f"{file.replace(os.sep, '/').rpartition('/')[2]}{separator}{names}"


def updated(examination: Examination, request: Request) -> Verdict:
    """Records the training, unless what is in the file is still true to every digit. The verdict tells what changed."""
    check, path = request.check, request.values.get("baseline")
    kept: KeptBaseline = request.values["kept_baseline"]
    if path is None:
        return Verdict(check, request.name, "could not judge", kept.why_not)
    main = first_run(examination)
    steps = examination.check.max_steps(request.values)
    if kept.baseline is not None and _still_true(kept.baseline, main, request.seed, steps):
        return Verdict(check, request.name, "passed", notes=(f"{kept.file} is as it was",), steps=main.steps)
    try:
        baseline = recorded(examination, main, _without_folders(request.test) or request.name, request.seed, steps)
    except NotRecorded as why:
        return Verdict(check, request.name, "could not judge", f"nothing was recorded: {why}", steps=main.steps)
    write(Path(path), baseline)
    notes = _remarks(kept, main, baseline)
    return Verdict(check, request.name, "passed", notes=(*notes, *examination.program.remarks), steps=main.steps)


def _still_true(baseline: Baseline, main: Trace, seed: int, steps: int) -> bool:
    first = main.state.first_steps
    if first is None or baseline.seed != seed or len(baseline.steps) != min(steps, main.steps):
        return False
    if baseline.surroundings.others(first.surroundings) or main.not_read or not main.finite:
        return False
    compared = followed(baseline, first, main.losses[: len(baseline.steps)])
    return compared.departure is None and compared.other_draws_from is None and not compared.pairing.renamed


def _remarks(kept: KeptBaseline, main: Trace, baseline: Baseline) -> tuple[str, ...]:
    seeds = f"{wording.plural(baseline.seeds, 'seed')}"
    limits = "" if baseline.seeds > 1 else "; hand in a function that builds the training to have other seeds tried"
    if kept.baseline is None:
        return (f"{kept.file} was written: {wording.plural(len(baseline.steps), 'step')}, {seeds}{limits}",)
    first = main.state.first_steps
    assert first is not None
    compared = followed(kept.baseline, first, main.losses[: len(kept.baseline.steps)])
    what = kept.baseline.surroundings.others(first.surroundings)
    if compared.departure is not None:
        found = compared.departure
        layer = f"{found.layer}, " if found.layer else ""
        what.append(f"first difference: {found.what} of {layer}step {found.step}: {found.words}")
    elif compared.other_draws_from is not None:
        what.append("other random numbers")
    what += [f"{len(compared.pairing.renamed)} renamed"] if compared.pairing.renamed else []
    return (f"{kept.file} was written anew: {'; '.join(what) or 'seed, steps or layout'}{limits}",)
