"""Whether validation samples can be evaluated in the middle of a run, so that the run serves other checks as well."""

from __future__ import annotations

from torch.utils.data import DataLoader, IterableDataset

from ..training import Training, is_one_batch


def evaluates_beside(training: Training) -> bool:
    """Validation samples can be read and evaluated in the middle of a run, and the steps after it stay the same."""
    val, own = training.val_data, training.step is not None or training.evaluate is not None
    if val is None or val is training.data or own or training.framework_loop is not None:
        return False
    if isinstance(val, DataLoader):
        return not isinstance(val.dataset, IterableDataset)
    return is_one_batch(val) or type(val) is list
