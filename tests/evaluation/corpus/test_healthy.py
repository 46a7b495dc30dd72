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

#: Adversaries, whose losses need not fall: the check says so. Any other program it has to judge.
NOT_JUDGED = {
    ("gan_two_optimizers", "overfits_one_batch"),
    ("gan_hinge_spectral_norm", "overfits_one_batch"),
    ("wgan_weight_clipping", "overfits_one_batch"),
    ("wgan_gradient_penalty", "overfits_one_batch"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_alarm(name: str) -> None:
    factory: Factory = PROGRAMS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch has remarks of its own on sparse tensors, checkpoints and schedulers
        report = diagnose(factory)
    alarms = {v.check: v.headline for v in report.verdicts if v.failed}
    assert alarms == {}
    unjudged = {(name, v.check) for v in report.verdicts if not v.passed}
    assert unjudged <= NOT_JUDGED, [v.reason for v in report.verdicts if not v.passed]


@pytest.mark.parametrize("name", PROGRAMS)
def test_none_is_slow(name: str) -> None:
    """Most of them are toys beside which any loader looks slow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (verdict,) = diagnose(PROGRAMS[name], checks=["keeps_throughput"]).verdicts
    assert verdict.passed, verdict.headline or verdict.reason
