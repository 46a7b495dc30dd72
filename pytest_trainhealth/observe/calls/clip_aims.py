"""Which update a line that clips gradients is about: does any optimizer use what it clips, before that is cleared?

Whoever clips wants the next update to be tame. Where the optimizer that steps next holds none of the parameters, and
nothing has clipped those that it does hold, the line has the wrong ones: the actor's, say, where the critic steps. The
gradients it has cut are cleared without having been used, or it found none. A line whose gradients are used later on is
in time (two losses, one backward pass, two steps).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...records.verdict import Place


@dataclass
class _Aim:
    """What a line has clipped, until it turns out whether that is used."""

    given: set[int] = field(default_factory=set)
    with_gradient: set[int] = field(default_factory=set)
    #: An optimizer has stepped with gradients of its own, none of which anybody had clipped.
    stepped_past: bool = False


class ClipAims:
    """`settled` gets the line and whether an optimizer has used what it clipped. Parameters are known by their id."""

    def __init__(self, settled: Callable[[Place, bool], None]) -> None:
        self._settled = settled
        self._open: dict[Place, _Aim] = {}
        #: Clipped by any line, and neither used nor cleared since.
        self._clipped: set[int] = set()
        #: That some optimizer has ever stepped with: what is held back for now is used later.
        self._ever_used: set[int] = set()

    def clipped(self, place: Place, parameter: int, has_gradient: bool) -> None:
        aim = self._open.get(place)
        if aim is not None and aim.stepped_past:
            self._settle(place, used=False)
        aim = self._open.setdefault(place, _Aim())
        aim.given.add(parameter)
        if has_gradient:
            aim.with_gradient.add(parameter)
            self._clipped.add(parameter)

    def used(self, parameters: set[int], watching: bool) -> None:
        """An optimizer has stepped. `watching`: whether it would have been seen that somebody clips."""
        self._ever_used |= parameters
        unclipped = watching and parameters.isdisjoint(self._clipped)
        for place, aim in list(self._open.items()):
            if not parameters.isdisjoint(aim.with_gradient):
                self._settle(place, used=True)
            elif unclipped and parameters and parameters.isdisjoint(aim.given):
                aim.stepped_past = True
        self._clipped -= parameters

    def cleared(self, parameters: set[int]) -> None:
        for place, aim in list(self._open.items()):
            if not parameters.isdisjoint(aim.with_gradient):
                self._settle(place, used=False)
        self._clipped -= parameters

    def pass_begins(self) -> None:
        """Lines that found nothing are about what was before."""
        for place in [place for place, aim in self._open.items() if not aim.with_gradient]:
            self._settle(place, used=False)

    def _settle(self, place: Place, used: bool) -> None:
        aim = self._open.pop(place)
        if used or (aim.stepped_past and not aim.given.isdisjoint(self._ever_used)):
            self._settled(place, used)
