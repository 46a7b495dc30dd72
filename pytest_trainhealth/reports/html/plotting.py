"""Plots, drawn by Vega-Lite. The package that brings it (`vl-convert-python`) is asked for here and nowhere else.

One plot takes 0.04 s on a busy core and 2 to 6 kB of the page; alike plots are drawn once. Nothing that goes wrong here
keeps a report from being written: it is told in one line, and tables hold the same figures.
"""

from __future__ import annotations

import json
from typing import Any

from ...frameworks.needed import NotInstalled, needed
from .markup import Markup
from .svg import embedded

EXTRA = "report"


class Plotter:
    """Draws for one page."""

    def __init__(self, prefix: str = "plot") -> None:
        #: Begins the names of plots, which have to differ from those of other pages in the same notebook.
        self._prefix = prefix
        #: Why there are no plots, or fewer than there could be; empty if all were drawn.
        self.trouble = ""
        self._library: Any = None
        self._drawn: dict[str, str] = {}
        self._count = 0
        try:
            self._library = needed("vl_convert", EXTRA)
        except NotInstalled as missing:
            self.trouble = f"written without plots, because {missing}"
        except Exception as broken:  # a library of compiled code may fail to load in many ways
            self._give_up(broken)

    def plot(self, spec: dict[str, Any], title: str, description: str) -> Markup | None:
        """None if it cannot be drawn."""
        drawing = self._drawing(json.dumps(spec, sort_keys=True))
        if drawing is None:
            return None
        self._count += 1
        try:
            return Markup(embedded(drawing, title, description, f"{self._prefix}-{self._count}"))
        except Exception as broken:
            self._give_up(broken)
            return None

    def _drawing(self, spec: str) -> str | None:
        if spec not in self._drawn and self._library is not None:
            try:
                self._drawn[spec] = str(self._library.vegalite_to_svg(spec, allowed_base_urls=[]))
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as broken:  # a panic of compiled code is no Exception
                self._give_up(broken)
        return self._drawn.get(spec)

    def _give_up(self, broken: BaseException) -> None:
        """What fails once fails again: the rest of the page is worth more than the time."""
        reason = " ".join(f"{type(broken).__name__}: {broken}".split())[:200]
        self._library, self.trouble = None, f"not all plots could be drawn: {reason}"
