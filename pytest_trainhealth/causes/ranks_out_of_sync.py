"""ranks-out-of-sync: the processes of a distributed training do not do the same, or wait for one another in vain

What happens
    Every process holds a copy of the model, and all copies have to take the same steps. Where gradients are not
    averaged, or copies begin with different weights, each process trains a model of its own and the checkpoint of
    rank 0 holds one of them. Where every process gets the same samples, all of them do the work of one. Where one
    comes to a collective and another does not, the job hangs until somebody looks.

How severe it is
    Critical: each process trains a model of its own, or all of them wait for ever.

How it is recognised
    The test runs in several processes. Parameters are compared when each update begins, inputs when the model is
    called, and the gradient with that of one process with all samples. A rank that raises or is killed is named with
    its traceback; if nobody computes any more, so is the line at which each of them waits. Re-runs average the
    gradients, begin with the weights of rank 0, or give each rank batches of its own.

How to fix it
    Wrap the model in `DistributedDataParallel`, which copies the weights of rank 0 and averages gradients, and call
    the wrapped model. Give the loader a `DistributedSampler`, which also makes all shards as long as the longest.
    Call every collective on every rank, outside of `if rank == 0`.

What not to do
    A longer timeout, or another barrier: the rank that is missing does not come.

How to prevent it
    Build the model in the same way on every rank, wrap it before the optimizer is made, hand each rank its sampler, and
    keep `ranks_agree` on the factory.

When this is wrong
    Ranks that are meant to differ for many steps (local SGD with a long period), or that share their samples because
    each holds a part of the model. A loop that ends shards of different lengths by itself (`Join`): let it be
    watched, not returned as a `Training`.
"""

from __future__ import annotations

from .. import wording
from ..analysis.rank_differences import updates_in_common
from ..analysis.rank_faults import Kind, RankFault, brief, find_fault, is_unused_parameter, uneven
from ..records.intervention import Cure
from ..records.ranks import RankRecord, RanksRecord
from ..records.symptoms import OUT_OF_STEP
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import RANKS

GROUP = RANKS
ORDER = 2
EXPLAINS = (OUT_OF_STEP,)

_DDP = Fix(
    "wrap the model, and call what you get:",
    ("model = torch.nn.parallel.DistributedDataParallel(model)",),
)
_FIXES: dict[Kind, Fix] = {
    "start": Fix(
        "let every rank begin with the weights of rank 0, as DistributedDataParallel does:",
        ("for tensor in model.state_dict().values():", "    torch.distributed.broadcast(tensor, src=0)"),
    ),
    "not averaged": _DDP,
    "drift": Fix("let all ranks change parameters in the same way: what differs by rank must not reach them"),
    "buffers": Fix("exchange what changes the buffer, or leave DDP's broadcast_buffers on"),
    "samples": Fix(
        "give each rank its own part of the data:",
        ("sampler = torch.utils.data.DistributedSampler(dataset)", "loader = DataLoader(dataset, sampler=sampler)"),
    ),
    "summed": Fix(
        "divide by the number of ranks:",
        ("torch.distributed.all_reduce(p.grad)", "p.grad /= torch.distributed.get_world_size()"),
    ),
}
_UNEVEN = Fix("make all shards equally long: DistributedSampler does, and so does dropping the rest")
_UNUSED = Fix(
    "use the parameters in the loss, freeze them, or say so:",
    ("DistributedDataParallel(model, find_unused_parameters=True)",),
)
_WHY: dict[Kind, str] = {
    "start": "models were made from different random numbers, and nobody copied the weights of one to the others",
    "not averaged": "every optimizer got what its own samples had given: nobody averaged the gradients",
    "drift": "something that differs by rank changes them",
    "buffers": "each rank changes its own, and no forward pass began with the same",
    "samples": "the data are not divided among the ranks: they all do the work of one",
    "summed": "gradients were added up over the ranks, and not divided by their number",
    "gone": "its process is gone, and the others wait for it",
    "raised": "it raised on its own, and the others wait for it",
    "waits": "one rank came to an exchange that another never comes to",
}
_NOT: dict[str, str] = {"waits": "a longer timeout: the rank that is missing does not come"}


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    record = trace.ranks
    fault = None if record is None else find_fault(record)
    if record is None or fault is None or (fault.everywhere and not _is_about_ranks(fault)):
        return None
    return Suspicion(
        statement=_statement(fault, record),
        evidence=_evidence(fault, record),
        why=_why(fault, record),
        places=tuple(rank.place for rank in record.ranks if rank.place is not None and rank.end != "done"),
        fix=_fix(fault, record),
        not_this=_NOT.get(fault.kind, ""),
        cures=_cures(fault),
    )


def _is_about_ranks(fault: RankFault) -> bool:
    """An error that all ranks raise at the same line, but none would raise alone."""
    return fault.rank is not None and is_unused_parameter(fault.rank)


def _statement(fault: RankFault, record: RanksRecord) -> str:
    rank = fault.rank
    if rank is not None:
        return _of_rank(fault, rank, record)
    if fault.kind == "samples":
        return f"{_all(record.world)} ranks see the same samples"
    if fault.kind == "summed":
        return f"gradients are summed over {record.world} ranks, not averaged"
    first, names = fault.differences[0], _one_of([each.name for each in fault.differences])
    verb = "differs" if len(fault.differences) == 1 else "differ"
    return f"{names} {verb} between ranks 0 and {first.rank} from update {first.update} on"


def _one_of(names: list[str]) -> str:
    """One line has room for one."""
    return names[0] if len(names) == 1 else wording.names(names, most=1)


def _all(world: int) -> str:
    return "both" if world == 2 else f"all {world}"


def _of_rank(fault: RankFault, rank: RankRecord, record: RanksRecord) -> str:
    if is_unused_parameter(rank):
        names = wording.names(rank.without_gradient) or "a parameter"
        return f"DDP waits for gradients of {names}, which the loss does not use"
    if fault.kind == "gone":
        return f"rank {rank.rank} is gone after update {rank.taken}: {rank.error}"
    if fault.kind == "raised":
        return f"rank {rank.rank} raises {rank.error.partition(':')[0]} after update {rank.taken}"
    if uneven(record):
        lengths = wording.names([str(each) for each in uneven(record)], most=8)
        return f"ranks have {lengths} batches, and wait for those that have ended"
    done = [each for each in record.ranks if each.end == "done"]
    if done:
        return f"rank {rank.rank} waits in {rank.waits_in or 'an exchange'} for rank {done[0].rank}, which has ended"
    return f"ranks wait for rank {rank.rank}, which is in {rank.waits_in or 'an unknown place'}"


def _evidence(fault: RankFault, record: RanksRecord) -> tuple[Evidence, ...]:
    if fault.rank is not None:
        return tuple(
            Evidence(f"rank {each.rank}: {_end(each)}", float(each.taken), each.place) for each in record.ranks
        )
    if fault.differences:
        return tuple(
            Evidence(f"{each.name}: rank {each.rank} differs from rank 0 by {wording.share(min(each.share, 9.99))} "
                     f"of its size at update {each.update}", each.share)
            for each in fault.differences[:3]
        )  # fmt: skip
    common = updates_in_common(record)
    if fault.kind == "samples":
        return (Evidence(f"the model got the same inputs on all ranks in each of {common} updates", float(common)),)
    return (Evidence(f"the gradient is {record.world} times that of one process", float(record.world)),)


def _end(rank: RankRecord) -> str:
    words = {
        "done": "ended",
        "raised": f"raised {brief(rank.error)}",
        "gone": rank.error,
        "waits": f"waits in {rank.waits_in or 'an unknown place'}",
        "stopped": "was running",
    }
    return f"{words[rank.end]}, after {wording.plural(rank.taken, 'update')}"


def _why(fault: RankFault, record: RanksRecord) -> str:
    if fault.rank is not None and is_unused_parameter(fault.rank):
        return "every parameter that DDP knows has to get a gradient in every backward pass"
    if fault.kind == "waits" and uneven(record):
        return "in the last steps of an epoch, some ranks have samples left and others do not"
    return _WHY[fault.kind]


def _fix(fault: RankFault, record: RanksRecord) -> Fix | None:
    if fault.rank is None:
        return _FIXES[fault.kind]
    if is_unused_parameter(fault.rank):
        return _UNUSED
    if fault.kind == "waits":
        return _UNEVEN if uneven(record) else Fix("let every rank come to every exchange, outside of `if rank == 0`")
    return None


def _cures(fault: RankFault) -> tuple[Cure, ...]:
    if fault.kind == "not averaged":
        return (Cure("averaged_gradients", "gradients averaged over the ranks", {"summed": False}),)
    if fault.kind == "summed":
        return (Cure("averaged_gradients", "gradients divided by the number of ranks", {"summed": True}),)
    if fault.kind == "start":
        return (Cure("same_start", "weights of rank 0 on every rank"),)
    if fault.kind == "samples":
        return (Cure("own_batches", "batches of its own for each rank"),)
    return ()
