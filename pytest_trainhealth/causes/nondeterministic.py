"""nondeterministic: something other than the seeds decides how a run goes

What happens
    A seed is taken from the clock, a generator is made without one, an order depends on Python's hash or on which
    thread is first. Each run is another one: a result cannot be reproduced, a comparison of two settings compares
    luck, and a failure that was seen once cannot be looked at again.

How severe it is
    High: no result can be repeated, and no change can be judged.

How it is recognised
    Two runs from the same start, with Python, numpy and torch seeded alike, part. Re-runs hold one thing still at a
    time (clock and process id, the system's random numbers, Python's hash of text, the batches, torch's kernels, the
    number of threads, the order in which the threads of a pool are done): where two runs are the same with it, it
    decides.

How to fix it
    One seed for everything, and each generator made from it: `np.random.default_rng(seed)`,
    `torch.Generator().manual_seed(seed)`. Sort what comes out of sets and folders. Take results of threads in the order
    in which you have asked for them, not with `as_completed()`. `zlib.crc32(text.encode())` instead
    of `hash(text)`.

What not to do
    Averaging over more runs: it hides that no single one can be repeated.

How to prevent it
    Seed in one function that is called first, hand every random choice a generator of its own, sort what comes from
    file systems and sets, and keep `is_reproducible` on the training.

When this is wrong
    Randomness that is meant, as in a search for settings. Do not ask for `is_reproducible` then.
"""

from __future__ import annotations

from ..analysis.same_runs import Difference, first_difference
from ..records.intervention import Cure
from ..records.state import EntropyRecord
from ..records.symptoms import UNEQUAL
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import STATE

GROUP = STATE
ORDER = 0
EXPLAINS = (UNEQUAL,)

_AGAIN = "once more"
_IN_ORDER = Fix(
    "take the results in the order in which you have asked for them: adding floats in another order gives another sum:",
    ("for future in futures: total += future.result()",),
)
_STATEMENTS = {
    "start": "weights do not come from the seed",
    "batch": "batches do not come from the seed",
    "draws": "random numbers do not come from the seed",
    "loss": "the step gives another loss for the same batch, weights and seeds",
    "values": "the step leaves other values for the same batch, weights and seeds",
    "length": "the number of steps does not come from the seed",
}


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    again = trace.compared_with.get(_AGAIN)
    found = None if again is None else first_difference(trace, again)
    if again is None or found is None:
        return None
    seen = again.state.entropy
    where = [Evidence(_use(each), None, each.place) for each in seen]
    return Suspicion(
        statement=_STATEMENTS[found.what],
        evidence=(Evidence(_fact(found), found.measured), *where[:2]),
        why=_why(found),
        places=tuple(each.place for each in seen[:1] if each.place is not None),
        fix=Fix("take every seed from one number that you set"),
        not_this="averaging over more runs: it hides that none of them can be repeated",
        cures=_cures(found, seen, trace.state.threads),
    )


def _use(each: EntropyRecord) -> str:
    if each.source == "threads":
        return f"{each.call} lets threads work, and no seed decides which one is done first"
    return f"{each.call} is called, which no seed decides"


def _fact(found: Difference) -> str:
    if found.what == "start":
        return f"{found.words} in a second build with the same seeds"
    same = {
        "batch": "weights and random numbers were the same before",
        "loss": "batch, weights and random numbers were the same before",
        "draws": "batch and loss are the same",
        "values": "all batches and losses are the same",
        "length": "all steps up to there are the same",
    }[found.what]
    return f"step {found.step}: {found.words}; {same}"


def _why(found: Difference) -> str:
    return (
        "the two runs were seeded alike, and something else decides"
        if found.what != "start"
        else ("the factory was called twice with the same seeds, and something else decides")
    )


def _cures(found: Difference, seen: list[EntropyRecord], threads: int) -> tuple[Cure, ...]:
    """Those first whose source was seen in use: the others can only have been called out of sight."""
    used = {each.source for each in seen}
    held = [
        Cure("held_entropy", "clock held still", {"source": "clock"}, _seeded("time")),
        Cure("held_entropy", "system's random numbers held still", {"source": "system"}, _seeded("system")),
        Cure("held_entropy", "hash of text held still", {"source": "hash"}, _seeded("hash")),
    ]
    held = sorted((cure for cure in held if cure.options["source"] in used), key=lambda cure: cure.label) + [
        cure for cure in held if cure.options["source"] == "system" and "system" not in used
    ]
    if "threads" in used:
        held.insert(0, Cure("tasks_in_order", "threads done in a fixed order", {}, _IN_ORDER))
    if found.what == "start":
        return tuple(held)
    order = Fix("make the order of the data depend on your seed alone: a seeded generator, sorted names")
    kernels = Fix("let torch compute in a fixed order:", ("torch.use_deterministic_algorithms(True)",))
    alone = Fix(
        "let one thread compute, or keep threads from adding to the same values:", ("torch.set_num_threads(1)",)
    )
    return (
        *held,
        *([Cure("same_batches", "the same batches", {"kept": []}, order)] if found.what == "batch" else []),
        Cure("deterministic_kernels", "kernels with a fixed order", {}, kernels),
        *([Cure("threads", "one thread", {"count": 1}, alone)] if threads > 1 else []),
    )


def _seeded(source: str) -> Fix:
    if source == "time":
        return Fix("take the seed from a setting, not from the clock or the process")
    if source == "hash":
        return Fix("use a hash that is the same in every process:", ("seed = zlib.crc32(name.encode())",))
    return Fix("hand a seed to every generator:", ("rng = np.random.default_rng(seed)",))
