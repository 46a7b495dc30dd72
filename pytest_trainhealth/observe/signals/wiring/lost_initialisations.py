"""Initial values that were written into computed weights before the first step, which computes them anew."""

from __future__ import annotations

from ....records.wiring import LostInitialisation
from ...run.run import Run
from ...run.signal import Cost, Signal


class LostInitialisations(Signal):
    NAME, COST = "lost_initialisations", Cost.CLOSE

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._looked = False

    def backward_begins(self, roots: object) -> None:
        """The first pass: a watched loop's first step may begin where a weight is read to be initialised."""
        sites = self._run.creation_sites
        if self._looked or sites is None:
            return
        self._looked = True
        paths = {id(module): path for path, module in self._run.named_modules()}
        for holder, name, place in sites.computed.lost():
            path = paths.get(id(holder))
            if path is None:
                continue
            layer, _, rest = path.partition("parametrizations.")
            weight = f"{layer}{rest}" if rest else f"{path}.{name}".lstrip(".")
            found = self._run.trace.wiring.lost_initialisations
            if all(each.weight != weight for each in found):
                found.append(LostInitialisation(weight, old=not rest, place=place))
        sites.computed.end()
