"""Never cry wolf: the whole battery on healthy programs, and not one alarm."""

from __future__ import annotations

import warnings

import pytest

from pytest_trainhealth import diagnose

from .healthy import Factory, programs

#: Every third, and of the Hugging Face architectures, which take as long as all the others together, every tenth. The
#: scoreboard runs all of them, on three seeds.
_EVERY = {"huggingface": 10}
_BY_KIND = {
    kind: [name for name in programs() if name.startswith("huggingface_") == (kind == "huggingface")]
    for kind in ("huggingface", "others")
}
PROGRAMS = {name: programs()[name] for kind, names in _BY_KIND.items() for name in names[:: _EVERY.get(kind, 3)]}

#: Models that cannot memorise their batch, and nothing shows whether they are
#: meant to (the first of several bits has nothing to be predicted from; patches are masked anew at each step; the
#: labels of a queue are all equal; codes are drawn at random, and a plain recipe gets further). The checks say so. Any
#: other program they have to judge.
NOT_JUDGED = {
    ("made_next_bits", "overfits_one_batch"),
    ("gumbel_softmax_autoencoder", "overfits_one_batch"),
    ("masked_autoencoder", "overfits_one_batch"),
    ("huggingface_segformer", "overfits_one_batch"),
    ("moco_queue", "learns_from_data"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(PROGRAMS)[::2])  # half of them again, so that the suite stays within its time
def test_no_alarm(name: str) -> None:
    factory: Factory = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch has remarks of its own on sparse tensors, checkpoints and schedulers
        report = diagnose(factory)
    alarms = {v.check: v.headline for v in report.verdicts if v.failed}
    assert alarms == {}
    unjudged = {(name, v.check) for v in report.verdicts if not v.passed}
    assert unjudged <= NOT_JUDGED, [v.reason for v in report.verdicts if not v.passed]


@pytest.mark.parametrize("name", list(PROGRAMS)[::3])  # timing a step takes seconds, and steps resemble one another
def test_none_is_slow(name: str) -> None:
    """Most of them are toys beside which any loader looks slow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (verdict,) = diagnose(PROGRAMS[name], checks=["keeps_throughput"]).verdicts
    assert verdict.passed, verdict.headline or verdict.reason
