"""A baseline as a text that people review: one line for each layer and each step, and in each line the same columns."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..records.baseline import Baseline, BatchSteps, Figure, LayerFigures, StepRow, Surroundings

#: Raised by one whenever older files can no longer be read. It is not a limit, and began at 1.
FORMAT = 1
_ABOUT = "a healthy run for matches_baseline of pytest-trainhealth; --trainhealth-update-baseline writes it anew"
_COLUMNS = "value, mean over the seeds, spread over the seeds, what rounding does to it"
#: Significant digits of a value, and of how far it may be from it. By judgement: 6 are what float32 holds for sure, and
#: of a tolerance nobody needs more than 2.
_DIGITS, _OF_A_TOLERANCE = 6, 2


class UnreadableBaseline(ValueError):
    """The file is none of ours, or damaged; the message says what is wrong with it, in one line."""


def text(baseline: Baseline) -> str:
    head = {
        "about": _ABOUT,
        "format": FORMAT,
        "test": baseline.test,
        "seed": baseline.seed,
        "seeds": baseline.seeds,
        "surroundings": asdict(baseline.surroundings),
        "optimizers": baseline.optimizers,
        "order": baseline.order,
        "batch_size": baseline.batch_size,
        "batches": baseline.batches,
        "columns": _COLUMNS,
        "memorised": _row(baseline.memorised),
    }
    layers = [
        {"layer": each.name, "shape": list(each.shape), "start": _row(each.start), "gradient": _row(each.gradient),
         "update": _row(each.update)}
        for each in baseline.layers
    ]  # fmt: skip
    steps = [
        {"step": number, "loss": _row(each.loss), "gradient": _row(each.gradient), "rate": each.rate,
         "batch": each.batch.print, "samples": each.batch.samples, "size": _rounded(each.batch.size, _DIGITS),
         "draws": each.batch.draws}
        for number, each in enumerate(baseline.steps)
    ]  # fmt: skip
    lines = [f"{_json(name)}: {_json(value)}" for name, value in head.items()]
    lines += [_table("layers", layers), _table("steps", steps)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _table(name: str, rows: list[dict[str, Any]]) -> str:
    return f"{_json(name)}: [\n" + ",\n".join(f"  {_json(row)}" for row in rows) + "\n]"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _row(figure: Figure | None) -> list[float | None] | None:
    if figure is None:
        return None
    return [
        _rounded(figure.value, _DIGITS),
        None if figure.mean is None else _rounded(figure.mean, _DIGITS),
        None if figure.spread is None else _rounded(figure.spread, _OF_A_TOLERANCE),
        _rounded(figure.rounding, _OF_A_TOLERANCE),
    ]


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def parsed(content: str) -> Baseline:
    """Raises `UnreadableBaseline`."""
    try:
        found = json.loads(content)
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        raise UnreadableBaseline(f"line {line} is not JSON ({getattr(error, 'msg', error)})") from None
    if not isinstance(found, dict) or "format" not in found:
        raise UnreadableBaseline("it is no baseline of pytest-trainhealth")
    if found["format"] != FORMAT:
        raise UnreadableBaseline(f"it has format {found['format']!r}, and this version reads {FORMAT}")
    try:
        return _baseline(found)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise UnreadableBaseline(f"it is damaged ({type(error).__name__}: {error})") from None


def _baseline(found: Mapping[str, Any]) -> Baseline:
    layers = tuple(
        LayerFigures(
            str(row["layer"]),
            tuple(int(n) for n in row["shape"]),
            _figure(row["start"]),
            _figure(row["gradient"]),
            _figure(row["update"]),
        )
        for row in found["layers"]
    )
    steps = tuple(_step(row) for row in found["steps"])
    if not layers or not steps:
        raise ValueError("no layers, or no steps")
    return Baseline(
        test=str(found["test"]),
        seed=int(found["seed"]),
        seeds=int(found["seeds"]),
        surroundings=Surroundings(**found["surroundings"]),
        optimizers={str(label): str(words) for label, words in found["optimizers"].items()},
        order=str(found["order"]),
        batch_size=None if found["batch_size"] is None else int(found["batch_size"]),
        batches=None if found["batches"] is None else int(found["batches"]),
        memorised=_figure(found["memorised"]),
        layers=layers,
        steps=steps,
    )


def _step(row: Mapping[str, Any]) -> StepRow:
    loss = _figure(row["loss"])
    if loss is None:
        raise ValueError("a step without a loss")
    batch = BatchSteps(str(row["batch"]), str(row["samples"]), float(row["size"]), str(row["draws"]))
    return StepRow(loss, _figure(row["gradient"]), None if row["rate"] is None else float(row["rate"]), batch)


def _figure(row: Any) -> Figure | None:
    if row is None:
        return None
    value, mean, spread, rounding = row
    known = [None if each is None else float(each) for each in (mean, spread)]
    return Figure(float(value), known[0], known[1], float(rounding))


def read(path: Path) -> Baseline:
    """Raises `FileNotFoundError`, another `OSError`, or `UnreadableBaseline`."""
    try:
        return parsed(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise UnreadableBaseline("it is not UTF-8 text") from None


def write(path: Path, baseline: Baseline) -> None:
    """As a whole, or not at all: a run may be killed, and tests of several processes write side by side."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        part.write_text(text(baseline), encoding="utf-8", newline="\n")
        os.replace(part, path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
