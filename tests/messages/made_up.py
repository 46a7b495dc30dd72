"""Verdicts that no training made, one for each shape that a chart can take."""

from __future__ import annotations

from dataclasses import replace

from pytest_trainhealth.records.verdict import Evidence, Finding, Fix, Place, Rerun, Symptom, Verdict

STUCK = Symptom(
    "loss 2.303 -> 2.303 in 200 steps on one batch of 16 samples (has to fall below 0.230)",
    "not-learning",
    2.303,
    0.23,
    headline="loss stuck at 2.303",
)
RATES = (
    Rerun("learning rate x 10", "2.303 -> 2.303", healthy=False),
    Rerun("learning rate / 10", "2.303 -> 2.303", healthy=False),
)
HEAD = Finding(
    cause="parameters-not-in-optimizer",
    statement="the optimizer never updates head.weight and head.bias",
    certainty="confirmed",
    why="head was replaced after the optimizer was made",
    evidence=(
        Evidence("head.weight, head.bias (5,130 values) need gradients but are in no parameter group", 5130.0),
        Evidence("AdamW holds 2 tensors (513,000 values) that the model does not have", 2.0),
        Evidence("head.weight.grad grew from 0.944 to 188.8: zero_grad() does not reach it either", 188.8),
    ),
    places=(
        Place("train.py", 26, "optimizer = AdamW(trainable, lr=3e-3)"),
        Place("train.py", 27, "    model.head = nn.Linear(512, 10)"),
    ),
    reruns=(Rerun("head added to the optimizer", "2.303 -> 0.021", healthy=True, confirms=True),),
    fix=Fix(
        "make the optimizer after the last change to the model",
        ("model.head = nn.Linear(512, 10)", "optimizer = AdamW(model.head.parameters(), lr=3e-3)"),
    ),
    not_this="another optimizer or more epochs: nothing reaches these parameters",
)
SLOW = Finding(
    cause="lr-too-low",
    statement="a learning rate of 1e-07 is too low for this training",
    certainty="possible",
    evidence=(Evidence("update / weight 1e-7"), Evidence("a second fact")),
    reruns=(Rerun("learning rate x 10", "2.303 -> 1.900", healthy=False),),
    fix=Fix("raise the learning rate"),
)
WHOLE = Verdict(
    "overfits_one_batch",
    "test_finetune",
    "failed",
    symptom=STUCK,
    findings=(HEAD,),
    reruns=RATES,
    steps=200,
    seconds=2.1,
)
LONG_NAME = "encoder.blocks.11.attention.projection.weight"

VERDICTS: dict[str, Verdict] = {
    "whole": WHOLE,
    "no_cause": replace(
        WHOLE, findings=(), reruns=(*RATES, Rerun("dropout and decay off", "2.303 -> 2.303", healthy=False))
    ),
    "no_cause_but_some_ruled_out": replace(
        WHOLE,
        findings=(),
        reruns=RATES,
        ruled_out=("missing-zero-grad", "frozen-parameters", "dead-activations", "lr-too-low", "lr-too-high"),
        untried=("dropout off",),
    ),
    "two_causes": replace(WHOLE, findings=(HEAD, SLOW)),
    "to_be_replayed": replace(WHOLE, reproducer=".trainhealth/test_train-test_finetune-trains_without_nan.pt"),
    "only_possible": replace(WHOLE, findings=(SLOW,), reruns=()),
    "likely_without_places_or_reruns": replace(
        WHOLE, findings=(replace(HEAD, certainty="likely", places=(), reruns=()),), reruns=()
    ),
    "places_without_code": replace(
        WHOLE, findings=(replace(HEAD, places=(Place("models/net.py", 9), Place("train.py", 112))),)
    ),
    "evidence_at_other_places": replace(
        WHOLE,
        findings=(replace(HEAD, evidence=(Evidence("log(0) is -inf", place=Place("losses.py", 14)), *HEAD.evidence)),),
    ),
    "more_than_fits": replace(
        WHOLE,
        findings=(replace(HEAD, evidence=HEAD.evidence * 2), *(replace(SLOW, cause=f"cause-{n}") for n in range(4))),
        reruns=tuple(Rerun(f"learning rate x {n}", "2.303 -> nan", healthy=False) for n in (2, 5, 10, 20, 50)),
    ),
    "long_headline": replace(
        WHOLE,
        findings=(replace(HEAD, statement=f"the optimizer never updates {LONG_NAME} and 23 more of its parameters"),),
    ),
    "passes_without_confirming": replace(
        WHOLE,
        findings=(replace(HEAD, certainty="likely", reruns=(Rerun("clipping at 1", "2.303 -> 0.2", healthy=True),)),),
    ),
    "notes": replace(WHOLE, notes=("no re-runs: the test's data comes from the network",), reruns=()),
    "could_not_judge": Verdict(
        "overfits_one_batch", "test_finetune", "could not judge", reason="the time budget of 300 s is used up"
    ),
    "passed": Verdict("overfits_one_batch", "test_finetune", "passed"),
}
