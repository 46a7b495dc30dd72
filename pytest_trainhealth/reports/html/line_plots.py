"""Curves over the steps of a run, with levels: what Vega-Lite draws of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .specs import CONFIG, HEIGHT, MOST_TICKS, WIDTH, Spec, decades

Point = tuple[float, float]
#: A label at its end (may be empty), what it means, and its points.
Line = tuple[str, str, Sequence[Point]]

#: A loss that changes by more than this factor is drawn with a logarithmic axis. By judgement: below, the end is told
#: from the floor on an even one.
_LOG_FROM = 30.0
#: What lies deeper below the highest value is drawn at the bottom of a logarithmic axis. By judgement: six decades
#: leave the first of them room.
_DEEPEST = 1e6
#: Of the height of a plot: a label. By judgement: 11 pixels of type and some room.
_ONE_LABEL = 0.075
_MAIN = ("run", "second")


def lines(curves: Sequence[Line], marks: Sequence[tuple[str, float]], x: str, y: str) -> Spec:
    """`curves`: a label at its end (may be empty), what it means, and its points; the first is the main one and drawn
    on top. `marks`: levels, each with its name. One of 0 has no place on a logarithmic axis, and is left to words."""
    values = [value for _, _, points in curves for _, value in points]
    logarithmic = min(values) > 0 and max(values) / min(values) > _LOG_FROM
    marks = [(name, level) for name, level in marks if not logarithmic or level > 0]
    low, high = min(values + [level for _, level in marks]), max(values + [level for _, level in marks])
    scale: Spec = {"zero": False, "nice": True}
    axis: Spec = {"grid": True, "tickCount": MOST_TICKS, "title": y, "format": "~g"}
    if logarithmic:
        low = max(low, high / _DEEPEST)
        axis["values"] = decades(low, high)
        scale = {"type": "log", "nice": False, "domain": [low * 0.8, high * 1.25]}
    layers: list[Spec] = []
    for name, level in _named_together(marks, low, high, logarithmic):
        layers += _level(name, level)
    ends = _labelled_together(curves, low, high)
    for (_, meaning, points), label in zip(reversed(curves), reversed(ends), strict=True):
        layers += _line(label, meaning, [(at, max(value, low)) for at, value in points])
    longest = max(points[-1][0] for _, _, points in curves)
    for layer in layers:
        layer["encoding"]["y"] = {"field": "y", "type": "quantitative", "scale": scale, "axis": axis}
        layer["encoding"].setdefault("x", {
            "field": "x", "type": "quantitative", "title": x, "scale": {"domain": [0, longest], "nice": False},
            "axis": {"grid": False, "tickCount": 6, "tickMinStep": 1, "format": "~s"},
        })  # fmt: skip
    return {"width": WIDTH, "height": HEIGHT, "config": CONFIG, "layer": layers}


def _labelled_together(curves: Sequence[Line], low: float, high: float) -> list[str]:
    """The labels of the curves; where several end at one place, the first of them has all of theirs."""
    labels, ends = list[str](), list[Point]()
    for label, _, points in curves:
        x, y = points[-1]
        same = next(
            (at for at, end in enumerate(ends) if labels[at] and end[0] == x and _near(end[1], y, low, high)), None
        )
        if label and same is not None:
            labels[same] = f"{labels[same]}, {label}"
            label = ""
        labels.append(label)
        ends.append((x, y))
    return labels


def _near(one: float, other: float, low: float, high: float) -> bool:
    return abs(one - other) <= _ONE_LABEL * (high - low) and abs(one - other) <= _ONE_LABEL * max(abs(one), abs(other))


def _line(label: str, meaning: str, points: Sequence[Point]) -> list[Spec]:
    values = [{"x": x, "y": y} for x, y in points]
    mark: Spec = {"type": "line", "color": meaning, "strokeWidth": 2 if meaning in _MAIN else 1.4, "clip": True}
    if meaning == "still":
        mark["strokeDash"] = [5, 3]
    found: list[Spec] = [{"data": {"values": values}, "mark": mark, "encoding": {}}]
    if label and values:
        text = {"type": "text", "text": label, "color": meaning, "dx": 6, "align": "left", "fontWeight": "bold"}
        found.append({"data": {"values": values[-1:]}, "mark": text, "encoding": {}})
    return found


def _level(name: str, level: float) -> list[Spec]:
    """A rule over the whole width, with its name above it at the right."""
    mark = {"type": "rule", "color": "level", "strokeDash": [2, 3], "strokeWidth": 1.2}
    text = {"type": "text", "text": name, "color": "level", "align": "right", "dy": -6}
    data = {"values": [{"y": level}]}
    return [
        {"data": data, "mark": mark, "encoding": {"x": {"value": 0}, "x2": {"value": WIDTH}}},
        {"data": data, "mark": text, "encoding": {"x": {"value": WIDTH - 4}}},
    ]


def _named_together(
    marks: Sequence[tuple[str, float]], low: float, high: float, logarithmic: bool
) -> list[tuple[str, float]]:
    """Levels in their order; the names of those that lie too close together are written at the lowest of them."""

    def place(level: float) -> float:
        return math.log(level) if logarithmic else level

    span, found = (place(high) - place(low)) or 1.0, list[tuple[str, float]]()
    for name, level in sorted(marks, key=lambda mark: mark[1]):
        close = found and (place(max(level, low)) - place(max(found[-1][1], low))) / span < _ONE_LABEL
        if close and found[-1][0]:
            found[-1] = (f"{found[-1][0]}, {name}", found[-1][1])
            name = ""
        found.append((name, max(level, low)))
    return found
