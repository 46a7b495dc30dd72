"""`python -m tests.evaluation.scoreboard.logs`: what is said about logs of finished runs whose truth is known.

The logs were written blind, like the programs beside them; `truth.json` says which are sick, and what is right then.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pytest_trainhealth import diagnose
from pytest_trainhealth.records.verdict import Verdict

FOLDER = Path(__file__).parent.parent / "corpus" / "blind" / "logs"
TRUTH = FOLDER / "truth.json"


@dataclass(frozen=True)
class Log:
    name: str
    sick: bool
    right: frozenset[str]

    def verdict(self) -> Verdict:
        return diagnose(FOLDER / self.name, ["history_is_healthy"]).verdicts[0]


def logs() -> list[Log]:
    known = json.loads(TRUTH.read_text())
    return [Log(name, facts["sick"], frozenset(facts.get("causes") or ())) for name, facts in sorted(known.items())]


def main() -> None:
    found = named = sick = alarms = 0
    for log in logs():
        verdict = log.verdict()
        causes = [finding.cause for finding in verdict.findings]
        print(f"{log.name:<32} {'sick' if log.sick else 'healthy':<8} {verdict.outcome:<16} {', '.join(causes)}")
        sick += log.sick
        found += log.sick and verdict.failed
        named += log.sick and bool(causes) and causes[0] in log.right
        alarms += verdict.failed and not log.sick
    print(f"\n{found} of {sick} found, {named} named first, {alarms} false alarms")


if __name__ == "__main__":
    main()
