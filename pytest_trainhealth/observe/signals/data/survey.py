"""A look through the data themselves, after the first step has shown which fields are inputs and which are targets.

It comes when the run is over, so that every step was as without it; what reading a loader changes is put back like
everything else that a run changes. Of a watched test the batches are looked at that its steps were given.
"""

from __future__ import annotations

from math import isclose, isfinite
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from ....records.error_words import words_of
from ....records.survey import BadLabels, SharedSamples, SurveyRecord
from ....state.process import remember_random_numbers
from ....tensors.batches import is_input_name, tensors
from ....training import is_one_batch
from ...calls.torch_calls import Call, CallSignal
from ...run.run import Run
from ...run.signal import Cost
from ...source.module_calls import Watching
from .bounded_reading import Reading
from .copied_targets import copied_target
from .data_table import DataTable
from .field_roles import FieldRoles, GivenTarget, given_target, roles_of
from .held_out_labels import held_out_labels, token_counts
from .hurt_steps import step_with
from .label_neighbours import label_noise
from .label_orders import other_order
from .loader_habits import is_augmented, is_shuffled, repeats_are_meant, same_in_every_worker, shared_indices
from .near_copies import near_copies
from .sample_prints import Prints, Rows, are_among, different
from .shared_samples import counts, enumerable, measured, shared_samples

#: Batches of a watched test that are looked at. By judgement: as many as of a loader, 32.
_WATCHED = 32
#: Samples that say whether inputs are all the same. By judgement: 16 equal ones are no accident.
_SAME = 16
#: Batches that say whether a loader repeats itself. By judgement: 4.
_AGAIN = 4
#: The loss of a step is what a loss function gave it. By judgement: float32 has seven digits, a sum of two terms fewer
#: than 4 in common with one of them.
_SAME_LOSS = 1e-4


class Survey(CallSignal):
    NAME, COST = "survey", Cost.STATE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._batch: Any = None
        self._inputs: list[Tensor] = []
        self._targets: list[GivenTarget] = []
        self._hooks: list[Watching] = []
        self._roles = FieldRoles()
        #: The batch of the first step holds values that are not finite.
        self._began_badly = False
        self._watched: DataTable | None = None
        #: The step of each batch in it.
        self._watched_steps: list[int] = []

    # -- the first step --------------------------------------------------------------------------------

    def wanted(self) -> bool:
        return self._run.step == 0

    def step_begins(self, batch: object) -> None:
        if self._run.feed is None:
            batch = self._seen_by_a_watched_step(batch)
            if not self.wanted():
                self._add_watched(batch)
        if self.wanted() and batch is not None:
            self._batch = batch
            self._began_badly = any(is_bad(tensor) for _, tensor in tensors(batch))
            # of a watched test the batch is what a model is being called with right now
            for model in () if self._run.feed is None else self._run.models.values():
                if not isinstance(model, torch.jit.ScriptModule):  # does not support hooks with keywords
                    self._hooks.append(self._before_call(self._called_with, model, with_kwargs=True))
        super().step_begins(batch)

    def _seen_by_a_watched_step(self, batch: object) -> object:
        """All that the loader gave, if there is one: the batch itself is only what a model was called with."""
        given = self._run.loader_batches.latest_tensors()
        if self.wanted():
            self._inputs = [tensor for _, tensor in tensors(batch)]
        return given or batch

    def _called_with(self, module: Any, args: Any, kwargs: Any) -> None:
        self._inputs += [tensor for _, tensor in tensors((args, kwargs))]

    def called(self, call: Call) -> None:
        given = given_target(call)
        if given is not None:
            self._targets.append(given)

    def step_ends(self) -> None:
        CallSignal.run_ends(self)  # it sees no more calls
        if self._batch is not None:
            with torch.no_grad(), torch._C.DisableTorchFunction():
                self._roles = roles_of(self._batch, self._inputs, self._targets)
            if self._run.feed is None:
                self._add_watched(self._batch)
        self._forget()

    def _add_watched(self, batch: Any) -> None:
        """When a step begins: by its end a loader may have given the next batch."""
        if batch is None:
            return
        if self._watched is None:
            self._watched = DataTable("data", self._roles)
        if len(self._watched.sizes) < (self._run.most_batches or _WATCHED):
            with torch.no_grad(), torch._C.DisableTorchFunction(), np.errstate(all="ignore"):
                self._watched.add(batch)
            self._watched_steps.append(self._run.step)

    def _forget(self) -> None:
        self._batch, self._inputs, self._targets = None, [], []
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    # -- the look through the data ---------------------------------------------------------------------

    def run_ends(self) -> None:
        super().run_ends()
        if self._run.step == 0 and not self._run.trace.losses:
            self._forget()
        run = self._run
        if run.trace.data.survey is not None or (run.training is None and self._watched is None):
            return
        if run.training is not None and not run.trace.losses and run.trace.loss_connected:
            return  # the step has raised: that is what is reported
        record = run.trace.data.survey = SurveyRecord()
        put_back = remember_random_numbers()
        try:
            with torch.no_grad(), torch._C.DisableTorchFunction(), np.errstate(all="ignore"):
                table = self._look(record)
            if table is not None:
                self._try_suspects(record, table)
        finally:
            put_back()

    def _look(self, record: SurveyRecord) -> DataTable | None:
        training = self._run.training
        if training is None:
            assert self._watched is not None
            self._describe(record, self._watched)
            self._judge_watched(record)
            return None
        reading = Reading(training.data, self._run.most_batches)
        table = DataTable("data", self._roles, stored=reading.stored)
        record.complete = self._read(record, "data", reading, table)
        if record.why_not:
            return None
        self._describe(record, table)
        self._look_at_loader(record, table, training.data)
        if training.val_data is not None:
            record.val_is_data = _is_same(training.data, training.val_data)
            reading = Reading(training.val_data, self._run.most_batches)
            val = DataTable("val_data", self._roles, table, reading.stored)
            self._read(record, "val_data", reading, val)
            record.val_classes = [found for each in val.classes.values() if (found := each.summary()) is not None]
            record.val_batches, record.val_samples = len(val.sizes), val.samples
            record.bad_values += val.bad_values.values()
            record.bad_labels += val.bad_labels.values()
            record.val_shuffled, record.val_augmented = is_shuffled(training.val_data), is_augmented(training.val_data)
            if not record.val_is_data:
                record.shared = self._shared_by(table, val, training.data, training.val_data)
                self._compare_samples(record, table, val)
                self._compare_labels(record, table, val)
        self._try_orders(record, table, training.data)
        return table

    def _compare_samples(self, record: SurveyRecord, table: DataTable, val: DataTable) -> None:
        names = [*self._inputs_of(table), *self._targets_of(table)]
        if val.uneven or table.uneven or not all(name in val.fields for name in names):
            return
        if names and val.samples:
            record.val_repeated = val.samples - different(val.sample_prints(names))
        for name, target, classes in self._pairs(table):
            fits = table.fields[name].is_float and val.fields[name].shape == table.fields[name].shape
            if fits and record.near_copies is None:
                own = _same_samples(table.fields[name].kept(), table.fields[target].kept())
                theirs = _same_samples(val.fields[name].kept(), val.fields[target].kept())
                found = record.near_copies = near_copies(name, *own, *theirs, classes)
                if found is not None:
                    found.compared_with = len(own[0]) / table.samples

    def _compare_labels(self, record: SurveyRecord, table: DataTable, val: DataTable) -> None:
        """Where samples are random, or in both sets, a difference between the two says nothing about labels."""
        training = self._run.training
        if training is None or table.uneven or val.uneven or (record.shared is not None and record.shared.shared):
            return
        if is_augmented(training.data) or record.val_augmented:
            return
        for name, target, classes in self._pairs(table):
            if name in val.fields and target in val.fields and record.held_out_labels is None:
                both = [_same_samples(each.fields[name].kept(), each.fields[target].kept()) for each in (table, val)]
                (rows, aims), (val_rows, val_aims) = both
                if rows.shape[1] != val_rows.shape[1]:
                    continue
                if not table.fields[name].is_float and len(table.fields[name].shape) == 1:
                    rows, val_rows = token_counts(rows, val_rows)
                record.held_out_labels = held_out_labels(target, rows, aims, val_rows, val_aims, classes)

    def _try_orders(self, record: SurveyRecord, table: DataTable, data: Any) -> None:
        for name, target, classes in self._pairs(table):
            tokens = not table.fields[name].is_float and len(table.fields[name].shape) == 1
            found = other_order(data, name, target, classes, tokens, self._run.budget.over)
            record.other_order = record.other_order or found

    def _pairs(self, table: DataTable) -> list[tuple[str, str, bool]]:
        """An input, a target of one value each, and whether that is a class."""
        given, targets = self._roles.as_they_are, self._targets_of(table)
        inputs = [] if table.uneven else self._inputs_of(table)
        single = [target for target in targets if table.fields[target].values == 1]
        return [(name, target, given[target].about_classes) for target in single for name in inputs]

    def _judge_watched(self, record: SurveyRecord) -> None:
        """The steps were taken already."""
        losses = self._run.trace.losses
        for each in record.bad_values:
            step = self._watched_steps[each.batch or 0]
            if step < len(losses) and self._run.trace.loss_seen:
                each.tried = True
                each.outcome = "" if isfinite(losses[step]) else f"gives a loss of {losses[step]}"

    def _read(self, record: SurveyRecord, source: str, reading: Reading, table: DataTable) -> bool:
        try:
            for batch in reading:
                if source == "data":  # what a cure changes
                    for change in self._run.batch_changes:
                        batch = change(batch)
                table.add(batch)
                if self._run.budget.over():
                    record.why_not = self._run.budget.used_up(f"{len(table.sizes)} batches of {source} read")
                    return False
        except Exception as error:
            raised = f"{type(error).__name__}: {words_of(error).partition(chr(10))[0]}"
            record.why_not = f"reading batch {len(table.sizes)} of {source} raises {raised}"
        return reading.complete

    def _describe(self, record: SurveyRecord, table: DataTable) -> None:
        record.batches, record.samples = len(table.sizes), table.samples
        record.uneven, record.watched = table.uneven, table is self._watched
        record.bad_values = list(table.bad_values.values())
        record.bad_labels = list(table.bad_labels.values())
        inputs, targets = self._inputs_of(table), self._targets_of(table)
        record.fields = [field.summary(name in inputs) for name, field in table.fields.items() if field.samples]
        for field in record.fields:
            if field.outlier is not None:
                number, sample = field.outlier
                field.outlier = table.place_of(sum(table.sizes[: number or 0]) + sample)
        record.classes = [found for each in table.classes.values() if (found := each.summary()) is not None]
        for classes in record.classes:
            given, losses = self._roles.as_they_are[classes.name], self._run.trace.losses
            classes.counted_alike = given.plain and bool(losses) and isclose(given.value, losses[0], rel_tol=_SAME_LOSS)
        if table.uneven or not table.fields:
            return
        if inputs and targets:
            whole = once(table.sample_prints([*inputs, *targets]), table)
            times = counts(whole)
            record.different_samples = len(times)
            record.repeated, record.of_several = len(whole) - len(times), float(times[times > 1].sum()) / len(whole)
            record.different_inputs = different(table.sample_prints(inputs))
            record.measured = record.repeated > 0 and measured([table.fields[n].kept() for n in (*inputs, *targets)])
            self._compare_with_targets(record, table, inputs, targets)

    def _compare_with_targets(
        self, record: SurveyRecord, table: DataTable, inputs: list[str], targets: list[str]
    ) -> None:
        kinds = {name: different(table.fields[name].all_prints()) for name in (*inputs, *targets)}
        # a grid of places beside what lies there: the model may be given both in one tensor, which is no field
        if table.samples >= _SAME and not self._roles.computed and all(kinds[name] == 1 for name in inputs):
            record.same_inputs = inputs[0] if any(kinds[name] > 1 for name in targets) else ""
        for target in targets:
            given, field = self._roles.as_they_are[target], table.fields[target]
            for name in inputs:
                record.copies += copied_target(table.fields[name], field, given.about_classes)
                if field.values == 1 and given.about_classes and record.noise is None and table.fields[name].is_float:
                    rows, aims = _same_samples(table.fields[name].kept(), field.kept())
                    record.noise = label_noise(target, rows, aims.astype(np.int64))

    def _inputs_of(self, table: DataTable) -> list[str]:
        return [name for name in table.fields if name in self._roles.inputs and name not in self._roles.targets]

    def _targets_of(self, table: DataTable) -> list[str]:
        return [name for name in table.fields if name in self._roles.as_they_are and name not in self._roles.inputs]

    def _look_at_loader(self, record: SurveyRecord, table: DataTable, data: Any) -> None:
        record.worker_randomness = same_in_every_worker(data)
        record.repeats_meant = repeats_are_meant(data)
        if type(data) is list and len(data) >= _AGAIN and len(set(table.batch_prints)) == 1:
            record.same_batches = len(data) if _are_copies(data) else 0
        if is_one_batch(data) or type(data) is list or not isinstance(data, DataLoader):
            return
        size = getattr(data.dataset, "__len__", None)
        record.dataset_size = None if size is None else int(size())
        prints = table.batch_prints
        if len(prints) >= _AGAIN and len(set(prints)) == 1 and (record.dataset_size or 0) > max(table.sizes):
            record.same_batches = len(prints)
        workers = data.num_workers
        groups = [prints[at : at + workers] for at in range(0, len(prints) - workers + 1, max(workers, 1))]
        if workers > 1 and len(groups) > 1 and all(len(set(each)) == 1 for each in groups) and len(set(prints)) > 1:
            record.batches_per_worker = workers

    def _shared_by(self, table: DataTable, val: DataTable, data: Any, val_data: Any) -> SharedSamples | None:
        """By their indices, as transforms may change values; but a cure that left samples out is seen by values."""
        by_value = self._in_both(table, val)
        cured = self._run.batch_changes and "drop_shared_samples" not in self._run.trace.applied.without_effect
        by_index = None if cured else shared_indices(data, val_data)
        if by_index is not None:
            by_index.removable = by_value is not None and by_value.removable
        return by_index if by_index is not None and by_index.shared else by_value

    def _in_both(self, table: DataTable, val: DataTable) -> SharedSamples | None:
        """Compared by everything that a sample has: with another mask or target it is another one."""
        names = [name for name in table.fields if name in val.fields]
        same_shapes = all(table.fields[name].shape == val.fields[name].shape for name in names)
        if not names or table.uneven or val.uneven or set(table.fields) != set(val.fields) or not same_shapes:
            return None
        inputs = [name for name in names if name in self._roles.inputs] or [n for n in names if is_input_name(n)]
        if not inputs:
            return None
        rows = [table.fields[name].kept() for name in inputs]
        found = shared_samples(
            table.sample_prints(names), val.sample_prints(names), table.sample_sketches(names),
            val.sample_sketches(names), rows,
        )  # fmt: skip
        same_inputs = are_among(val.sample_prints(inputs), table.sample_prints(inputs))
        found.otherwise = int(same_inputs.sum()) - found.shared
        found.removable = _something_left(table, ~are_among(table.sample_prints(names), val.sample_prints(names)))
        found.example = val.place_of(None if found.example is None else found.example[1])
        found.twin = table.place_of(None if found.twin is None else found.twin[1])
        if found.shared or found.near:
            found.enumerable = enumerable(rows, table.samples + val.samples)
        return found

    def _try_suspects(self, record: SurveyRecord, table: DataTable) -> None:
        """Until the first step that goes wrong: what comes after it proves nothing."""
        for batch, suspect in table.suspects:
            found = step_with(self._run, batch)
            if found is None and self._began_badly and not self._run.trace.finite:
                found = f"gives a loss of {self._run.trace.losses[0]}", 0
            if found is None:
                return
            suspect.tried, suspect.outcome = True, found[0]
            if isinstance(suspect, BadLabels):
                suspect.given = found[1]
            if suspect.outcome:
                return


def _same_samples(rows: Rows, aims: Rows) -> tuple[Rows, Rows]:
    """Of wide fields fewer rows are kept, and those are the first ones."""
    many = min(len(rows), len(aims))
    return rows[:many], aims[:many].ravel()


def _is_same(data: Any, val: Any) -> bool:
    """`val_data` is `data`, or a list of its very batches."""
    if data is val:
        return True
    if type(data) is list and type(val) is list:
        own = {id(tensor) for batch in data for _, tensor in tensors(batch)}
        return all(id(tensor) in own for batch in val for _, tensor in tensors(batch))
    return False


def _something_left(table: DataTable, kept: NDArray[np.bool_]) -> bool:
    """Of every batch, so that a run without the others has something to step with; and not everything."""
    ends = np.cumsum(table.sizes)
    return not kept.all() and all(bool(each.any()) for each in np.split(kept, ends[:-1]))


def once(prints: Prints, table: DataTable) -> Prints:
    """Without batches that are there several times as a whole: that is how many a test repeats a batch."""
    known: set[int] = set()
    parts = []
    for print_of, part in zip(table.batch_prints, np.split(prints, np.cumsum(table.sizes)[:-1]), strict=True):
        if print_of not in known:
            known.add(print_of)
            parts.append(part)
    return np.concatenate(parts)


def _are_copies(data: list[Any]) -> bool:
    """Each batch is a copy of its own. One that is there several times is repeated on purpose."""
    pointers = [tensor.untyped_storage().data_ptr() for batch in data for _, tensor in tensors(batch)]
    return bool(pointers) and len(set(pointers)) == len(pointers)


def is_bad(tensor: Tensor) -> bool:
    plain = tensor.is_floating_point() and tensor.layout == torch.strided and tensor.device.type != "meta"
    return plain and not bool(torch.isfinite(tensor).all())
