"""What there is to diagnose: faulty programs, their twins without the fault, and the healthy zoo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..corpus.faults import faults
from ..corpus.healthy import programs

Kind = Literal["fault", "twin", "healthy"]


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

    def matches(self, parts: Iterable[str]) -> bool:
        return any(part in f"{self.id} {self.cause} {self.second} {self.family}" for part in parts)


def all_cases() -> dict[str, Case]:
    """All cases by id: faults in the order of the corpus, each followed by its twin, then the healthy programs."""
    found: list[Case] = []
    for name, fault in faults().items():
        found.append(Case("fault", name, fault.family, fault.cause, fault.second, fault.also))
        found.append(Case("twin", name, fault.family))
    for name, program in programs().items():
        found.append(Case("healthy", name, program.__module__.rpartition(".")[2]))
    return {case.id: case for case in found}


def factory(case_id: str) -> Callable[[], Any]:
    """The function that builds the training of a case or, if the case is watched, runs it."""
    kind, _, name = case_id.partition("/")
    if kind == "healthy":
        return programs()[name]
    return faults()[name].broken if kind == "fault" else faults()[name].twin


def tenth(cases: Iterable[Case]) -> list[Case]:
    """From every ten faults of equal or neighbouring causes, the one whose family came least so far, and its twin."""
    cases = list(cases)
    strata = sorted((case for case in cases if case.kind == "fault"), key=lambda case: (case.cause, case.name))
    total, taken = Counter(case.family for case in strata), Counter[str]()
    selected = set()
    for start in range(0, len(strata), 10):
        least = min(strata[start : start + 10], key=lambda case: (taken[case.family] / total[case.family], case.name))
        taken[least.family] += 1
        selected.add(least.name)
    return [case for case in cases if case.kind != "healthy" and case.name in selected]
