"""The knowledge base: one file per cause, named like it; found by scanning, no list to edit.

A cause's module docstring is its page (``pytest --trainhealth-explain NAME`` and the docs show it): the first
line is ``name: what is wrong``, then sections in the order of `SECTIONS`. It defines

``GROUP``     what it is about, one of `_groups`; says also in which stage of a diagnosis it is considered
``STAGE``     that stage, only where it differs from the group's, with the reason next to it
``ORDER``     its place within the stage, from 0; of two that share one, the alphabet decides
``EXPLAINS``  the categories of symptom it can explain (`pytest_trainhealth.records.symptoms`)
``look``      ``(trace, symptom) -> Suspicion | None``: evidence first; a cure alone names nothing
``swap``      ``(trace, symptom) -> Suspicion | None``, for an ingredient that a plain recipe or model has differently:
              what to change without a threshold having pointed to it; None where nothing differs
``SWAPS``     which of the two: "recipe" or "model"
``in_history``  ``(history, symptom) -> Suspicion | None``, where the log of a finished run can show it, too
``CURABLE``   False where no intervention can stand in for the fix, so that *likely* is the best it can be
``ADVICE``    True where it is never the cause of a failure: a check names it in a note, and there is no `look`

and imports no torch: it reads records only, and prescribes cures as records.
"""

from __future__ import annotations

import functools
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from ..records.history import History
from ..records.intervention import Cure
from ..records.trace import Trace
from ..records.verdict import Certainty, Evidence, Fix, Place, Symptom
from ._groups import GROUPS as GROUPS
from ._groups import NUMBERS as NUMBERS
from ._groups import Group as Group
from ._groups import Stage as Stage

SECTIONS = (
    "What happens",
    "How severe it is",
    "How it is recognised",
    "How to fix it",
    "What not to do",
    "How to prevent it",
    "When this is wrong",
)


@dataclass(frozen=True)
class Suspicion:
    """A cause with evidence, before any cure was tried."""

    statement: str
    evidence: tuple[Evidence, ...]
    certainty: Certainty = "likely"
    why: str = ""
    places: tuple[Place, ...] = ()
    fix: Fix | None = None
    not_this: str = ""
    #: Most specific first; the first that heals the run confirms the cause.
    cures: tuple[Cure, ...] = ()
    #: The parameters that it is about, where its cures do not name them.
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cause:
    """One entry of the knowledge base, known by its name."""

    name: str
    group: Group
    stage: Stage
    order: int
    explains: tuple[str, ...]
    look: Callable[[Trace, Symptom], Suspicion | None]
    page: str
    curable: bool = True
    #: Named in notes only.
    advice: bool = False
    swap: Callable[[Trace, Symptom], Suspicion | None] | None = None
    #: Where a fault has to lie for the swap to be worth trying (`Symptom.suspects`).
    swaps: str = "recipe"
    in_history: Callable[[History, Symptom], Suspicion | None] | None = None

    @property
    def rank(self) -> int:
        """Its place in the order of all causes."""
        return self.stage.first_rank + self.order

    @property
    def title(self) -> str:
        """The first line of the page, without the name."""
        return self.page.splitlines()[0].split(": ", 1)[1]


def cause_names() -> tuple[str, ...]:
    """By looking at file names alone."""
    found = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    return tuple(sorted(name.replace("_", "-") for name in found))


@functools.cache
def cause(name: str) -> Cause:
    module = import_module(f".{name.replace('-', '_')}", __name__)
    stage = getattr(module, "STAGE", module.GROUP.stage)
    return Cause(
        name=name,
        group=module.GROUP,
        stage=stage,
        order=module.ORDER,
        explains=tuple(module.EXPLAINS),
        look=getattr(module, "look", _finds_nothing),
        page=inspect.getdoc(module) or "",
        curable=getattr(module, "CURABLE", True),
        advice=getattr(module, "ADVICE", False),
        swap=getattr(module, "swap", None),
        swaps=getattr(module, "SWAPS", "recipe"),
        in_history=getattr(module, "in_history", None),
    )


def _finds_nothing(trace: Trace, symptom: Symptom) -> Suspicion | None:
    """For advice."""
    return None


@functools.cache
def all_causes() -> tuple[Cause, ...]:
    """In the order in which they are considered."""
    return tuple(sorted((cause(name) for name in cause_names()), key=lambda c: (c.rank, c.name)))
