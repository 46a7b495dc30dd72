"""Made-up traces of steps that raise, for `test_answers.py`: what was seen of the error, and what its cause says."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_trainhealth.records.errors import (
    BadIndex,
    ErrorContext,
    FailedCall,
    GivenTensor,
    HeldTensor,
    RunningModule,
    Write,
)
from pytest_trainhealth.records.numbers import Crash
from pytest_trainhealth.records.trace import Trace

from .gallery import HERE, THERE, Case, made

SHAPES = "The size of tensor a (3) must match the size of tensor b (5) at non-singleton dimension 1"
INPUT = GivenTensor("input", (8, 16), name="batch[0]")


def cases_of_errors() -> Iterator[Case]:
    for name, sentence, trace in (*_tables(), *_shapes(), *_types(), *_graphs(), *_rest()):
        yield name, sentence, trace, "crash"


_Raised = Iterator[tuple[str, str, Trace]]


def raised(message: str, seen: ErrorContext | None = None, kind: str = "RuntimeError", step: int = 3) -> Trace:
    trace = made()
    trace.crash = Crash(kind, message, step, HERE, seen=seen or ErrorContext())
    return trace


def call(function: str, *given: GivenTensor) -> FailedCall:
    return FailedCall(function, given)


def _tables() -> _Raised:
    name, message = "id-out-of-range", "index out of range in self"
    table, looked_up = RunningModule("words", "Embedding", {"num_embeddings": (50,)}), call("embedding", INPUT)
    for value, low, high, field, sample in (
        (61, 0, 61, "batch[0]", 3),
        (50, 1, 50, "batch[0]", None),
        (-1, -1, 40, "batch[0]", 0),
        (64, 0, 99, "", None),
    ):
        index = BadIndex(value, 50, low, high, 1, 48, field, sample, 2 if sample else None, "words.weight")
        for module in (table, None):
            seen = ErrorContext(call=looked_up, module=module, bad_index=index)
            where = "an Embedding" if module else "a table"
            yield name, f"{value} of {low} to {high} in {field!r}, {where}", raised(message, seen, "IndexError")
    yield name, "nothing was seen", raised(message, kind="IndexError")
    index = BadIndex(7, 3, 0, 7, 1, 8, "batch[1]", 4)
    for function in ("one_hot", "cross_entropy"):
        seen = ErrorContext(call=call(function, INPUT), bad_index=index)
        for cause in (name, "invalid-labels"):
            yield cause, f"7 for 3 classes of {function}", raised("Class values must be smaller", seen)


def _shapes() -> _Raised:
    name = "shape-mismatch"
    for module, shape in (
        (RunningModule("2", "Linear", {"in_features": (8,)}), (8, 16)),
        (RunningModule("conv", "Conv2d", {"in_channels": (3,), "kernel_size": (3, 3)}), (8, 1, 9, 9)),
        (RunningModule("conv", "Conv2d", {"in_channels": (3,), "kernel_size": (3, 3)}), (8, 9, 9, 3)),
        (RunningModule("conv", "Conv2d", {"in_channels": (3,), "kernel_size": (3, 3)}), (1, 9, 9)),
        (RunningModule("norm", "LayerNorm", {"normalized_shape": (4, 8)}), (8, 16)),
        (RunningModule("block", "Block", own=True), (8, 16)),
    ):
        given = GivenTensor("input", shape), GivenTensor("other", (8, 5))
        seen = ErrorContext(call=call("linear", *given), module=module)
        yield name, f"{module.kind} of {shape}", raised(SHAPES, seen)
    one, other = GivenTensor("tensor 0", (3,)), GivenTensor("tensor 1", (4,))
    for reading in (True, False):
        seen = ErrorContext(call=call("stack", one, one, other), reading_data=reading)
        yield name, f"samples, reading: {reading}", raised("stack expects each tensor to be equal size", seen)
    message = "stack expects each tensor to be equal size, but got [3] at entry 0 and [4, 2] at entry 5"
    yield name, "a worker says so", raised(message, ErrorContext(reading_data=True))
    seen = ErrorContext(call=call("view", INPUT), module=RunningModule("", "Net", own=True))
    yield name, "a view", raised("shape '[-1, 5]' is invalid for input of size 128", seen)
    yield name, "words of their own", raised("expected size 4", kind="ValueError")
    yield name, "an error of their own", raised(SHAPES, seen, "LookupError")
    for function, target in (("mse_loss", (8, 5)), ("mse_loss", (16, 8)), ("mse_loss", (5, 16)),
                             ("cross_entropy", (8, 1)), ("cross_entropy", (5,))):  # fmt: skip
        given = GivenTensor("input", (8, 16)), GivenTensor("target", target, name="batch[1]")
        seen = ErrorContext(call=call(function, *given))
        for cause in (name, "target-shape-mismatch"):
            yield cause, f"{function} of (8, 16) and {target}", raised(SHAPES, seen)


def _types() -> _Raised:
    name, message = "dtype-mismatch", "mat1 and mat2 must have the same dtype, but got Double and Float"
    weight = GivenTensor("weight", (3, 4), name="head.weight")
    for dtype in ("float64", "int64", "bfloat16"):
        given = GivenTensor("input", (8, 4), dtype, name="batch[0]")
        for module in (RunningModule("head", "Linear"), None):
            seen = ErrorContext(call=call("linear", given, weight), module=module)
            yield name, f"{dtype} in {'a layer' if module else 'a function'}", raised(message, seen)
        yield name, f"{dtype} alone", raised("not implemented for 'x'", ErrorContext(call=call("softmax", given)))
    two = call("matmul", GivenTensor("first", (8, 4), "int64"), GivenTensor("second", (4, 3)))
    yield name, "two of them", raised(message, ErrorContext(call=two))
    labels = call("cross_entropy", GivenTensor("input", (8, 3)), GivenTensor("target", (8,), "int32"))
    yield name, "labels", raised("expected target dtype to be Long or Byte", ErrorContext(call=labels))
    yield name, "nothing was seen", raised(message)
    name, message = "device-mismatch", "Expected all tensors to be on the same device, but found two, cuda:0 and cpu!"
    on_gpu = GivenTensor("weight", (3, 4), device="cuda:0", name="head.weight")
    for given in (
        GivenTensor("input", (8, 4), name="batch[0]"),
        GivenTensor("input", (8, 4)),
        GivenTensor("input", (8, 4), device="cuda:0"),
    ):
        seen = ErrorContext(call=call("linear", given, on_gpu))
        yield name, f"{given.spoken} on {given.device}", raised(message, seen)
    lone = GivenTensor("bias", (3,), name="head.bias")
    on_cuda = GivenTensor("input", (8, 4), device="cuda:0")
    yield name, "one of three", raised(message, ErrorContext(call=call("linear", on_cuda, on_gpu, lone)))


def _graphs() -> _Raised:
    name = "graph-used-twice"
    message = "Trying to backward through the graph a second time (or directly access saved tensors)"
    for earlier in (True, False):
        for passes in (0, 1):
            for step in (0, 3):
                seen = ErrorContext(in_backward=True, passes_before=passes, freed_at=(THERE,), freed_earlier=earlier)
                sentence = f"after {passes} passes of step {step}, a part of its own: {earlier}"
                yield name, sentence, raised(message, seen, step=step)
    name = "in-place-modification"
    message = "one of the variables needed for gradient computation has been modified by an inplace operation: x"
    for writes in ((Write("add_", THERE),), (Write("add_", None),), (Write("_foreach_add_", THERE, "weight"),), ()):
        seen = ErrorContext(in_backward=True, writes=writes)
        yield (
            name,
            f"written by {[f'{each.operation} {each.name} at {each.place}' for each in writes]}",
            raised(message, seen),
        )
    for message in (
        "a leaf Variable that requires grad is being used in an in-place operation.",
        "Output 0 of UnbindBackward0 is a view and is being modified inplace. This view is an output of a function",
    ):
        written = GivenTensor("first", (3, 4), name="weight")
        yield name, message[:20], raised(message, ErrorContext(call=call("clamp_", written)))
        yield name, f"{message[:20]}, nothing was seen", raised(message)


def _rest() -> _Raised:
    name = "out-of-memory"
    held = (HeldTensor("batch[0]", (1000, 1000), "float32", 4_000_000),)
    for message, kind in (
        ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000000 bytes.", "RuntimeError"),
        ("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has", "OutOfMemoryError"),
        ("", "MemoryError"),
        ("Unable to allocate 8.5 EiB for an array", "_ArrayMemoryError"),
    ):
        for total in (4_000_000, 2_000_000_000):
            seen = ErrorContext(call=call("sub", INPUT, INPUT), held=held, held_in_all=total)
            yield name, f"{kind} {message[:20]}, beside {total}", raised(message, seen, kind)
        yield name, f"{kind} {message[:20]}, nothing was seen", raised(message, None, kind)
    name = "data-used-up"
    for step in (0, 3):
        yield name, f"StopIteration at step {step}", raised("", None, "StopIteration", step)
    yield name, "from a generator", raised("generator raised StopIteration")
    loss = ErrorContext(call=call("backward", GivenTensor("self", (8,))), in_backward=True)
    message = "grad can be implicitly created only for scalar outputs"
    yield "loss-reduction", "a loss for each", raised(message, loss)
    yield "loss-reduction", "nothing was seen", raised(message)
    message = "'float' object has no attribute 'backward'"
    yield "disconnected-graph", "a plain number", raised(message, None, "AttributeError")
    yield (
        "disconnected-graph",
        "another attribute",
        raised("'float' object has no attribute 'x'", None, "AttributeError"),
    )
