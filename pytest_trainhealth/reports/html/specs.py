"""What Vega-Lite draws. Colours are names of what they mean; the style sheet of the page knows what they look like."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

Spec = dict[str, Any]

#: Pixels of a plot in the page's grid of two columns. By judgement: on a phone it is shown at three quarters.
WIDTH, HEIGHT = 390, 210
#: Pixels of a plot with a row for each name, and of one of its rows. By judgement: names and axis fill one column.
_ROW_WIDTH, _ROW = 290, 17
#: Labels of a logarithmic axis. By judgement: more overlap.
MOST_TICKS = 5
#: Of the width of a plot: a letter. By judgement: 8 pixels of bold type and some room.
_LETTER = 0.022
#: What is smaller is as good as 0, and what is larger is as bad as infinite: no power of ten lies around it.
_SMALLEST, _LARGEST = 1e-300, 1e300

CONFIG: Spec = {
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "gridColor": "grid", "domainColor": "axis", "tickColor": "axis", "labelColor": "muted", "titleColor": "muted",
        "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "tickSize": 4, "titlePadding": 6,
    },
    "text": {"fontSize": 11},
}  # fmt: skip


def dots(rows: Sequence[tuple[str, float | None, float | None]], title: str) -> Spec:
    """A row for each name: its value at the first look (hollow) and at the last (full), on a logarithmic axis."""
    drawable = [value for _, *both in rows for value in both if value is not None and _positive(value)]
    low, high = (min(drawable), max(drawable)) if drawable else (1e-3, 1.0)
    domain = [10.0 ** math.floor(math.log10(low) - 0.1), 10.0 ** math.ceil(math.log10(high) + 0.1)]
    y: Spec = {
        "field": "name", "type": "nominal", "sort": None, "title": None,
        "axis": {"labelLimit": 165, "labelPadding": 6, "domain": False, "ticks": False, "grid": True},
    }  # fmt: skip
    x: Spec = {
        "type": "quantitative", "scale": {"type": "log", "domain": domain, "nice": False},
        "axis": {"values": decades(*domain), "format": ".0e", "title": title, "grid": True},
    }  # fmt: skip
    data = [
        {"name": name, "first": first if _positive(first) else None, "last": last if _positive(last) else None,
         "none": None if _positive(last) else ("none" if last is None else "0" if last == 0 else str(last))}
        for name, first, last in rows
    ]  # fmt: skip
    both = [each for each in data if each["first"] is not None and each["last"] is not None]
    hollow = {"type": "point", "color": "run", "filled": False, "size": 30, "strokeWidth": 1.4}
    words = {"type": "text", "color": "bad", "align": "left", "fontWeight": "bold", "x": 4}
    layers: list[Spec] = [
        {"data": {"values": data}, "mark": {"type": "point", "color": "run", "filled": True, "size": 38},
         "encoding": {"y": y, "x": {**x, "field": "last"}}, "transform": [{"filter": "isValid(datum.last)"}]},
        {"data": {"values": both}, "mark": {"type": "rule", "color": "run", "strokeWidth": 1},
         "encoding": {"y": y, "x": {**x, "field": "first"}, "x2": {"field": "last"}}},
        {"data": {"values": both}, "mark": hollow, "encoding": {"y": y, "x": {**x, "field": "first"}}},
        {"data": {"values": [each for each in data if each["none"]]}, "mark": words,
         "encoding": {"y": y, "text": {"field": "none"}}},
    ]  # fmt: skip
    y["scale"] = {"domain": [name for name, *_ in rows]}
    return {"width": _ROW_WIDTH, "height": {"step": _ROW}, "config": CONFIG, "layer": layers}


def bars(rows: Sequence[tuple[str, float, str]], title: str, form: str, domain: Sequence[float] | None = None) -> Spec:
    """A bar for each name: its length, and what it means."""
    data = [{"name": name, "value": value, "meaning": meaning} for name, value, meaning in rows]
    meanings = sorted({meaning for _, _, meaning in rows})
    scale: Spec = {"nice": False, **({} if domain is None else {"domain": list(domain)})}
    axis = {"format": form, "title": title, "tickCount": 5, "grid": True}
    return {
        "width": _ROW_WIDTH,
        "height": {"step": _ROW},
        "config": CONFIG,
        "data": {"values": data},
        "mark": {"type": "bar", "height": {"band": 0.62}},
        "encoding": {
            "y": {"field": "name", "type": "nominal", "sort": None, "title": None,
                  "axis": {"labelLimit": 165, "labelPadding": 6, "domain": False, "ticks": False}},
            "yOffset": {"field": "meaning", "type": "nominal"} if _twice(data) else {"value": 0},
            "x": {"field": "value", "type": "quantitative", "stack": None, "scale": scale, "axis": axis},
            "color": {"field": "meaning", "scale": {"domain": meanings, "range": meanings}, "legend": None},
        },
    }  # fmt: skip


def parts(rows: Sequence[tuple[str, float, str]], title: str) -> Spec:
    """One bar, in its parts, in their order; each with its name where there is room."""
    total, done = sum(value for _, value, _ in rows) or 1.0, 0.0
    data: list[Spec] = []
    for name, value, meaning in rows:
        label = name if value / total > len(name) * _LETTER else ""
        data.append({"from": done, "to": done + value, "middle": done + value / 2, "name": label, "meaning": meaning})
        done += value
    meanings = [meaning for _, _, meaning in rows]
    scale = {"domain": [0, done], "nice": False}
    axis = {"title": title, "tickCount": 6, "grid": False}
    color = {"field": "meaning", "scale": {"domain": meanings, "range": meanings}, "legend": None}
    x: Spec = {"type": "quantitative", "scale": scale, "axis": axis}
    return {
        "width": WIDTH,
        "height": 30,
        "config": CONFIG,
        "data": {"values": data},
        "layer": [
            {"mark": {"type": "rect"},
             "encoding": {"x": {**x, "field": "from"}, "x2": {"field": "to"}, "color": color}},
            {"mark": {"type": "text", "color": "onfill", "fontWeight": "bold"},
             "encoding": {"x": {**x, "field": "middle"}, "text": {"field": "name"}}},
        ],
    }  # fmt: skip


def can_be_drawn(value: float) -> bool:
    return math.isfinite(value) and abs(value) < _LARGEST


def decades(low: float, high: float) -> list[float]:
    """Powers of ten between the two; every second or third of them where there are many."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first + 1) / MOST_TICKS))
    found = [10.0**power for power in range(first, last + 1, every)]
    return found if len(found) > 1 else [float(f"{low:.2g}"), *found, float(f"{high:.2g}")]


def _positive(value: float | None) -> bool:
    return value is not None and can_be_drawn(value) and value > _SMALLEST


def _twice(data: Iterable[Spec]) -> bool:
    names = [each["name"] for each in data]
    return len(set(names)) < len(names)
