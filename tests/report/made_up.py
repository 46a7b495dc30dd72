"""Verdicts of made-up trainings with all that a page can show, and what is needed to read the page."""

from __future__ import annotations

import math
import types
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from pytest_trainhealth.records.recorded import ActivationFigures, Curve, FieldFigures, ParameterFigures, Recorded
from pytest_trainhealth.records.verdict import Verdict
from pytest_trainhealth.reports import RunResults, html_file

from ..messages.made_up import HEAD, WHOLE


def curve(start: float, end: float, steps: int = 60, name: str = "the run") -> Curve:
    values = tuple(end + (start - end) * math.exp(-8 * at / steps) for at in range(steps))
    return Curve(name, tuple(map(float, range(steps))), values)


RECORDED = Recorded(
    losses=curve(2.303, 2.303),
    rates=(Curve("AdamW", (0.0, 30.0, 59.0), (1e-3, 5e-4, 1e-5), "update"), Curve("SGD", (0.0, 59.0), (0.1, 0.1))),
    chance=2.303,
    floor=0.0,
    reach=0.02,
    parameters=(
        ParameterFigures("encoder.weight", 512, True, (1e-3, 2e-3), (1e-4, 2e-4)),
        ParameterFigures("head.weight", 64, True, (0.5, 0.0), (None, None)),
        ParameterFigures("head.bias", 8, True, (None, None), (None, None)),
    ),
    parameter_count=120,
    activations=(ActivationFigures("relu", "encoder", 64, 0.25), ActivationFigures("tanh", "", 8, None, 0.5)),
    fields=(FieldFigures("batch[0]", "16 x 20 float32", -3.0, 3.0, 0.0, 1.0),),
    classes=((0, 60), (1, 4)),
    samples=64,
    val_samples=16,
)
CURED = tuple(replace(rerun, losses=curve(2.303, 0.021, 40)) for rerun in HEAD.reruns)
SICK = replace(
    WHOLE,
    training="test_finetune",
    findings=(replace(HEAD, reruns=CURED),),
    reruns=tuple(replace(rerun, losses=curve(2.303, 2.3)) for rerun in WHOLE.reruns),
    notes=("in one of two runs", "  model.train()"),
    recorded=RECORDED,
)
SAME_CAUSE = replace(SICK, check="gradients_flow", steps=4, recorded=None)
UNJUDGED = Verdict("learns_from_data", "test_finetune", "could not judge", "the time budget of 300 s is used up")
HEALTHY = Verdict(
    "overfits_one_batch", "test_healthy", "passed", recorded=Recorded(losses=curve(2.3, 0.01)), steps=60, seconds=0.8
)
SPEED = replace(
    HEALTHY,
    check="keeps_throughput",
    recorded=None,
    figures={
        **{"step_seconds": 0.02, "samples_per_second": 800.0, "wait_ms": 4.0, "transfer_ms": 0.0, "forward_ms": 6.0},
        **{"backward_ms": 8.0, "optimizer_ms": 1.5, "rest_ms": 0.5},
    },
)
LOGGED = Verdict(
    "history_is_healthy",
    "run.csv",
    "passed",
    recorded=Recorded(logged=(curve(2, 1, name="train_loss"), curve(2, 1.5, name="val_loss"), curve(1, 0, name="lr"))),
)


def as_json(verdict: Verdict, test: str = "") -> dict[str, Any]:
    return {"nodeid": f"test_it.py::{test or verdict.training}[{verdict.check}]", **verdict.to_json()}


def results(*verdicts: Verdict, **told: Any) -> RunResults:
    told = {"complete": True, "interrupted": False, "ended": True, **told}
    return RunResults(verdicts=[as_json(verdict) for verdict in verdicts], **told)


ALL = (SICK, SAME_CAUSE, UNJUDGED, HEALTHY, SPEED, LOGGED)


def page(*verdicts: Verdict, **told: Any) -> str:
    return html_file.text(results(*(verdicts or ALL), **told))


#: Of losses and sizes; the smallest and the largest that there are among them.
ODD_VALUES = (math.nan, math.inf, -math.inf, 0.0, -1.0, 5e-324, 1.7e308, -1.7e308)


def odd(value: float) -> Recorded:
    return Recorded(
        losses=Curve("the run", tuple(map(float, range(6))), (1.0, value, value, value, value, value)),
        chance=value,
        parameters=(ParameterFigures("weight", 4, True, (value, value), (value, value)),),
        parameter_count=1,
    )


DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200" viewBox="0 0 400 200">
<script>alert(1)</script><g class="root" style="x" onclick="alert(1)"><path class="background" d="M0,0h9"/>
<path d="M0,0.123456L5.98765,2.000001" stroke="run" fill="none" href="http://away"/>
<text fill="muted">a &lt;b&gt;</text>
<image href="http://away"/></g></svg>"""


def stand_in(drawing: str = DRAWING) -> types.SimpleNamespace:
    """For the package that draws: the tests of most environments do without it."""
    made = types.SimpleNamespace(specs=[])

    def vegalite_to_svg(spec: str, allowed_base_urls: list[str]) -> str:
        assert allowed_base_urls == []
        made.specs.append(spec)
        return drawing

    made.vegalite_to_svg = vegalite_to_svg
    return made


class Page(HTMLParser):
    """All start tags with their attributes, the text, and whatever is not closed in its order."""

    VOID = frozenset(("meta", "input", "wbr"))

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.unbalanced: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        self.unbalanced += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.unbalanced.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def values(self, attribute: str) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get(attribute)) is not None]
