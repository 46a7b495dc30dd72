"""Parameters that no gradient reaches, and those among them that rightly get none."""

from __future__ import annotations

from ..records.trace import Trace
from ..records.wiring import GraphEnd, ParameterRecord

#: Layers. By judgement: of two, one that runs twice may be shared on purpose.
_FEWEST_LAYERS = 3


def without_gradient(trace: Trace) -> list[ParameterRecord]:
    """The user's own that no gradient other than 0 ever reached, and that are meant to learn."""
    silent = [p for p in trace.trainable if _is_silent(p) and (p.made_by == "user" or left_aside(p, trace))]
    if len(silent) == len(trace.trainable):
        return [p for p in silent if p.never_reached]  # all exactly 0: the loss may simply be at its minimum
    found = [p for p in silent if not _beside_others(p, trace) and (p.held_by or not _kept_out(p, trace))]
    return [p for p in found if not (_has_no_use(p, trace) or _is_last_link(p, trace) or _is_feature(p, trace))]


def left_aside(parameter: ParameterRecord, trace: Trace) -> bool:
    """A package's module that the user's code put into the model, and nothing of which ever ran or learnt."""
    path = parameter.put_in
    if not path:
        return False
    ran = any(m.calls for m in trace.wiring.modules.values() if m.path == path or m.path.startswith(f"{path}."))
    return not ran and not any(p.has_gradient for p in trace.trainable if p.name.startswith(f"{path}."))


def _has_no_use(parameter: ParameterRecord, trace: Trace) -> bool:
    """Rightly without a gradient: inert as it is called, or an offset that derivatives of the model do not depend on.

    A layer of torch's uses its bias whenever it runs. If its weight learns and its bias does not, then what is used of
    the layer is how its output changes, not the output.
    """
    if parameter.inert:
        return not parameter.never_reached
    if parameter.is_weight or not parameter.never_reached:
        return False
    if trace.wiring.through_derivatives:
        return True
    record = trace.wiring.modules.get(parameter.module)
    ran_by_torch = record is not None and record.calls > 0 and parameter.class_by == "torch"
    return ran_by_torch and any(p.has_gradient for p in trace.trainable if p.module == parameter.module)


def _is_feature(parameter: ParameterRecord, trace: Trace) -> bool:
    record = trace.wiring.modules.get(parameter.module)
    return record is not None and record.branch


def _is_last_link(parameter: ParameterRecord, trace: Trace) -> bool:
    """A part of the last block of a stack that hands something on, where there is no block left to read it.

    The blocks are alike, so the part is used as it should be: it learns in every other block, and the rest of this
    block learns too. (Of a block whose output is thrown away nothing learns.)
    """
    parts = parameter.name.split(".")
    for index, part in enumerate(
        parts[:-2] if parameter.never_reached else ()
    ):  # a part of a block is a module of its own
        number = _numbered(part)[1]
        others = {} if number is None else _same_part_of_others(index, parts, trace)
        if number is None or not others or min(others) < number < max(others) or not all(others.values()):
            continue
        block = ".".join(parts[: index + 1]) + "."
        if any(p.has_gradient for p in trace.trainable if p.name.startswith(block)):
            return True
    return False


def _same_part_of_others(index: int, parts: list[str], trace: Trace) -> dict[int, bool]:
    """Whether it learns, in the other blocks of the stack, by their numbers."""
    found: dict[int, bool] = {}
    for other in trace.trainable:
        theirs = other.name.split(".")
        if len(theirs) != len(parts) or theirs[index] == parts[index]:
            continue
        stem, number = _numbered(theirs[index])
        alike = theirs[:index] == parts[:index] and theirs[index + 1 :] == parts[index + 1 :]
        if alike and number is not None and stem == _numbered(parts[index])[0]:
            found[number] = other.has_gradient
    return found


def _numbered(part: str) -> tuple[str, int | None]:
    """`block3` is number 3 of the blocks, and `3` number 3 of its list."""
    stem = part.rstrip("0123456789")
    return stem, int(part[len(stem) :]) if len(stem) < len(part) else None


def _is_silent(parameter: ParameterRecord) -> bool:
    """Moved without a gradient: by hand. Moved with one of exactly 0: by weight decay, which is no learning.

    A gradient of exactly 0 counts only for weights: the last bias of a Wasserstein critic cancels out by design. A
    plain tensor that no optimizer holds may be an input, or made anew for each step.
    """
    if not parameter.gradients or parameter.has_gradient or (parameter.plain_tensor and not parameter.held_by):
        return False
    return not parameter.moved if parameter.never_reached else parameter.is_weight


def did_not_run(parameter: ParameterRecord, trace: Trace) -> bool:
    record = trace.wiring.modules.get(parameter.module)
    return record is not None and record.calls == 0


def thrown_away(parameter: ParameterRecord, trace: Trace) -> bool:
    """It ran with a graph that ends nowhere and does not lead to the loss: nothing uses what was computed with it."""
    record = trace.wiring.modules.get(parameter.module)
    if parameter.in_graph is not False or record is None or not record.calls or not record.grad_enabled:
        return False
    siblings = any(p.has_gradient for p in trace.trainable if p.module == parameter.module)
    return not parameter.outside_model and not siblings and not graph_ends_of(parameter, trace)


def holder_is_used(parameter: ParameterRecord, trace: Trace) -> bool:
    """Other parts of the module that holds it learn, so that module's output is used: it is only this that is not."""
    record = trace.wiring.modules.get(parameter.module)
    if parameter.outside_model or record is None or not record.calls:
        return False
    around = f"{parameter.module}." if parameter.module else ""
    inside = [p for p in trace.trainable if p.model == parameter.model and f"{p.module}.".startswith(around)]
    return any(p.has_gradient for p in inside)


def graph_ends_of(parameter: ParameterRecord, trace: Trace) -> list[GraphEnd]:
    return [end for end in trace.wiring.graph_ends if parameter.name in end.parameters]


def _kept_out(parameter: ParameterRecord, trace: Trace) -> bool:
    """A target network or teacher: run under no_grad on purpose, or not at all, and given to no optimizer."""
    record = trace.wiring.modules.get(parameter.module)
    return record is None or record.calls == 0 or not record.grad_enabled


def _beside_others(parameter: ParameterRecord, trace: Trace) -> bool:
    """An expert or a dropped layer: it did not run, but others like it (`experts.3`, `experts.5`) did."""
    if not did_not_run(parameter, trace):
        return False
    parts = parameter.name.split(".")
    for index, part in enumerate(parts):
        alike = [other for other in trace.trainable if part.isdigit() and _differs_only_at(index, parts, other)]
        ran = [other for other in alike if other.has_gradient]
        if ran:
            return not _one_in_the_place_of_all(ran, len({id(each) for each in alike} | {id(parameter)}), trace)
    return False


def _one_in_the_place_of_all(ran: list[ParameterRecord], number: int, trace: Trace) -> bool:
    """A loop over the layers that takes the same one every time: it runs as often in a step as there are layers."""
    if len(ran) != 1 or number < _FEWEST_LAYERS:
        return False
    calls = {path: record.calls for path, record in trace.wiring.modules.items() if record.calls}
    return calls.get(ran[0].module, 0) == number * min(calls.values(), default=0)


def _differs_only_at(index: int, parts: list[str], other: ParameterRecord) -> bool:
    theirs = other.name.split(".")
    return (
        len(theirs) == len(parts)
        and theirs[index].isdigit()
        and theirs[:index] == parts[:index]
        and theirs[index + 1 :] == parts[index + 1 :]
    )
