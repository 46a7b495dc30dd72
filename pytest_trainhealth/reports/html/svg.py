"""A drawing as the page can take it: known elements and attributes only, short numbers, classes instead of colours.

The content policy of the page allows no `style` attribute and the reader may prefer the dark: so the specifications in
`specs.py` name colours by what they mean ("run", "grid"), and the style sheet says what they look like.
"""

from __future__ import annotations

import re
from html import escape
from xml.etree import ElementTree

_ELEMENTS = {"g", "path", "line", "text", "rect"}
_KEPT = (
    *("transform", "d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "stroke-width", "stroke-dasharray"),
    *("text-anchor", "font-size", "font-weight"),
)
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_WORD = re.compile(r"[a-z][a-z-]*")
#: Frames that the renderer puts around every group, for pointers.
_INVISIBLE = {"background", "foreground"}
_NO_MOVE = "translate(0,0)"


def embedded(drawing: str, title: str, description: str, name: str) -> str:
    """`name`: unique in the page. A reader who cannot see it is told the title and the description."""
    root = ElementTree.fromstring(drawing)
    box = escape(root.get("viewBox", "0 0 460 240"))
    width = escape(root.get("width", "460"))
    inside = "".join(_element(child) for child in root)
    return (
        f'<svg role="img" aria-labelledby="{name}-t {name}-d" viewBox="{box}" width="{width}" class="plot">'
        f'<title id="{name}-t">{escape(title)}</title><desc id="{name}-d">{escape(description)}</desc>{inside}</svg>'
    )


def _element(element: ElementTree.Element) -> str:
    kind = element.tag.rpartition("}")[2]
    if kind not in _ELEMENTS or set((element.get("class") or "").split()) & _INVISIBLE:
        return ""
    inside = "".join(_element(child) for child in element) + escape((element.text or "").strip())
    attributes = _attributes(element)
    if kind == "g" and (not inside or not attributes):
        return inside
    if kind == "path" and not element.get("d"):
        return ""
    return f"<{kind}{attributes}>{inside}</{kind}>" if inside else f"<{kind}{attributes}/>"


def _attributes(element: ElementTree.Element) -> str:
    kept = {name: _shorter(value) for name in _KEPT if (value := element.get(name)) is not None}
    if kept.get("transform") == _NO_MOVE:
        del kept["transform"]
    written = "".join(f' {name}="{escape(value)}"' for name, value in kept.items())
    classes = [
        f"{short}-{value}" for name, short in (("fill", "f"), ("stroke", "s")) if (value := _word(element, name))
    ]
    return written + (f' class="{" ".join(classes)}"' if classes else "")


def _word(element: ElementTree.Element, name: str) -> str:
    value = element.get(name) or ""
    return value if _WORD.fullmatch(value) and value not in ("none", "transparent") else ""


def _shorter(value: str) -> str:
    """A tenth of a pixel is more than a screen shows."""
    return _NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), value)
