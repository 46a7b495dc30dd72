"""The mode of what behaves differently in training: dropout, as a layer, inside of one (attention, a recurrent layer)
or as a function that is told the mode, and BatchNorm with running statistics."""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.optim import Optimizer

from ....records.verdict import Place
from ....records.wiring import ModeRecord
from ....tensors.module_paths import full_path
from ...calls.dropouts import DROPOUTS, caller, follows_mode
from ...calls.torch_calls import Call, CallSignal
from ...run.run import Run
from ...run.signal import Cost
from ...source.authorship import made_by, package_of
from ...source.engine_frames import stand_in
from ...source.module_calls import Watching
from ...source.places import user_place

#: After these steps only models that are in eval mode when a step begins are examined. By judgement: the first 2 steps
#: show the usual mode.
_STEPS = 2


class Modes(CallSignal):
    """Hooks these few layers, only while there is something to see."""

    NAME, COST = "modes", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._layers: dict[str, list[tuple[str, nn.Module]]] = {}
        self._handles: dict[str, list[Watching]] = {}
        self._evaluated: dict[str, dict[str, str]] = {}
        self._trained: set[str] = set()
        #: Parts in eval mode of models in training mode: the layers that ran so, and all that ran in training mode.
        self._parts: dict[tuple[str, str], dict[str, str]] = {}
        self._on: set[tuple[str, str]] = set()
        self._places: dict[int, Place | None] = {}
        self._original: Any = None

    def wanted(self) -> bool:
        return self._run.step < _STEPS or any(map(self._suspicious, self._run.models))

    def called(self, call: Call) -> None:
        """A dropout function that is told the mode of the module that calls it."""
        if call.name not in DROPOUTS or not call.kwargs.get("p") or call.error is not None:
            return
        if not torch.is_grad_enabled():
            return
        frame = caller(sys._getframe(1))
        while frame is not None and "pytest_trainhealth" in frame.f_code.co_filename:
            frame = caller(frame.f_back)
        module = None if frame is None else frame.f_locals.get("self")
        if frame is None or not isinstance(module, nn.Module) or isinstance(module, _DropoutNd):
            return
        training = bool(call.kwargs.get("training", True))
        if training != module.training or not follows_mode(frame):
            return
        for prefix, model in self._run.models.items():
            path = next((path for path, each in model.named_modules() if each is module), None)
            if path is not None:
                self._note(prefix, model, f"{path}.{call.name}" if path else call.name, "F.dropout", training)

    def run_begins(self) -> None:
        original = self._original = nn.Module.eval

        @wraps(original)
        @stand_in
        def observed(module: nn.Module) -> nn.Module:
            self._places[id(module)] = user_place() or self._places.get(id(module))
            return original(module)

        nn.Module.eval = observed  # type: ignore[method-assign, assignment]

    def run_ends(self) -> None:
        super().run_ends()
        if self._original is not None:
            nn.Module.eval = self._original  # type: ignore[method-assign]
        for prefix in list(self._handles):
            self._unhook(prefix)

    def step_begins(self, batch: object) -> None:
        super().step_begins(batch)
        for prefix, model in self._run.models.items():
            if prefix not in self._layers:
                self._meet(prefix, model)
            if (self._run.step < _STEPS or self._suspicious(prefix)) and prefix not in self._handles:
                self._handles[prefix] = [
                    self._after_call(self._hook(prefix, path, model), module) for path, module in self._layers[prefix]
                ]

    def step_ends(self) -> None:
        super().run_ends()
        if self._run.step >= _STEPS - 1:
            for prefix in [p for p in self._handles if not self._suspicious(p)]:
                self._unhook(prefix)

    def _suspicious(self, prefix: str) -> bool:
        """Or a part of it that was trained in eval mode, and may not be for good."""
        parts = self._run.trace.wiring.modes.values()
        return not self._run.models[prefix].training or any(
            r.part and r.holder == prefix and not r.trained for r in parts
        )

    def _unhook(self, prefix: str) -> None:
        for handle in self._handles.pop(prefix):
            handle.remove()

    def _meet(self, prefix: str, model: nn.Module) -> None:
        self._layers[prefix] = [(path, module) for path, module in model.named_modules() if is_moody(module)]
        pretrained = {path for path, module in self._layers[prefix] if _is_pretrained(module)}
        if self._layers[prefix]:
            self._record(prefix).pretrained |= pretrained

    def _hook(self, prefix: str, path: str, model: nn.Module) -> Any:
        def ran(module: nn.Module, inputs: Any, output: Any) -> None:
            if torch.is_grad_enabled():
                self._note(prefix, model, path, type(module).__name__, module.training)

        return ran

    def _note(self, prefix: str, model: nn.Module, path: str, kind: str, training: bool) -> None:
        if training or model.training:
            self._trained.add(prefix)
            if training:
                self._on.add((prefix, path))
            elif (part := _switched_off(model, path)) is not None:
                self._parts.setdefault((prefix, part), {})[path] = kind
        else:
            self._evaluated.setdefault(prefix, {})[path] = kind

    def update_ends(self, optimizer: Optimizer, has_closure: bool) -> None:
        if not self._evaluated and not self._trained:
            return
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for prefix in {*self._evaluated, *self._trained}:
            model = self._run.models[prefix]
            if not any(id(p) in held and p.requires_grad for p in model.parameters()):
                continue  # what is frozen has its mode for that, whoever holds it
            record = self._record(prefix)
            if prefix in self._trained:  # an additional forward pass in eval mode does no harm
                record.trained.append(self._run.step)
            else:
                record.evaluated.append(self._run.step)
                record.layers.update(self._evaluated[prefix])
                record.place = record.place or self._places.get(id(model))
            self._trained.discard(prefix)
            self._evaluated.pop(prefix, None)
        self._note_parts(held)

    def _note_parts(self, held: set[int]) -> None:
        """A part counts if this optimizer trains all of it: what is partly frozen has its mode for that."""
        modes = self._run.trace.wiring.modes
        for (prefix, part), layers in list(self._parts.items()):
            module = self._run.models[prefix].get_submodule(part)
            if not any(id(p) in held for p in module.parameters()):
                continue
            del self._parts[prefix, part]
            if all(id(p) in held and p.requires_grad for p in module.parameters()):
                name = full_path(prefix, part)
                record = modes.setdefault(name, ModeRecord(name, part=part, holder=prefix))
                record.evaluated.append(self._run.step)
                record.layers.update(layers)
                record.place = record.place or self._places.get(id(module))
        for record in modes.values():
            if record.part and self._was_on(record.holder, record.part):
                record.trained.append(self._run.step)

    def _was_on(self, prefix: str, part: str) -> bool:
        return any(model == prefix and f"{path}.".startswith(f"{part}.") for model, path in self._on)

    def _record(self, prefix: str) -> ModeRecord:
        name = prefix or type(self._run.models[prefix]).__name__
        return self._run.trace.wiring.modes.setdefault(name, ModeRecord(name))


def _switched_off(model: nn.Module, path: str) -> str | None:
    """The part that was put into eval mode and has this layer in it. None if it may be meant.

    A layer that is switched off alone is meant, and BatchNorms that keep their statistics, and what a `train()` of the
    user's own keeps so. Dropout that an installed package put there may be unwanted. But a layer of the user's own that
    drops nothing in any step, in a part that is trained as a whole, is one that somebody wrote and nobody ever gets.
    """
    way = _way_to(path, model)
    path, layer = list(way.items())[-1]
    off = next((each for each, module in way.items() if not module.training), None)
    if off is None or isinstance(layer, _BatchNorm) or not any(True for _ in way[off].parameters()):
        return None
    meant = made_by(path, way) != "user" or any(_keeps_modes(module) for module in way.values())
    return None if meant else off


def _way_to(path: str, model: nn.Module) -> dict[str, nn.Module]:
    """The modules around this one, by their paths, and itself. A function ends at the module that calls it."""
    way, inside = {"": model}, ""
    for name in path.split("."):
        inner = way[inside]._modules.get(name)
        if inner is None:
            break
        inside = full_path(inside, name)
        way[inside] = inner
    return way


def _keeps_modes(module: nn.Module) -> bool:
    return package_of(next(kind for kind in type(module).__mro__ if "train" in vars(kind))) == "user"


def is_moody(module: nn.Module) -> bool:
    if isinstance(module, _DropoutNd):
        return bool(module.p > 0)
    if isinstance(module, nn.MultiheadAttention):
        return bool(module.dropout > 0)
    if isinstance(module, nn.RNNBase):
        return bool(module.dropout > 0 and module.num_layers > 1)
    return isinstance(module, _BatchNorm) and module.running_mean is not None


def _is_pretrained(module: nn.Module) -> bool:
    return isinstance(module, _BatchNorm) and bool(module.num_batches_tracked)
