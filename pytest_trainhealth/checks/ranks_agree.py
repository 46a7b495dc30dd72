"""ranks_agree: the processes of a distributed training stay in step, and do what one process would do

What it does
    Starts the test in two processes (`ranks=`), with the environment that torchrun gives them: RANK, WORLD_SIZE,
    MASTER_ADDR, MASTER_PORT. There is a process group already, of gloo on a CPU and of the accelerator's own kind
    where there is one for every rank; an `init_process_group` of your own replaces it. Each process gets a seed of
    its own, as in a job that nobody seeds, builds the training as the test does, and takes 5 steps on its own data. A
    third process takes the first step with the samples of all ranks. Nothing is exchanged but what your code
    exchanges.

When it fails
    A parameter is not the same on all ranks when an update begins; a buffer that checkpoints hold is not, when the
    model is called; every rank sees the same samples; the gradient is the sum over the ranks where one process would
    have the mean; a rank raises, is killed, or waits for something that does not come (`timeout=`, 30 seconds without
    progress). Where ranks have different numbers of batches, the end of an epoch is tried, too.

What is not an alarm
    Statistics of BatchNorm, which every rank has of its own; parameters that are averaged after the step or inside of
    it; parts of parameters (`fully_shard`), whose gradient is compared with that of one process; a rank that sees
    other samples than a sampler would give it. Where one process has another gradient for good reason (BatchNorm,
    dropout, a loss that compares samples or weighs tokens), a note says so. Tensor parallelism is not judged, and
    neither is a training that never asks for its rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import wording
from ..analysis.rank_differences import same_samples, updates_in_common
from ..analysis.rank_faults import RankFault, averaged, brief, find_fault, uneven, unlike_one_process
from ..records.judgement import NO_CONTROLS, CouldNotJudge, FailedRun, Judgement, Passed
from ..records.ranks import RankRecord, RanksRecord
from ..records.symptoms import OUT_OF_STEP
from ..records.trace import Trace
from ..records.verdict import Symptom

SIGNALS: tuple[str, ...] = ()
ONE_BATCH = False
BLAMES_RATES = False
IN_RANKS = True
#: By judgement: what ranks do not exchange shows at the second update, and 5 leave room for what happens now and then.
STEPS = 5
#: A parameter may be wrong from the second update on. By judgement: fewer than 2 show nothing.
_FEWEST = 2


def max_steps(settings: Mapping[str, Any]) -> int:
    return max(int(settings.get("steps") or STEPS), _FEWEST)


def judge(trace: Trace, settings: Mapping[str, Any], controls: Mapping[str, Trace] = NO_CONTROLS) -> Judgement:
    record = trace.ranks
    if record is None:
        return CouldNotJudge("no rank was started")
    fault = find_fault(record) if not _different(record) else None
    reason = "" if fault is not None and fault.rank is not None else _unfit(record)
    if reason:
        return CouldNotJudge(reason)
    if fault is not None:
        words = summary(fault, record)
        return Symptom(words, OUT_OF_STEP, _measured(fault), 0.0, "critical", _headline(fault, record))
    return _passed(record)


def _different(record: RanksRecord) -> bool:
    """Ranks hold different parts of a model, so that nothing is to be the same."""
    known = [rank.shapes for rank in record.ranks if rank.shapes]
    return any(shapes != known[0] for shapes in known[1:])


def _unfit(record: RanksRecord) -> str:
    unfit = next((rank.unfit for rank in record.ranks if rank.unfit), "")
    if unfit:
        return unfit
    if not any(rank.distributed for rank in record.ranks):
        return "nothing in it asks for its rank, or exchanges anything: this is no distributed training"
    if _different(record):
        return "ranks hold different parameters, as in pipeline or tensor parallelism: there is nothing to compare"
    common = updates_in_common(record)
    ended = any(rank.end not in ("done", "stopped") for rank in record.ranks)
    if common < _FEWEST and not ended:
        return f"only {wording.plural(common, 'update')} in each rank: {_FEWEST} are needed"
    return ""


def _passed(record: RanksRecord) -> Judgement:
    seen = same_samples(record)
    figures = {"ranks": float(record.world), "updates": float(updates_in_common(record))}
    if seen is None:
        return CouldNotJudge(
            "whether ranks see samples of their own cannot be told: every update has the same inputs on all of them, "
            "or none that are known. Hand in a loader, or batches that differ by rank",
            figures,
        )
    taken = {rank.taken for rank in record.ranks}
    if len(taken) > 1 and all(rank.end == "done" for rank in record.ranks) and not uneven(record):
        return CouldNotJudge(
            f"ranks took different numbers of updates: {wording.names(sorted(map(str, taken)))}", figures
        )
    mean = averaged(record)
    if record.joint is None:
        if mean is None:
            return CouldNotJudge(f"the gradient could not be compared with anything: {record.why_no_joint}", figures)
        return Passed((f"not compared with one process: {record.why_no_joint or 'it gave no answer'}",), figures)
    unlike = unlike_one_process(record)
    if unlike is None:
        return Passed(figures=figures)
    if mean is None:
        return CouldNotJudge(f"the gradient is not that of one process: {_reason(record, *unlike)}", figures)
    return Passed(
        (f"the gradient is the mean of the ranks', not that of one process: {_reason(record, *unlike)}",), figures
    )


def _reason(record: RanksRecord, factor: float, rest: float) -> str:
    """Why one process with all samples may have another gradient, as far as it is known."""
    first = record.ranks[0]
    if not rest or rest <= 0:
        return f"it is {wording.short(factor)} times as large, as where a loss is a sum over samples"
    if first.batch_norms:
        layers = wording.names(first.batch_norms)
        return f"BatchNorm uses each rank's own samples ({layers}); SyncBatchNorm uses all"
    if first.random_layers:
        return f"dropout draws other numbers there ({wording.names(first.random_layers)})"
    return "the loss is no mean over samples, weighs them differently in each rank, or draws random numbers"


def _measured(fault: RankFault) -> float:
    return fault.differences[0].share if fault.differences else 1.0


def summary(fault: RankFault, record: RanksRecord) -> str:
    if fault.rank is not None:
        return _of_rank(fault, fault.rank, record)
    if fault.kind == "samples":
        who = "both" if record.world == 2 else f"all {record.world}"
        return f"{who} ranks see the same samples in {updates_in_common(record)} updates (expected their own)"
    if fault.kind == "summed":
        return (
            f"the gradient is {record.world} times that of one process with the samples of all ranks "
            "(expected the same)"
        )
    first = fault.differences[0]
    what = "buffer" if fault.kind == "buffers" else "parameter"
    others = f", and {wording.plural(len(fault.differences) - 1, what)} more" if len(fault.differences) > 1 else ""
    return (
        f"{first.name} differs between rank 0 and rank {first.rank} by {wording.share(min(first.share, 9.99))} of its "
        f"size {_since(first.update)}{others} (expected the same)"
    )


def _since(update: int) -> str:
    return "before the first update" if not update else f"after {wording.plural(update, 'update')}"


def _of_rank(fault: RankFault, rank: RankRecord, record: RanksRecord) -> str:
    after = f"after {wording.plural(rank.taken, 'update')}"
    if fault.kind == "gone":
        return f"rank {rank.rank} was gone {after}: {rank.error}"
    if fault.kind == "raised":
        who = "every rank" if fault.everywhere else f"rank {rank.rank}"
        return f"{who} raises {after}: {brief(rank.error)}"
    waiting = [each for each in record.ranks if each.end == "waits"]
    where = "; ".join(f"rank {each.rank} in {each.waits_in or 'an unknown place'}" for each in waiting)
    ended = [each for each in record.ranks if each.end == "done"]
    done = "".join(f"; rank {each.rank} has ended after {wording.plural(each.taken, 'update')}" for each in ended)
    return f"no progress for {wording.short(record.patience)} s, and nobody computes: {where}{done}"


def _headline(fault: RankFault, record: RanksRecord) -> str:
    return summary(fault, record).partition(" (expected")[0]


def result(trace: Trace, failed_run: FailedRun | None = None) -> str:
    if trace.ranks is None:
        return "no rank was started"
    fault = find_fault(trace.ranks)
    if fault is None:
        return f"the same on {trace.ranks.world} ranks for {updates_in_common(trace.ranks)} updates"
    words = {"samples": "the same samples", "summed": "summed gradients", "start": "different at the start"}
    return words.get(fault.kind, "still apart" if fault.rank is None else fault.kind)
