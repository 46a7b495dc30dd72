"""Weights that cannot matter as their layer is called, so that their gradient is rightly 0.

Attention over a single key gives that key all its weight, whatever the query; one step of a recurrence that starts from
nothing multiplies its weights with zeros; of a layer that reads both ways the features of one direction may be cut off
(`output[:, -1, :hidden_size]`). Looked for only where some weight has a gradient of exactly 0.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn

from ....tensors.module_paths import full_path
from ...calls.graph_leaves import leaves_of
from ...calls.torch_calls import Call, CallSignal
from ...run.signal import Cost

#: The step that is examined. By judgement: the second, when the first has shown which gradients are 0.
_STEP = 1
_QUERIES_AND_KEYS = ("q_proj_weight", "k_proj_weight")
_RECURRENT = ("weight_hh",)


class InertWeights(CallSignal):
    NAME, COST = "inert_weights", Cost.CLOSE

    def wanted(self) -> bool:
        weights = [p for p in self._run.trace.trainable if p.is_weight] if self._run.step == _STEP else []
        return any(p.gradients and not p.has_gradient and not p.never_reached for p in weights)

    def step_begins(self, batch: object) -> None:
        super().step_begins(batch)
        self._names = {id(p): name for name, p in self._run.parameters.items()}
        self._paths = {id(module): path for path, module in self._run.named_modules()}
        if self._open is not None:
            self._watch_layers(self._open)

    def _watch_layers(self, stack: ExitStack) -> None:
        for _, module in self._run.named_modules():
            if isinstance(module, (nn.MultiheadAttention, nn.RNNBase)):
                stack.callback(self._after_call(self._layer_ran, module, with_kwargs=True).remove)

    def called(self, call: Call) -> None:
        if call.name != "scaled_dot_product_attention" or call.error is not None:
            return
        given = dict(zip(("query", "key", "value"), call.args, strict=False)) | call.kwargs
        query, key, value = (given.get(name) for name in ("query", "key", "value"))
        if isinstance(query, Tensor) and isinstance(key, Tensor) and isinstance(value, Tensor) and key.shape[-2] == 1:
            self._note(leaves_of([query, key], self._names) - leaves_of([value], self._names))

    def _layer_ran(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        kinds: tuple[str, ...] = ()
        if isinstance(module, nn.MultiheadAttention) and _one_key(module, args, kwargs):
            kinds = _QUERIES_AND_KEYS
        elif isinstance(module, nn.RNNBase) and _one_step(module, args, kwargs):
            kinds = _RECURRENT
        path = self._paths.get(id(module))
        if isinstance(module, nn.RNNBase) and module.bidirectional and path is not None:
            self._watch_directions(module, path, output)
        if kinds and path is not None:
            own = [name for name, _ in module.named_parameters(recurse=False) if name.startswith(kinds)]
            self._note(frozenset(full_path(path, name) for name in own))

    def _watch_directions(self, module: nn.RNNBase, path: str, output: Any) -> None:
        """Features of one direction that are cut off the output, at every step, are not meant to be read.

        The last state of a layer, `h_n[-1]`, leaves out the other direction without saying so: that is no excuse.
        """
        made = output[0] if isinstance(output[0], Tensor) else output[0].data  # of a packed sequence

        def arrived(gradient: Tensor) -> None:
            read = [bool(half.any()) for half in gradient.detach().chunk(2, -1)]
            if read.count(True) == 1:
                last = f"_l{module.num_layers - 1}"
                names = [name for name, _ in module.named_parameters(recurse=False) if last in name]
                unread = [name for name in names if name.endswith("_reverse") != read[1]]
                self._note(frozenset(full_path(path, name) for name in unread))

        if made.requires_grad:
            made.register_hook(arrived)

    def _note(self, names: frozenset[str]) -> None:
        for name in names:
            if name in self._run.trace.wiring.parameters:
                self._run.trace.wiring.parameters[name].inert = True


def _one_key(module: nn.MultiheadAttention, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    key = args[1] if len(args) > 1 else kwargs.get("key")
    if not isinstance(key, Tensor) or key.is_nested or module.bias_k is not None or module.add_zero_attn:
        return False
    return key.shape[1 if module.batch_first and key.ndim == 3 else 0] == 1


def _one_step(module: nn.RNNBase, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    given, state = args[0] if args else kwargs.get("input"), args[1] if len(args) > 1 else kwargs.get("hx")
    if not isinstance(given, Tensor) or state is not None:
        return False
    return given.shape[1 if module.batch_first and given.ndim == 3 else 0] == 1
