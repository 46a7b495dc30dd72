"""Whether targets belong to their inputs: can inputs predict targets in the order used, or only in another order?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from ....records.data import Alignment
from ....records.loss_functions import SAMPLE_BY_SAMPLE
from ....records.verdict import Place
from ....state.process import remember_random_numbers
from ....tensors.batches import batch_size, tensors
from ...calls.torch_calls import Call, CallSignal
from ...run.run import Run
from ...run.signal import Cost
from ...source.module_calls import Watching
from ...source.places import user_place
from .ridge import Teller, chance
from .row_order import holds_order, keeps_order, same_rows
from .white_noise import hangs_together, lopsided

#: Samples that are compared. By judgement: 256 make a small kernel matrix.
_SAMPLES = 256
#: The fewest that are conclusive. By judgement: of 48 samples in two classes, three deviations are 22 % of them.
_FEWEST = 48
#: Steps in which the samples have to be seen. By judgement: 24 batches of 2 are the fewest samples.
_STEPS = 24
#: Most columns of a target. By judgement: with more than 16 it is an image or the like, which this cannot predict.
_MOST_COLUMNS = 16
#: By how many samples targets are shifted. By judgement: a wrong index is off by 1 or 2, seldom by more than 4.
_LAGS = (1, -1, 2, -2, 3, -3, 4, -4)
#: In the order used, targets are predicted no better than by chance (three standard deviations; a tenth of the
#: variance). In the other order, more than half of what there is beyond chance is predicted. Random labels reach 3.1
#: deviations, whatever the order (2,000 draws).
_DEVIATIONS = 3.0
#: The tenth named above. Of noise, left-out predictions explain -0.08 by median, and at most 0.08 in 300 draws of 48 to
#: 247 samples with 8 columns.
_EXPLAINED = 0.1
#: The half named above. By judgement: the two orders have to be far apart before anything is reported.
_PLAIN = 0.5
#: For classes in the other order: accuracy beyond that of a constant answer. By judgement: among many orders, some
#: reach three deviations by chance.
_BEYOND_CHANCE = 0.1
#: Two tensors count as the same within this: float32 has seven digits, and copying or converting in a loader costs 1 or
#: 2.
_SAME = 1e-5


@dataclass
class _Seen:
    """What one step used of its batch, one row per sample."""

    inputs: Tensor
    targets: Tensor
    batch_inputs: Tensor
    batch_targets: Tensor
    #: How many samples certainly got the target of another; None if that cannot be known.
    crossed: int | None = None


@dataclass
class _Names:
    """The fields of a batch that are inputs and targets, once known."""

    inputs: str = ""
    targets: str = ""
    classes: bool = True
    tokens: bool = False
    place: Place | None = None
    seen: list[_Seen] = field(default_factory=list)


class Alignments(CallSignal):
    NAME, COST = "alignment", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._names = _Names()
        self._over = False
        self._fields: dict[str, Tensor] = {}
        self._size = 0
        self._input: Tensor | None = None
        self._target: tuple[Tensor, bool] | None = None
        self._output: Any = None
        self._in_order = False
        self._hooks: list[Watching] = []

    def wanted(self) -> bool:
        return not self._over

    def step_begins(self, batch: object) -> None:
        if self._over:
            return
        self._size = batch_size(batch) or 0
        self._fields = {name: _rows(t) for name, t in tensors(batch) if _fits(t, self._size)}
        self._input, self._target, self._output, self._in_order = None, None, None, False
        if len(self._fields) < 2:
            self._over = True
            return
        for model in () if self._hooks else self._run.models.values():
            if isinstance(model, torch.jit.ScriptModule):
                continue  # does not support hooks with keywords
            self._hooks.append(self._before_call(self._called, model, with_kwargs=True))
            self._hooks.append(self._after_call(self._returned, model, with_kwargs=True))
        super().step_begins(batch)

    def _called(self, module: Any, args: Any, kwargs: Any) -> None:
        if self._input is None and not self._over:
            given = next((t for _, t in tensors((args, kwargs)) if _fits(t, self._size)), None)
            if given is not None:
                self._input, self._names.tokens = _rows(given), not given.is_floating_point() and given.ndim == 2

    def _returned(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        """Outputs are in the order of the inputs, unless the model was given a permutation as well."""
        if self._output is None and not self._over and not holds_order((args, kwargs, output)) and keeps_order(module):
            self._output = output

    def called(self, call: Call) -> None:
        given = call.args[1] if len(call.args) > 1 else call.kwargs.get("target")
        if call.name not in SAMPLE_BY_SAMPLE or self._target is not None or not isinstance(given, Tensor) or call.error:
            return
        target = given.detach().cpu()
        if target.numel() and self._size and target.numel() % self._size == 0:
            classes = not target.is_floating_point() or call.name.startswith("binary")
            self._target = (target.reshape(self._size, -1).double(), classes)
            self._names.place = self._names.place or user_place()
            self._in_order = same_rows(self._output, call.args[0], self._size)

    def step_ends(self) -> None:
        super().run_ends()
        if self._over:
            return
        self._output = None
        self._over = not self._kept() or self._run.step + 1 >= _STEPS
        # the second epoch has no new samples, and another order
        self._over = self._over or self._run.step + 1 == self._run.trace.batches
        self._over = self._over or sum(len(s.inputs) for s in self._names.seen) >= _SAMPLES

    def _kept(self) -> bool:
        """False if inputs and targets are not fields of the batch, in any order."""
        if self._input is None or self._target is None:
            return False
        (target, classes), names = self._target, self._names
        fitting = [n for n, rows in self._fields.items() if _same_rows(rows, target)]
        found = names.targets or next(iter(fitting), "")
        if found not in fitting or target.shape[1] > (1 if classes else _MOST_COLUMNS):
            return False
        others = {n: rows for n, rows in self._fields.items() if n != found}
        origin = names.inputs or next((n for n, rows in others.items() if _same_rows(rows, self._input)), "")
        rows = others.get(origin, self._input)  # an input that was transformed is assumed to be in order
        names.inputs, names.targets, names.classes = origin, found, classes
        if names.seen and names.seen[0].inputs.shape[1] != self._input.shape[1]:
            return False
        given = self._fields[found].double()
        crossed = _crossed(self._input, target, rows, given) if origin and self._in_order else None
        names.seen.append(_Seen(self._input, target, rows, given, crossed))
        return True

    def run_ends(self) -> None:
        super().run_ends()
        for hook in self._hooks:
            hook.remove()
        if self._names.seen and sum(len(s.inputs) for s in self._names.seen) >= _FEWEST:
            with torch.no_grad(), torch._C.DisableTorchFunction():  # a cure must not change what is computed here
                self._run.trace.data.alignment = self._found()
        self._names.seen = []
        self._fields = {}

    def _found(self) -> Alignment | None:
        names = self._names
        inputs = _joined(s.inputs for s in names.seen)
        targets = _joined(s.targets for s in names.seen)
        crossed = [s.crossed for s in names.seen]
        if all(crossed):  # in every batch: samples mixed on purpose may look like this once
            kind = "classes" if names.classes else "values"
            count, order = sum(each or 0 for each in crossed), "its place in the batch"
            return Alignment(
                sum(len(s.inputs) for s in names.seen), kind, 0.0, 0.0, 0.0, order, "step", count, names.place
            )
        base = chance(targets, names.classes)
        if base is None or not bool(torch.isfinite(inputs).all() and torch.isfinite(targets).all()):
            return None
        teller = Teller(inputs, names.tokens)
        used = teller.score(
            targets, names.classes, lambda score: not at_chance(score, base, len(inputs), names.classes)
        )
        kind = "classes" if names.classes else "values"
        found = Alignment(len(inputs), kind, base, used, used, place=names.place)
        if not at_chance(used, base, len(inputs), names.classes):
            return found
        found.at_chance = True
        found.structured = hangs_together(inputs, names.tokens) or (not names.tokens and lopsided(inputs))
        for best, order, by in self._others(teller, inputs, targets):
            if is_plain(best, base, len(inputs), names.classes):
                found.best, found.order, found.by = best, order, by
                return found
        return found

    def _others(self, teller: Teller, inputs: Tensor, targets: Tensor) -> Iterator[tuple[float, str, str]]:
        """Other orders, with their scores: that of the batch before the step changed it, then that of the dataset."""
        names = self._names
        given_inputs = _joined(s.batch_inputs for s in names.seen)
        given_targets = _joined(s.batch_targets for s in names.seen)
        if not torch.equal(given_inputs, inputs) or not torch.equal(given_targets, targets):
            yield (
                Teller(given_inputs, names.tokens).score(given_targets, names.classes),
                "its place in the batch",
                "step",
            )
        sizes = [len(part) for part in _parts(targets, len(names.seen[0].inputs))]
        yield from moved(teller, targets, names.classes, sizes)
        in_order = self._in_the_order_of_the_data()
        if in_order is not None and chance(in_order[1], names.classes) is not None:
            yield from moved(Teller(in_order[0], names.tokens), in_order[1], names.classes, [len(in_order[0])])

    def _in_the_order_of_the_data(self) -> tuple[Tensor, Tensor] | None:
        """The first samples of a loader's dataset, which the loader may have shuffled."""
        data = getattr(self._run.feed, "source", None)
        dataset: Any = getattr(data, "dataset", None)
        collate: Any = getattr(data, "collate_fn", None)
        if not isinstance(data, DataLoader) or not hasattr(dataset, "__len__") or collate is None:
            return None
        put_back, samples = remember_random_numbers(), []
        try:
            for index in islice(range(len(dataset)), _SAMPLES):
                samples.append(dataset[index])
                if self._run.budget.over():  # fewer samples would be another measurement, not a faster one
                    return None
            fields = {name: _rows(t) for name, t in tensors(collate(samples)) if _fits(t, len(samples))}
        except Exception:  # the user's dataset may not allow reading in order
            return None
        finally:
            put_back()
        inputs, targets = fields.get(self._names.inputs), fields.get(self._names.targets)
        if inputs is None or targets is None or len(samples) < _FEWEST:
            return None
        if not bool(torch.isfinite(inputs).all() and torch.isfinite(targets).all()):
            return None
        return inputs.double(), targets.double()


def moved(teller: Teller, targets: Tensor, classes: bool, sizes: list[int]) -> Iterator[tuple[float, str, str]]:
    """Targets shifted by a few samples, overall and within each batch, and in reverse."""
    for lag in _LAGS:
        moved = targets.roll(-lag, 0)
        if not teller.hangs_together(abs(lag)) and not teller.holds(moved):
            where = "before" if lag < 0 else "after"
            neighbour = f"the sample {where} it" if abs(lag) == 1 else f"the sample {abs(lag)} {where} it"
            yield teller.score(moved, classes), neighbour, "data"
            if len(sizes) > 1 and abs(lag) == 1:
                within = torch.cat([part.roll(-lag, 0) for part in _parts(targets, sizes[0])])
                yield teller.score(within, classes), f"{neighbour} in its batch", "data"
    if not teller.hangs_together(1):
        yield teller.score(targets.flip(0), classes), "the sample at the other end", "data"
        if len(sizes) > 1:
            turned = torch.cat([part.flip(0) for part in _parts(targets, sizes[0])])
            yield teller.score(turned, classes), "the sample at the other end of its batch", "data"


def _crossed(inputs: Tensor, targets: Tensor, batch_inputs: Tensor, batch_targets: Tensor) -> int:
    """How many samples of a step have a target that differs from theirs in the batch."""
    if torch.equal(inputs, batch_inputs) and torch.equal(targets, batch_targets):
        return 0  # as in nearly every training: all in the order of the batch
    own: dict[bytes, set[bytes]] = {}
    for row, target in zip(batch_inputs.numpy(), batch_targets.numpy(), strict=True):
        own.setdefault(row.tobytes(), set()).add(target.tobytes())
    used = zip(inputs.numpy(), targets.numpy(), strict=True)
    return sum(target.tobytes() not in own.get(row.tobytes(), {target.tobytes()}) for row, target in used)


def at_chance(score: float, base: float, samples: int, classes: bool) -> bool:
    if not classes:
        return score < _EXPLAINED
    deviation = float((base * (1 - base) / samples) ** 0.5)
    return score - base < _DEVIATIONS * deviation


def is_plain(score: float, base: float, samples: int, classes: bool) -> bool:
    return (score - base) > _PLAIN * (1 - base) and not at_chance(score, base + _BEYOND_CHANCE, samples, classes)


def _fits(tensor: Tensor, size: int) -> bool:
    """Plain numbers, one row per sample."""
    plain: bool = tensor.layout == torch.strided and not tensor.is_complex() and tensor.dtype != torch.bool
    return plain and tensor.ndim > 0 and tensor.shape[0] == size and tensor.numel() > 0


def _rows(tensor: Tensor) -> Tensor:
    return tensor.detach().reshape(tensor.shape[0], -1).float().cpu()


def _same_rows(rows: Tensor, others: Tensor) -> bool:
    """Whether these are the same samples, in any order."""
    if rows.shape != others.shape:
        return False
    if torch.equal(rows.double(), others.double()):  # in the same order, as in nearly every training
        return True
    generator = torch.Generator("cpu").manual_seed(0)
    weights = torch.randn(rows.shape[1], generator=generator, dtype=torch.float64, device="cpu").to(rows.device)
    ours, theirs = (torch.sort(each.double() @ weights)[0] for each in (rows, others))
    return torch.allclose(ours, theirs, rtol=_SAME, atol=_SAME)


def _parts(rows: Tensor, size: int) -> list[Tensor]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _joined(parts: Any) -> Tensor:
    return torch.cat(list(parts))[:_SAMPLES].double()
