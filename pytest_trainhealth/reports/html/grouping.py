"""Verdicts by training: what a row of the overview and a section of the page are about, and the names of both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...records.verdict import Outcome, Verdict
from ...settings import CHECKS
from ..one_chart import main_cause
from ..overview import stated_once

#: Characters of a link. By judgement: a longer one is not typed, and node ids may have hundreds.
_LONGEST_SLUG = 80


@dataclass(frozen=True)
class Judged:
    verdict: Verdict
    nodeid: str
    #: What a link to it is called.
    slug: str
    #: The test was expected to fail.
    expected: bool = False


@dataclass(frozen=True)
class TrainingGroup:
    label: str
    slug: str
    #: In the order of the table of checks.
    judged: tuple[Judged, ...]

    @property
    def verdicts(self) -> list[Verdict]:
        return [each.verdict for each in self.judged]

    @property
    def outcome(self) -> Outcome:
        """Failed if one check failed; passed only if all passed."""
        outcomes = [verdict.outcome for verdict in self.verdicts]
        return "failed" if "failed" in outcomes else "could not judge" if "could not judge" in outcomes else "passed"

    @property
    def causes(self) -> list[str]:
        return [main_cause(verdict) or "no known cause fits" for verdict, _ in stated_once(self.verdicts)]

    @property
    def seconds(self) -> float:
        return sum(verdict.seconds for verdict in self.verdicts)


def grouped(verdicts: Sequence[Mapping[str, Any]]) -> list[TrainingGroup]:
    """In the order in which the trainings first reported."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in verdicts:
        found.setdefault((without_check(each["nodeid"], each["check"]), each["training"]), []).append(each)
    labels, taken = _labels(list(found)), Counter[str]()
    return [_group(labels[key], of_training, taken) for key, of_training in found.items()]


def _group(label: str, found: Sequence[Mapping[str, Any]], taken: Counter[str]) -> TrainingGroup:
    slug, order = _free(slug_of(label), taken), list(CHECKS)
    # a check that this version does not know: a file may be older, or newer
    ranked = sorted(found, key=lambda e: order.index(e["check"]) if e["check"] in order else len(order))
    judged = tuple(
        Judged(
            Verdict.from_json(e), e["nodeid"], _free(f"{slug}--{slug_of(e['check'])}", taken), bool(e.get("expected"))
        )
        for e in ranked
    )
    return TrainingGroup(label, slug, judged)


def without_check(nodeid: str, check: str) -> str:
    """'test_it.py::test[gradients_flow]' becomes 'test_it.py::test'. Among other parameters it comes last or first."""
    for ids, rest in ((f"[{check}]", ""), (f"-{check}]", "]")):
        if nodeid.endswith(ids):
            return nodeid.removesuffix(ids) + rest
    return nodeid.replace(f"[{check}-", "[", 1)


def slug_of(text: str) -> str:
    """What a browser, a shell and a chat leave as it is."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-")[:_LONGEST_SLUG] or "training"


def _free(slug: str, taken: Counter[str]) -> str:
    taken[slug] += 1
    if taken[slug] == 1:
        return slug
    return _free(f"{slug}-{taken[slug]}", taken)


def _labels(keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The test's name; with its path where another has the same, with the training's where it trains several."""
    short = Counter(test.rpartition("::")[2] for test in {test for test, _ in keys})
    trainings = Counter(test for test, _ in keys)
    labels = {}
    for test, training in keys:
        name = test.rpartition("::")[2]
        label = name if short[name] == 1 else test
        labels[test, training] = f"{label}: {training}" if trainings[test] > 1 else label
    return labels
