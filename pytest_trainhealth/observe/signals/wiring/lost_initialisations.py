"""Initial values that were written into computed weights before the first step, which computes them anew."""

from __future__ import annotations

from ....records.wiring import LostInitialisation
from ...run.signal import Cost, Signal


class LostInitialisations(Signal):
    NAME, COST = "lost_initialisations", Cost.CLOSE

    def step_begins(self, batch: object) -> None:
        sites = self._run.creation_sites
        if self._run.step or sites is None:
            return
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
