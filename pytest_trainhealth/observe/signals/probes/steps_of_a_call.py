"""The torch functions that run inside one repeated call, with what they were given and what they returned."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from ....records.verdict import Place
from ....tensors.batches import tensors
from ....tensors.function_modes import FunctionMode
from ....tensors.module_paths import full_path
from ...calls.torch_calls import function_name
from ...run.run import Run
from ...source.module_stack import ModuleStack
from ...source.places import user_place
from .repeat_call import Repeater, Values

#: They rank what they are given, or pick from it by rank, so that each result depends on all the others.
RANKING = {"topk", "sort", "argsort", "unique", "bincount", "multinomial", "kthvalue", "quantile", "median"}
#: Their second argument is how many, or which one.
_COUNT_FIRST = {"topk", "kthvalue", "quantile"}
#: Most calls that are remembered of one forward pass. By judgement: 5,000 are more than deep networks have.
_MOST_CALLS = 5000


@dataclass
class Step:
    """One torch function during a call."""

    name: str
    module: str
    place: Place | None
    given: list[Tensor] = field(default_factory=list)
    results: list[Tensor] = field(default_factory=list)
    #: The dimension it was told to run over, if any.
    dim: int | None = None
    #: It was given a parameter: a layer.
    weighs: bool = False


class _Recorder(FunctionMode):
    def __init__(self, modules: ModuleStack, picks: bool) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self._modules, self._picks = modules, picks

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        every = [t for _, t in tensors((args, kwargs))]
        given = [t for t in every if t.is_floating_point()]
        result = func(*args, **kwargs)
        name = function_name(func)
        results = [t.detach() for _, t in tensors(result) if t.is_floating_point() or name in RANKING]
        if len(self.steps) < _MOST_CALLS and results and (self._picks or name != "__getitem__"):
            # an operation in place may overwrite these: keep the present values
            kept = [t.clone() for t in results]
            weighs = any(isinstance(t, nn.Parameter) for t in every)
            self.steps.append(
                Step(name, self._modules.current, user_place(), given, kept, dim_of(name, args, kwargs), weighs)
            )
        return result


def dim_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """The `dim` of a call, counted from the front; else the first argument behind the tensor that is a plain number."""
    dim = kwargs.get("dim", kwargs.get("axis"))
    if dim is None:
        dim = next((a for a in args[2 if name in _COUNT_FIRST else 1 :] if type(a) is int), None)
    if isinstance(dim, (tuple, list)) and len(dim) == 1:
        dim = dim[0]
    first = args[0] if args and isinstance(args[0], Tensor) else None
    if not isinstance(dim, int):
        return None
    return dim if first is None else dim % max(first.ndim, 1)


def operations(repeater: Repeater, changes: Values, run: Run, *, picks: bool = False) -> list[Step]:
    """`picks`: indexing counts as an operation, too."""
    modules = ModuleStack(run.models)
    with ExitStack() as stack:
        stack.enter_context(modules.kept())
        recorder = _Recorder(modules, picks)
        stack.enter_context(recorder)
        repeater.run(changes)
    return recorder.steps


def class_of(path: str, run: Run) -> str:
    """The class of the module at this path, with its `batch_first` if it has one."""
    for prefix, model in run.models.items():
        for name, module in model.named_modules():
            if path and full_path(prefix, name) == path:
                first = getattr(module, "batch_first", None)
                kind = type(module).__name__
                return kind if first is None else f"{kind}(batch_first={first})"
    return ""
