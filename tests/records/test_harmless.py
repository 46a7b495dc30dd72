"""Names from users are shown, and obeyed nowhere."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_trainhealth.records.harmless import LONGEST_TEXT, LONGEST_WORD, harmless
from pytest_trainhealth.records.verdict import Evidence, Finding, Fix, Place, Report, Rerun, Symptom, Verdict

HOSTILE = {
    "a control character": ("a\x00b\x7f\x9b", r"a\x00b\x7f\x9b"),
    "an escape code": ("\x1b[31mred\x1b]0;title\x07", r"\x1b[31mred\x1b]0;title\x07"),
    "lines": ("a\nb\r\nc\u2028d\x85e", r"a\nb\r\nc\u2028d\x85e"),
    "a lone surrogate": ("a\udc80b", r"a\udc80b"),
    "another direction": ("a\u202eb\u2066c\u200fd", r"a\u202eb\u2066c\u200fd"),
    "nothing to see": ("a\u200bb\ufeffc\U000e0041d", r"a\u200bb\ufeffc\U000e0041d"),
    "a command of GitHub": ("::error::x", r"\x3a:error::x"),
    "one that a line may begin with": ("in ::set-output name=a::b", r"in \x3a:set-output name=a::b"),
    "an older command": ("x ##[error]y ##[command]z", r"x \x23#[error]y \x23#[command]z"),
    "a command of Azure or TeamCity": ("##vso[task.x]y ##teamcity[z]", r"\x23#vso[task.x]y \x23#teamcity[z]"),
    "HTML": ("<script>x</script><img src=x onerror=y", r"\x3cscript>x\x3c/script>\x3cimg src=x onerror=y"),
    "a comment of HTML": ("<!-- x -->", r"\x3c!-- x -->"),
}  # fmt: skip
#: Names, node ids, code and our own words: all as they are.
LEFT_ALONE = [
    "encoder.layers.11.attention.query.weight",
    "tests/test_train.py::TestIt::test_it[overfits_one_batch-a::b]",
    "make.<locals>.<lambda>, <listcomp> and <class 'torch.nn.Linear'>",
    "for i in range(9): if i<n and m < 3",
    "2.303 -> 0.021, 12 % of 3,000",
    "größe_模型_вес é",
    "  indented = [code for code in paste]",
    "# a comment [1] ## another",
    "C:\\Users\\me: a\\b",
    "",
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_what_would_be_obeyed_is_shown(text: str, shown: str) -> None:
    assert harmless(text) == shown


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_everything_else_is_left_alone(text: str) -> None:
    assert harmless(text) == text


def test_long_words_and_long_texts_lose_their_middle() -> None:
    word = harmless("model." + "x" * 10_000 + ".weight and bias")
    assert word.startswith("model.xxx")
    assert "[...]" in word
    assert word.endswith("xxx.weight and bias")
    assert len(word) == LONGEST_WORD + len(" and bias")
    assert len(harmless("a word " * 5_000)) == LONGEST_TEXT
    assert harmless("x" * LONGEST_WORD) == "x" * LONGEST_WORD


def test_a_text_of_megabytes_takes_no_time() -> None:
    began = time.process_time()
    for hostile in ("<a", "##a", " ::", "\x1b", "a "):
        assert len(harmless(hostile * 5_000_000 + "=>[")) <= LONGEST_TEXT
    assert time.process_time() - began < 5


@given(st.text(st.characters(), max_size=60) | st.text("#:[]<>!/ab \n\x1b=", max_size=60))
def test_whatever_it_is(text: str) -> None:
    made = harmless(text)
    assert made.isprintable()
    assert made.encode().decode() == made
    assert harmless(made) == made
    assert not re.search(r"(^|\s)::|##\w*\[", made)


def _every_text(record: Any) -> list[str]:
    found = []
    for value in record.values() if isinstance(record, dict) else record:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, (dict, list)):
            found += _every_text(value)
    return found


def _hostile(kind: type, **more: Any) -> Any:
    texts = {field.name: "\x1b\udc80" for field in dataclasses.fields(kind) if field.type == "str"}
    return kind(**{**texts, **more})


def test_no_field_of_a_verdict_is_forgotten() -> None:
    """Whoever makes it, and in whatever record inside it a name is."""
    place = _hostile(Place, line=3)
    symptom = _hostile(Symptom, measured=1.0, limit=0.0)
    rerun = _hostile(Rerun, healthy=False)
    finding = _hostile(
        Finding,
        certainty="likely",
        evidence=(_hostile(Evidence, place=place),),
        places=(place,),
        reruns=(rerun,),
        fix=_hostile(Fix, code=("\x1b",)),
        symptom=symptom,
    )
    many = ("\x1b", "\udc80")
    verdict = _hostile(
        Verdict, outcome="failed", symptom=symptom, findings=(finding,), reruns=(rerun,), ruled_out=many, untried=many,
        notes=many, figures={"\x1b": 1.0},
    )  # fmt: skip
    texts = _every_text(verdict.to_json())
    assert len(texts) > 25
    assert all(text.isprintable() for text in texts)
    assert list(verdict.figures) == [r"\x1b"]
    assert str(verdict).replace("\n", "").isprintable()
    assert Report("\x1b", (verdict,)).training == r"\x1b"
    assert Verdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict


def test_a_harmless_verdict_keeps_its_own_records() -> None:
    findings = (Finding("lr-too-high", "the rate is too high", "likely"),)
    assert Verdict("gradients_flow", "it", "failed", findings=findings).findings is findings
