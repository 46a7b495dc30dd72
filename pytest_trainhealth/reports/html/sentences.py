"""A verdict in full sentences: the content of the chart, for a reader who has room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...records.verdict import Finding, Place, Rerun, Verdict
from ..one_chart import main_cause
from ..overview import explanation
from .grouping import Judged
from .markup import Markup, tag

_MEANING = {
    "confirmed": "A re-run from the same start with only this cause removed passes.",
    "likely": "All of its evidence is there; no re-run could show it.",
    "possible": "Part of its evidence is there.",
}
WORDS = {"passed": "passed", "failed": "failed", "could not judge": "not judged"}
SIGNS = {"passed": "\N{CHECK MARK}", "failed": "\N{MULTIPLICATION X}", "could not judge": "?"}


def pill(outcome: str, expected: bool = False) -> Markup:
    """Sign and word: neither the colour nor the sign has to be seen."""
    word = f"{WORDS[outcome]} (expected)" if expected else WORDS[outcome]
    kind = f"pill {outcome.replace(' ', '-')}"
    return tag("span", tag("span", SIGNS[outcome], aria_hidden="true"), f" {word}", class_=kind)


def verdict_article(judged: Judged, level: int = 3) -> Markup:
    """One verdict, all of it. `level`: of its heading."""
    verdict = judged.verdict
    finding = verdict.findings[0] if verdict.findings else None
    slug, statement = main_cause(verdict) or verdict.check, _statement(verdict, finding)
    check = tag("code", verdict.check) if slug != verdict.check else None
    parts = [
        tag(f"h{level}", tag("span", slug, class_="slug"), " ", tag("span", statement, class_="statement")),
        tag("p", pill(verdict.outcome, judged.expected), " ", check, " ", _sure(finding), class_="meta"),
        tag("dl", *_rows(verdict, finding)),
    ]
    kind = f"verdict {verdict.outcome.replace(' ', '-')}"
    return tag("article", *parts, class_=kind, id=judged.slug)


def _statement(verdict: Verdict, finding: Finding | None) -> str:
    if finding is not None:
        return finding.statement
    if verdict.symptom is not None:
        return f"{verdict.symptom.headline or verdict.symptom.summary}, and no known cause fits"
    return {"passed": "the promise was kept", "could not judge": "could not be judged"}.get(verdict.outcome, "failed")


def pointer(judged: Judged, to: Judged) -> Markup:
    """For a check that failed for a cause that is told with another one."""
    verdict = judged.verdict
    seen = f": {verdict.symptom.summary}" if verdict.symptom is not None else ""
    return tag(
        "p", pill(verdict.outcome, judged.expected), " ", tag("code", verdict.check), seen, ". The same cause: ",
        tag("a", explanation(verdict), href=f"#{to.slug}"), ".", class_="pointer", id=judged.slug,
    )  # fmt: skip


def _sure(finding: Finding | None) -> Markup | None:
    if finding is None:
        return None
    return tag("span", finding.certainty, class_=f"sure {finding.certainty}", title=_MEANING[finding.certainty])


def _rows(verdict: Verdict, finding: Finding | None) -> Iterator[Markup]:
    if verdict.reason:
        yield _row("Why", tag("p", _sentence(verdict.reason)))
    if verdict.symptom is not None:
        yield _row("Symptom", tag("p", _sentence(verdict.symptom.summary)), _places(verdict.symptom.places))
    if finding is not None:
        why = finding.why or _MEANING[finding.certainty]
        yield _row("Cause", tag("p", f"{finding.certainty.capitalize()}: {_ended(why)}"), _places(finding.places))
        if finding.evidence:
            facts = (
                tag("li", each.text, f" ({each.place})" if _new_place(each, finding) else None)
                for each in finding.evidence
            )
            yield _row("Evidence", tag("ul", facts))
    elif verdict.ruled_out:
        yield _row("Cause", tag("p", f"None known. Ruled out: {', '.join(verdict.ruled_out)}."))
    yield from _reruns(verdict, finding)
    if finding is not None:
        yield from _advice(verdict, finding)
    if verdict.notes:
        yield _row("Notes", tag("ul", (_note(note) for note in verdict.notes)))
    if verdict.reproducer:
        yield _row("Replay", tag("pre", f"pytest --trainhealth-replay={verdict.reproducer}"))
    if verdict.failed:
        yield _row("More", tag("pre", f"pytest --trainhealth-explain {finding.cause if finding else verdict.check}"))


def _advice(verdict: Verdict, finding: Finding) -> Iterator[Markup]:
    if finding.fix is not None and finding.certainty != "possible":
        code = tag("pre", "\n".join(finding.fix.code)) if finding.fix.code else None
        yield _row("Fix", tag("p", _sentence(finding.fix.instruction.rstrip(":"))), code)
    if finding.not_this:
        yield _row("Not", tag("p", _sentence(finding.not_this)))
    others = [
        tag("li", tag("b", other.cause), f" ({other.certainty}): {_ended(other.statement)}", _first(other))
        for other in verdict.findings[1:]
    ]
    if others:
        yield _row("Also", tag("ul", others))


def _first(finding: Finding) -> str:
    return f" {_sentence(finding.evidence[0].text)}" if finding.evidence else ""


def _reruns(verdict: Verdict, finding: Finding | None) -> Iterator[Markup]:
    own = finding.reruns if finding is not None else ()
    every = sorted(dict.fromkeys((*own, *verdict.reruns)), key=lambda r: not (r.confirms and r in own))
    if every:
        head = tag("tr", *(tag("th", name, scope="col") for name in ("What was changed", "Loss or result", "Outcome")))
        rows = (tag("tr", tag("th", r.cure, scope="row"), tag("td", r.result), _outcome(r, r in own)) for r in every)
        yield _row("Re-runs", tag("table", tag("thead", head), tag("tbody", rows), class_="plain"))
    if verdict.untried:
        yield _row("Not tried", tag("p", _sentence(", ".join(verdict.untried))))


def _outcome(rerun: Rerun, own: bool) -> Markup:
    confirms = ", which confirms the cause" if rerun.confirms and own else ""
    good = rerun.healthy or bool(confirms)
    words = f"{'passes' if rerun.healthy else 'clearly better' if good else 'still fails'}{confirms}"
    return tag("td", words, class_="good" if good else None)


def _new_place(evidence: object, finding: Finding) -> bool:
    place, text = getattr(evidence, "place", None), getattr(evidence, "text", "")
    return place is not None and place not in finding.places and str(place) not in text


def _note(note: str) -> Markup:
    """Code to paste is indented."""
    return tag("li", tag("pre", note.strip()) if note.startswith("  ") else note)


def _places(places: Sequence[Place]) -> Markup | None:
    if not places:
        return None
    column = max(len(str(place)) for place in places)
    return tag("pre", "\n".join(f"{place!s:<{column}}   {place.code.strip()}".rstrip() for place in places))


def _row(label: str, *content: Markup | None) -> Markup:
    return tag("div", tag("dt", label), tag("dd", *content))


def _sentence(text: str) -> str:
    return _ended(text[:1].upper() + text[1:] if text[:1].isalpha() and text.split(" ")[0].isalpha() else text)


def _ended(text: str) -> str:
    return text if text.endswith((".", ":", "!", "?")) else f"{text}."
