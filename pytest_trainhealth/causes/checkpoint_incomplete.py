"""checkpoint-incomplete: a checkpoint does not hold all that the next steps depend on

What happens
    The weights are saved, and something else is not: the optimizer's moments, how far a schedule has come, the scale of
    a loss scaler, the random numbers, a buffer with `persistent=False`, a counter or an averaged copy in a plain
    attribute, the slow weights of an optimizer whose `state_dict()` is that of the one it wraps. A job that is
    restarted loads the checkpoint and goes on, with a bump in its loss or a rate that begins anew, and nobody knows
    that it is another run.

How severe it is
    High: every resumed run is another run, and nobody sees where it changed.

How it is recognised
    After `load(path)`, in a training that was built anew, parts of the state are other than they were at `save(path)`,
    and the steps that follow differ from those of a run that nothing interrupted. Re-runs carry one part over at a
    time: where the two are the same with it, it is what is missing.

How to fix it
    Save and load the `state_dict()` of everything that has one: model, optimizers, schedulers, scaler. Make counters
    and averages buffers (`register_buffer`), and save variables of the loop and random numbers beside them.

What not to do
    A warm-up after each restart: it hides the bump, and costs what was learnt.

How to prevent it
    One function that saves and one that loads, beside each other, with everything that has a `state_dict()` and the
    random number generators; `resumes_exactly` compares both against a run without an interruption.

When this is wrong
    A restart that is meant to begin anew in part: fine-tuning with a fresh optimizer, another schedule.
"""

from __future__ import annotations

from .. import wording
from ..records.intervention import Cure
from ..records.state import LostRecord
from ..records.symptoms import UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import STATE

GROUP = STATE
ORDER = 1
EXPLAINS = (UNEQUAL,)

_RESUMED = "resumed"
_WORDS = {
    "weights": "weights",
    "buffers": "buffers",
    "attributes": "attributes of modules",
    "optimizer": "the optimizer's state",
    "scheduler": "the scheduler's state",
    "scaler": "the loss scaler's state",
    "left out": "{names}",
    "random numbers": "the state of the random numbers",
    "loop": "variables of the loop",
    "data": "the position in the data",
}
_FIXES = {
    "weights": Fix("save and load the whole model:", ("model.load_state_dict(checkpoint['model'])",)),
    "buffers": Fix("save the buffers with the model: register_buffer() without persistent=False"),
    "attributes": Fix(
        "make it a buffer, so that state_dict() holds it:", ("self.register_buffer('steps', torch.zeros(()))",)
    ),
    "optimizer": Fix("save and load the optimizer:", ("optimizer.load_state_dict(checkpoint['optimizer'])",)),
    "scheduler": Fix("save and load the scheduler:", ("scheduler.load_state_dict(checkpoint['scheduler'])",)),
    "scaler": Fix("save and load the loss scaler:", ("scaler.load_state_dict(checkpoint['scaler'])",)),
    "left out": Fix(
        "let state_dict() hold it too, and load_state_dict() bring it back:",
        ("return {'inner': self.inner.state_dict(), 'averages': self.averages, 'steps': self.steps}",),
    ),
    "random numbers": Fix(
        "save and load the random numbers, of numpy and Python too if they are drawn from:",
        ("torch.set_rng_state(checkpoint['random'])",),
    ),
    "loop": Fix("save and load it beside the model"),
    "data": Fix("save and load the position in the data:", ("loader.load_state_dict(checkpoint['loader'])",)),
}
#: Most re-runs for one part each. By judgement: more parts than 4 are shown by one that carries all of them over.
_MOST = 4


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    resumed = trace.compared_with.get(_RESUMED)
    if resumed is None:
        return _failing(trace.state.failure) if trace.state.failure else None
    if resumed.state.failure:
        return _failing(resumed.state.failure)
    lost = resumed.state.lost
    if not lost:
        return None
    own = bool(trace.state.checkpoint)
    groups = _by_kind(lost) if own else {each.name: [each] for each in lost}
    what = [_words(kind, some) for kind, some in groups.items()] if own else list(groups)
    return Suspicion(
        statement=f"the checkpoint does not bring {wording.names(what)} back",
        evidence=tuple(
            Evidence(_fact(kind if own else "attributes", some), float(len(some))) for kind, some in groups.items()
        ),
        why="after load(path), in a training that was built anew, it begins anew"
        if own
        else "state_dict() does not hold it",
        fix=_FIXES[next(iter(groups)) if own else "attributes"],
        not_this="a warm-up after each restart: it hides the bump, and costs what was learnt",
        cures=_cures(groups, own=own),
    )


def _failing(failure: str) -> Suspicion:
    return Suspicion(
        statement="the checkpoint cannot be loaded" if failure.startswith("load") else "the checkpoint cannot be saved",
        evidence=(Evidence(failure),),
        why="what was saved does not fit a training that was built anew",
        fix=Fix("save all that load needs, and load it into a training that was just built"),
        not_this="strict=False: what does not fit is then missing without a word",
    )


def _by_kind(lost: list[LostRecord]) -> dict[str, list[LostRecord]]:
    """What steps depend on most comes first."""
    order = list(_WORDS)
    groups: dict[str, list[LostRecord]] = {}
    for each in sorted(lost, key=lambda each: order.index(each.kind)):
        groups.setdefault(each.kind, []).append(each)
    return groups


def _words(kind: str, some: list[LostRecord]) -> str:
    """What a `state_dict()` leaves out has no other name than its own."""
    return _WORDS[kind].format(names=wording.names([each.name for each in some]))


def _fact(kind: str, some: list[LostRecord]) -> str:
    names = wording.names([f"{each.name} ({each.words})" if each.words else each.name for each in some])
    if kind == "random numbers":
        return f"after loading, the random numbers of {names} go on from elsewhere"
    prefix = {"optimizer": "the state of ", "scheduler": "the state of ", "scaler": "the state of "}.get(kind, "")
    return f"after loading, {prefix}{names} {wording.is_or_are(1 if prefix else len(some))} not as when saving"


def _cures(groups: dict[str, list[LostRecord]], *, own: bool) -> tuple[Cure, ...]:
    one_each = [
        Cure("carried_over", f"{_words(name, some) if own else name} carried over", {"names": [name]},
             _FIXES[name if own else "attributes"])
        for name, some in list(groups.items())[:_MOST]
    ]  # fmt: skip
    if len(groups) == 1:
        return tuple(one_each)
    return (*one_each, Cure("carried_over", "all of these carried over", {"names": list(groups)}))
