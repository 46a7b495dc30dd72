"""What the content of a reproducer has to look like: every field with its type, and numbers within reason.

Tested before anything relies on it, so that a file from anybody ends in one line and not in a traceback.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, get_rng_state, uint8

from ..records.verdict import Verdict
from ..settings import CHECKS
from .typed import well_typed

#: By judgement: more than anybody trains for in a test, or asks one fixture for.
_MOST_STEPS, _MOST_CALLS = 10_000_000, 100_000
#: Seeds are numbers of 64 bits.
_SEEDS = 2**64
#: By judgement: batch sizes and threads, which cost memory and processes.
_LARGEST_OPTION = 2**20
#: The kinds of `stress/circumstances.py`, `stress/search` and `engine/one_thread.py`. A file names no other.
CONDITIONS = {
    *("scaled_inputs", "batch_size", "degenerate_sample", "repeated_sample", "autocast", "learning_rate"),
    *("scaled_loss", "threads", "found_inputs"),
}
_TEXTS = ("check", "training", "test", "factory", "why")
#: Words of `random.getstate()` and of `numpy.random.get_state()`: the Mersenne twister has 624, and Python adds where
#: it stands.
_PYTHON_NUMBERS, _NUMPY_NUMBERS = 625, 624
#: Words have 32 bits.
_WORD = 2**32


class Malformed(Exception):
    """The message names the field."""


def check_fields(content: Mapping[str, Any]) -> None:
    """Raises `Malformed`."""
    for name in _TEXTS:
        _need(isinstance(content.get(name), str), name)
    _need(content["check"] in CHECKS, "check")
    for name, least, most in (
        ("seed", -_SEEDS, _SEEDS),
        ("run_seed", -_SEEDS, _SEEDS),
        ("seed_offset", -_SEEDS, _SEEDS),
        ("call", 0, _MOST_CALLS),
        ("step", 0, _MOST_STEPS),
    ):
        _need(_whole(content.get(name), least, most), name)
    _need(isinstance(content.get("conditions"), (list, tuple)), "conditions")
    for condition in content["conditions"]:
        _check_condition(condition)
    _check_culprit(content.get("culprit", ""))
    _check_verdict(content)
    if content.get("state", "") is not None:
        _check_state(content.get("state"))


def _need(holds: bool, name: str) -> None:
    if not holds:
        raise Malformed(name)


def _whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value < most


def _check_condition(condition: Any) -> None:
    _need(isinstance(condition, dict) and set(condition) == {"kind", "label", "options"}, "conditions")
    _need(condition["kind"] in CONDITIONS and isinstance(condition["label"], str), "conditions")
    options = condition["options"]
    _need(isinstance(options, dict) and all(isinstance(name, str) for name in options), "conditions")
    for value in options.values():
        _need(type(value) is not int or _whole(value, 0, _LARGEST_OPTION), "conditions")


def _check_culprit(culprit: Any) -> None:
    if culprit is None:
        return
    texts = ("operation", "phase", "value", "module", "file", "code")
    _need(isinstance(culprit, dict) and set(culprit) == {*texts, "line"}, "culprit")
    _need(all(isinstance(culprit[name], str) for name in texts), "culprit")
    _need(_whole(culprit["line"], 0, _WORD), "culprit")


def _check_verdict(content: Mapping[str, Any]) -> None:
    try:
        verdict = Verdict.from_json(content["verdict"])
    except Exception:
        raise Malformed("verdict") from None
    _need(well_typed(verdict) and verdict.failed and verdict.check == content["check"], "verdict")


def _check_state(state: Any) -> None:
    parts = ("batch", "parameters", "gradients", "buffers", "optimizers", "random")
    _need(isinstance(state, dict) and set(state) == {*parts, "scaler"}, "state")
    _need(all(isinstance(state[name], dict) for name in parts), "state")
    for name in ("parameters", "gradients", "buffers"):
        _check_tensors(state[name], name)
    batch = state["batch"]
    _need(set(batch) in ({"whole"}, {"parts"}), "batch")
    if "parts" in batch:
        _check_tensors(batch["parts"], "batch")
    for kept in state["optimizers"].values():
        groups: Any = kept.get("param_groups") if isinstance(kept, dict) else None
        _need(isinstance(groups, list) and isinstance(kept.get("state"), dict), "optimizers")
        _need(all(isinstance(group, dict) and isinstance(group.get("params"), list) for group in groups), "optimizers")
    _need(state["scaler"] is None or isinstance(state["scaler"], dict), "scaler")
    _check_random(state["random"])


def _check_tensors(kept: Any, name: str) -> None:
    _need(isinstance(kept, dict), name)
    _need(all(isinstance(key, str) and isinstance(value, Tensor) for key, value in kept.items()), name)


def _check_random(random: Mapping[str, Any]) -> None:
    """Not all of it is looked at by those who take it: numpy would read beyond its own numbers."""
    torchs: Any = random.get("torch")
    python: Any = random.get("python")
    numpys: Any = random.get("numpy")
    alike = isinstance(torchs, Tensor) and torchs.dtype == uint8 and torchs.shape == get_rng_state().shape
    _need(alike, "random")
    _need(isinstance(python, list) and len(python) == 3 and _words(python[1], _PYTHON_NUMBERS), "random")
    _need(python[0] == 3 and (python[2] is None or type(python[2]) is float), "random")
    _need(isinstance(numpys, list) and len(numpys) == 5 and _words(numpys[1], _NUMPY_NUMBERS), "random")
    kind, _, position, has_gauss, gauss = numpys
    _need(kind == "MT19937" and _whole(position, 0, _NUMPY_NUMBERS + 1), "random")
    _need(has_gauss in (0, 1) and type(gauss) is float, "random")


def _words(numbers: Any, count: int) -> bool:
    return isinstance(numbers, list) and len(numbers) == count and all(_whole(each, 0, _WORD) for each in numbers)
