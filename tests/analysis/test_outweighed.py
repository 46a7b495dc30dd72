"""A KL term that outweighs the errors, from made-up calls: only where nothing else is learnt."""

from __future__ import annotations

import pytest

from pytest_trainhealth.analysis.loss_calls import DIVERGENCE
from pytest_trainhealth.analysis.outweighed import outweighed, silenced
from pytest_trainhealth.causes import cause
from pytest_trainhealth.records.losses import LossCall, TensorSummary
from pytest_trainhealth.records.trace import Trace

SAMPLES, LATENTS, VALUES = 32, 8, 100


def elbo(each: float, level: float, reduction: str = "mean") -> Trace:
    """`each`: the factor of one latent's divergence; the loss of the same answer for every sample is 1."""
    trace = Trace.of([1.2, *[level] * 200])
    trace.backwards = [1, 1]
    divergences, values = SAMPLES * LATENTS, SAMPLES * VALUES
    kl = LossCall(DIVERGENCE, terms=divergences, samples=SAMPLES, weight=each * divergences, part=0.1, complete=True)
    kl.input = TensorSummary(shape=(SAMPLES, LATENTS))
    error = LossCall("mse_loss", terms=values, samples=SAMPLES, weight=1.0, part=1.1, complete=True, floor=0.0)
    error.chance, error.given_target, error.reduction = 1.0, True, reduction
    trace.loss.calls = [kl, error]
    return trace


def test_a_chosen_factor_counts_where_nothing_is_learnt() -> None:
    trace = elbo(0.01, level=0.99)
    found, symptom = outweighed(trace, 0.99), silenced(trace)
    assert found is not None
    assert not found.plain_sum
    assert found.times == pytest.approx(32)
    assert symptom is not None
    named = cause("too-much-regularization").look(trace, symptom)
    assert named is not None
    assert [each.options for each in named.cures] == [{"factor": pytest.approx(1 / 32)}]
    assert cause("loss-reduction").look(trace, symptom) is None


def test_a_chosen_factor_is_a_matter_of_taste_where_something_is() -> None:
    assert outweighed(elbo(0.01, level=0.8), 0.8) is None


@pytest.mark.parametrize("each", [1.0, 1 / SAMPLES])
def test_a_sum_beside_a_mean_is_nobodys_choice(each: float) -> None:
    found = outweighed(elbo(each, level=0.8), 0.8)
    assert found is not None
    assert found.plain_sum
    assert outweighed(elbo(each, level=0.3), 0.3) is None


def test_terms_that_weigh_alike() -> None:
    assert outweighed(elbo(1 / (SAMPLES * VALUES), level=0.99), 0.99) is None


def test_targets_that_the_step_computes_have_no_known_guess() -> None:
    trace = elbo(0.01, level=0.99)
    trace.loss.calls[1].given_target = False
    assert outweighed(trace, 0.99) is None


def test_a_run_with_a_cure_is_judged_by_its_loss() -> None:
    trace = elbo(0.01, level=0.99)
    trace.applied.to_the_loss = "scale_divergence"
    assert silenced(trace) is None
