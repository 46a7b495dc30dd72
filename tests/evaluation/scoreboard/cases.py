"""What there is to diagnose: faulty programs, their twins without the fault, the healthy zoo, and the blind batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..corpus.blind import blind
from ..corpus.faults import faults
from ..corpus.healthy import programs

Kind = Literal["fault", "twin", "healthy"]
#: What the families of programs that were written blind begin with; the name of the batch follows.
BLIND = "blind "


@dataclass(frozen=True)
class Case:
    """A program and the truth about it. A twin or a healthy program has no cause."""

    kind: Kind
    name: str
    family: str
    cause: str = ""
    second: str = ""
    also: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.kind}/{self.name}"

    @property
    def right(self) -> frozenset[str]:
        """All names that are right for the main fault."""
        return frozenset((self.cause, *self.also))

    @property
    def blind(self) -> bool:
        return self.family.startswith(BLIND)

    def matches(self, parts: Iterable[str]) -> bool:
        return any(part in f"{self.id} {self.cause} {self.second} {self.family}" for part in parts)


def all_cases() -> dict[str, Case]:
    """All cases by id: faults in the order of the corpus, each followed by its twin, then the healthy programs.

    The blind batches come last, in the same order.
    """
    found: list[Case] = []
    for name, fault in faults().items():
        found.append(Case("fault", name, fault.family, fault.cause, fault.second, fault.also))
        found.append(Case("twin", name, fault.family))
    for name, program in programs().items():
        found.append(Case("healthy", name, program.__module__.rpartition(".")[2]))
    for name, written in blind().items():
        family = BLIND + written.batch
        if written.roots:
            found.append(Case("fault", name, family, written.roots[0], also=written.roots[1:]))
            found.append(Case("twin", name, family))
        else:
            found.append(Case("healthy", name, family))
    return {case.id: case for case in found}


def factory(case_id: str) -> Callable[[], Any]:
    """The function that builds the training of a case or, if the case is watched, runs it."""
    kind, _, name = case_id.partition("/")
    if written := blind().get(name):
        return written.twin if kind == "twin" else written.broken
    if kind == "healthy":
        return programs()[name]
    return faults()[name].broken if kind == "fault" else faults()[name].twin


def checks_of(case_id: str) -> tuple[str, ...] | None:
    """The checks that a case is about; None where it is the battery."""
    kind, _, name = case_id.partition("/")
    known = blind().get(name) or (faults().get(name) if kind != "healthy" else None)
    return known.checks or None if known is not None else None


def tenth(cases: Iterable[Case]) -> list[Case]:
    """From every ten faults of equal or neighbouring causes, the one whose family came least so far, and its twin.

    Blind programs are left to the whole scoreboard: with them the slice, which every test run pays for, would nearly
    double.
    """
    cases = [case for case in cases if not case.blind]
    strata = sorted((case for case in cases if case.kind == "fault"), key=lambda case: (case.cause, case.name))
    total, taken = Counter(case.family for case in strata), Counter[str]()
    selected = set()
    for start in range(0, len(strata), 10):
        least = min(strata[start : start + 10], key=lambda case: (taken[case.family] / total[case.family], case.name))
        taken[least.family] += 1
        selected.add(least.name)
    return [case for case in cases if case.kind != "healthy" and case.name in selected]
