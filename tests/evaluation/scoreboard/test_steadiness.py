"""A changed verdict, and one that is missing, are counted."""

from collections import Counter, defaultdict

from .cases import all_cases
from .steadiness import _counted, picked, rounds


def _seen(*verdicts):
    seen = defaultdict(lambda: defaultdict(Counter))
    for test, circumstance, verdict in verdicts:
        seen[test][circumstance][verdict] += 1
    return seen


def test_the_same_verdicts_are_no_change():
    text, changed = _counted(_seen(("a", "plain", "passed"), ("a", "busy", "passed")), programs=1, times=2)
    assert changed == 0
    assert "**0 changed**" in text


def test_a_changed_certainty_is_counted_where_it_happened(capsys):
    usual = "failed lr-too-high (confirmed)"
    seen = _seen(("a", "plain", usual), ("a", "plain", usual), ("a", "busy", "failed lr-too-high (likely)"))
    text, changed = _counted(seen, programs=1, times=3)
    assert changed == 1
    assert "| busy | 1 | 1 |" in text
    assert "| plain | 2 | 0 |" in text
    assert "usually failed lr-too-high (confirmed)" in capsys.readouterr().out


def test_a_verdict_that_is_missing_is_a_change():
    assert _counted(_seen(("a", "plain", "passed")), programs=1, times=2)[1] == 1


def test_twenty_rounds_and_half_of_the_programs_faulty():
    assert len(rounds()) == 20
    names = picked(list(all_cases().values()), 40, seed=0)
    assert len(set(names)) == 40
    assert sum(name.startswith("fault/") for name in names) == 20
