"""The records that reports, JSON and worker processes see: words, floats and places, never tensors.

Everything here is frozen, standard library only, and survives a trip through JSON unchanged,
so that a verdict made in an xdist worker reads the same on the controller and in a file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from .advice import Advice
from .harmless import harmless, harmless_fields
from .recorded import Curve, Recorded

Certainty = Literal["confirmed", "likely", "possible"]
Outcome = Literal["passed", "failed", "could not judge"]
Severity = Literal["critical", "high", "medium", "low"]

#: Raised by one whenever a reader of the JSON would have to change. It is not a limit, and began at 1.
SCHEMA_VERSION = 1

#: The surest first.
CERTAINTY_ORDER: dict[str, int] = {"confirmed": 0, "likely": 1, "possible": 2}


@dataclass(frozen=True)
class Place:
    """A line of the user's own source."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Symptom:
    """What a check found wrong: the measured value and the limit it broke."""

    summary: str
    category: str
    measured: float
    limit: float
    severity: Severity = "high"
    headline: str = ""
    #: Where the fault lies, as far as a run with a plain recipe shows it: in the user's recipe (rates, settings,
    #: initialisation, regularisation, the scale of the data), or in what the two share (model, loss, targets).
    suspects: Literal["", "recipe", "model"] = ""
    #: The user's own lines that an error came through, outermost first.
    places: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """One fact out of a trace."""

    text: str
    measured: float | None = None
    place: Place | None = None


@dataclass(frozen=True)
class Fix:
    """An instruction, and at most three lines of code that carry it out."""

    instruction: str
    code: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rerun:
    """A run from the same start with one cure applied."""

    cure: str
    result: str
    healthy: bool
    confirms: bool = False
    #: Its loss, where one was seen.
    losses: Curve | None = None


@dataclass(frozen=True)
class Finding:
    """A cause with everything that supports it."""

    cause: str
    statement: str
    certainty: Certainty
    why: str = ""
    evidence: tuple[Evidence, ...] = ()
    places: tuple[Place, ...] = ()
    reruns: tuple[Rerun, ...] = ()
    fix: Fix | None = None
    not_this: str = ""
    symptom: Symptom | None = None
    #: The parameters that it is about, where it is about some.
    about: tuple[str, ...] = ()
    #: The cause's place in the order of investigation: data and wiring first, learning rates last.
    rank: int = 0

    @property
    def confirmed(self) -> bool:
        return self.certainty == "confirmed"

    @property
    def location(self) -> Place | None:
        """The line to look at first: the last of the places, where the harm was done."""
        return self.places[-1] if self.places else None

    @property
    def headline(self) -> str:
        return f"{self.cause}: {self.statement}"


@dataclass(frozen=True)
class Silenced:
    """A finding that somebody has accepted, and why. Without a finding: what the check saw, and has no cause for."""

    #: The cause or the check that is silenced.
    name: str
    reason: str
    #: Where that was said: a marker, the configuration, the file of known findings.
    given: str
    finding: Finding | None = None
    symptom: Symptom | None = None


@dataclass(frozen=True)
class Verdict:
    """A check's complete outcome: everything that any report needs."""

    check: str
    training: str
    outcome: Outcome
    reason: str = ""
    symptom: Symptom | None = None
    findings: tuple[Finding, ...] = ()
    reruns: tuple[Rerun, ...] = ()
    ruled_out: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    figures: Mapping[str, float | None] = field(default_factory=dict)
    steps: int = 0
    seconds: float = 0.0
    seed: int = 0
    #: The file that replays the failure, where one was kept.
    reproducer: str = ""
    #: What is drawn of the run that decided.
    recorded: Recorded | None = None
    #: What would help, where it was asked for: measured gains first. Never a reason to fail.
    advice: tuple[Advice, ...] = ()
    #: What was found and does not count. The outcome is that of what remains.
    silenced: tuple[Silenced, ...] = ()

    def __post_init__(self) -> None:
        """Whoever makes a verdict, and from whatever: what an outlet reads is harmless."""
        for name, value in harmless_fields(self).items():
            object.__setattr__(self, name, value)

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def failed(self) -> bool:
        return self.outcome == "failed"

    @property
    def headline(self) -> str:
        """One line, slug first, so that what survives truncation is what one can search for."""
        if self.findings:
            return self.findings[0].headline
        if self.symptom is not None:
            words = f"{self.check}: {self.symptom.headline or self.symptom.summary}"
            return words if self.explains_itself else f"{words}, and no known cause fits"
        return f"{self.check}: {self.reason or self.outcome}"

    @property
    def explains_itself(self) -> bool:
        """Its symptom says what is different, and no cause was looked for."""
        from .symptoms import row_of  # whose table is made of symptoms

        return self.symptom is not None and row_of(self.symptom).explains_itself

    def to_json(self) -> dict[str, Any]:
        """Only dict, list, str, bool, int, float and None: anything else would stop an xdist worker."""
        plain = _plain(asdict(self))
        assert isinstance(plain, dict)
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        known = {f.name for f in fields(cls)}  # a file adds the test's node id
        return cls(
            **{
                **{key: value for key, value in data.items() if key in known},
                "symptom": _symptom(data["symptom"]),
                "findings": tuple(_finding(f) for f in data["findings"]),
                "reruns": tuple(map(_rerun, data["reruns"])),
                "ruled_out": tuple(data["ruled_out"]),
                "untried": tuple(data["untried"]),
                "notes": tuple(data["notes"]),
                "figures": {k: _number(v) for k, v in data["figures"].items()},
                "recorded": Recorded.from_json(data.get("recorded")),  # older files have none
                "advice": tuple(Advice.from_json(each) for each in data.get("advice", ())),  # older files have none
                "silenced": tuple(_silenced(each) for each in data.get("silenced", ())),  # older files have none
            }
        )

    def __str__(self) -> str:
        from ..reports.text import verdict_text  # wording has one home, and it reads these records

        return verdict_text(self, in_python=True)


@dataclass(frozen=True)
class Report:
    """The verdicts of one training."""

    training: str
    verdicts: tuple[Verdict, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "training", harmless(self.training))

    @property
    def healthy(self) -> bool:
        """No check failed, and at least one could judge."""
        return not any(v.failed for v in self.verdicts) and any(v.passed for v in self.verdicts)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Best first: confirmed before likely before possible, structure before hyperparameters.

        A cause that several checks found is listed once.
        """
        everything = [f for v in self.verdicts for f in v.findings]
        everything.sort(key=lambda f: (CERTAINTY_ORDER[f.certainty], f.rank))
        return tuple(
            {f.cause: f for f in reversed(everything)}[name] for name in dict.fromkeys(f.cause for f in everything)
        )

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What would help, where it was asked for: gains first, the largest first of all."""
        return tuple(each for verdict in self.verdicts for each in verdict.advice)

    def to_json(self) -> dict[str, Any]:
        return {"version": SCHEMA_VERSION, "training": self.training, "verdicts": [v.to_json() for v in self.verdicts]}

    def __str__(self) -> str:
        from ..reports.text import report_text  # wording has one home, and it reads these records

        return report_text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows instead of the text."""
        from ..reports.html_file import notebook

        return notebook(self)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value)
    number = float(value)  # also numpy and torch scalars
    # JSON has no nan or inf: words that float() reads back.
    return number if math.isfinite(number) else str(number)


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value


def _place(data: Any) -> Place | None:
    return None if data is None else Place(**data)


def _rerun(data: Mapping[str, Any]) -> Rerun:
    losses = data.get("losses")
    return Rerun(**{**data, "losses": None if losses is None else Curve.from_json(losses)})


def _symptom(data: Any) -> Symptom | None:
    if data is None:
        return None
    places = tuple(Place(**place) for place in data.get("places", ()))  # older files have none
    return Symptom(**{**data, "measured": _number(data["measured"]), "limit": _number(data["limit"]), "places": places})


def _finding(data: Mapping[str, Any]) -> Finding:
    evidence = tuple(Evidence(e["text"], _number(e["measured"]), _place(e["place"])) for e in data["evidence"])
    fix = data["fix"]
    return Finding(
        **{
            **data,
            "evidence": evidence,
            "places": tuple(Place(**p) for p in data["places"]),
            "about": tuple(data.get("about", ())),  # older files have none
            "reruns": tuple(map(_rerun, data["reruns"])),
            "fix": None if fix is None else Fix(fix["instruction"], tuple(fix["code"])),
            "symptom": _symptom(data["symptom"]),
        }
    )


def _silenced(data: Mapping[str, Any]) -> Silenced:
    finding = data["finding"]
    found = None if finding is None else _finding(finding)
    return Silenced(**{**data, "finding": found, "symptom": _symptom(data["symptom"])})
