"""What is said of ranks, on records that are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_trainhealth.causes import cause
from pytest_trainhealth.checks import check
from pytest_trainhealth.records.judgement import CouldNotJudge, Judgement, Passed
from pytest_trainhealth.records.ranks import RankRecord, RanksRecord, TensorSketch, UpdateRecord
from pytest_trainhealth.records.trace import Trace
from pytest_trainhealth.records.verdict import Place, Symptom

#: Gradients of two ranks, and their mean.
OWN = ((1.0, 3.0), (3.0, 1.0))
MEAN = (2.0, 2.0)


def sketch(*values: float) -> TensorSketch:
    return TensorSketch(sum(value * value for value in values) ** 0.5, values)


def update(rank: int, at: int, weight=(1.0, 2.0), used=MEAN, local=None, **more) -> UpdateRecord:
    return UpdateRecord(
        parameters={"weight": sketch(*(value + at for value in weight))},
        used={"weight": sketch(*used)},
        local={"weight": sketch(*(local or OWN[rank]))},
        **{"inputs": f"{rank}{at}", "loss": 1.0, **more},
    )


def ranks(updates=3, **more) -> RanksRecord:
    each = [
        RankRecord(rank, [update(rank, at, **more) for at in range(updates)], taken=updates, end="done")
        for rank in range(2)
    ]
    return RanksRecord(each, joint=update(0, 0), patience=30.0)


def judged(record: RanksRecord) -> Judgement:
    return check("ranks_agree").judge(Trace(losses=[1.0], ranks=record), {}, {})


def named(record: RanksRecord) -> str:
    symptom = judged(record)
    assert isinstance(symptom, Symptom), symptom
    suspicion = cause("ranks-out-of-sync").look(Trace(losses=[1.0], ranks=record), symptom)
    assert suspicion is not None
    return suspicion.statement


def changed(record: RanksRecord, rank: int, at: int, **fields) -> RanksRecord:
    record.ranks[rank].updates[at] = replace(record.ranks[rank].updates[at], **fields)
    return record


def test_ranks_that_agree_with_one_another_and_with_one_process_pass():
    assert judged(ranks()) == Passed(figures={"ranks": 2.0, "updates": 3.0})


def test_a_parameter_that_differs_is_named_with_rank_and_update():
    apart = changed(ranks(), 1, 2, parameters={"weight": sketch(3.5, 4.0)})
    assert named(apart) == "weight differs between ranks 0 and 1 from update 2 on"


def test_gradients_of_their_own_are_why():
    record = ranks()
    for rank in record.ranks:
        rank.updates = [replace(each, used=each.local) for each in rank.updates]
    apart = changed(record, 1, 1, parameters={"weight": sketch(2.5, 3.0)})
    symptom = judged(apart)
    assert isinstance(symptom, Symptom)
    suspicion = cause("ranks-out-of-sync").look(Trace(ranks=apart), symptom)
    assert [cure.kind for cure in suspicion.cures] == ["averaged_gradients"]


def test_gradients_of_their_own_are_fine_if_parameters_are_the_same_by_the_next_update():
    record = ranks()
    for rank in record.ranks:
        rank.updates = [replace(each, used=each.local) for each in rank.updates]
    assert not isinstance(judged(record), Symptom)


def test_rounding_is_no_difference():
    assert isinstance(judged(changed(ranks(), 1, 2, parameters={"weight": sketch(3.0000001, 4.0)})), Passed)


def test_noise_in_a_tensor_that_is_about_0_is_no_difference():
    record = ranks()
    for rank, noise in zip(record.ranks, (1e-12, -1e-12), strict=True):
        rank.updates = [replace(each, parameters={**each.parameters, "bias": sketch(noise)}) for each in rank.updates]
    assert isinstance(judged(record), Passed)


def test_the_sum_over_ranks_is_named_where_one_process_has_the_mean():
    record = ranks(used=(4.0, 4.0))
    assert named(record) == "gradients are summed over 2 ranks, not averaged"


def test_the_sum_is_right_where_one_process_has_it_too():
    """The user divides the loss by the number of ranks, or it is a sum over samples."""
    record = ranks(used=(4.0, 4.0))
    record.joint = update(0, 0, used=(4.0, 4.0))
    assert isinstance(judged(record), Passed)


def test_a_loss_that_is_a_sum_is_noted():
    record = ranks()
    record.joint = update(0, 0, used=(4.0, 4.0))
    passed = judged(record)
    assert isinstance(passed, Passed)
    assert passed.notes[0].endswith("it is 0.5 times as large, as where a loss is a sum over samples")


def test_batch_norm_is_noted():
    record = ranks()
    record.joint = update(0, 0, used=(2.0, 3.0))
    for rank in record.ranks:
        rank.batch_norms = ("norm",)
    passed = judged(record)
    assert isinstance(passed, Passed)
    assert "BatchNorm uses each rank's own samples (norm)" in passed.notes[0]


def test_clipped_gradients_are_averaged_all_the_same():
    record = ranks(used=(1.0, 1.0))
    record.joint = update(0, 0, used=(1.0, 1.0))
    assert isinstance(judged(record), Passed)


def test_the_same_samples_on_every_rank():
    record = ranks()
    for rank in record.ranks:
        rank.updates = [replace(each, inputs=f"{at}") for at, each in enumerate(rank.updates)]
    assert named(record) == "both ranks see the same samples"


@pytest.mark.parametrize("inputs", ["", "always the same"])
def test_inputs_that_say_nothing_are_not_judged(inputs: str):
    record = ranks(inputs=inputs)
    assert isinstance(judged(record), CouldNotJudge)


def test_batches_that_differ_are_enough():
    record = ranks(inputs="")
    for rank in record.ranks:
        rank.updates = [replace(each, batch=f"{rank.rank}{at}") for at, each in enumerate(rank.updates)]
    assert isinstance(judged(record), Passed)


def test_a_step_that_cuts_its_batch_sees_other_samples():
    record = ranks(batch="the same")
    assert isinstance(judged(record), Passed)


def test_different_models_are_not_compared():
    record = ranks()
    record.ranks[0].shapes, record.ranks[1].shapes = {"first": "(2,)"}, {"second": "(2,)"}
    found = judged(changed(record, 1, 1, parameters={"weight": sketch(9.0, 9.0)}))
    assert isinstance(found, CouldNotJudge)
    assert "pipeline or tensor parallelism" in found.reason


def test_parts_are_not_compared_but_put_together():
    record = ranks()
    for rank, part in zip(record.ranks, ((2.0, 0.0), (0.0, 2.0)), strict=True):
        rank.shards = ("weight",)
        rank.updates = [
            replace(each, local={}, used={"weight": sketch(*part)}, parameters={"weight": sketch(*part)})
            for each in rank.updates
        ]
    assert judged(record) == Passed(figures={"ranks": 2.0, "updates": 3.0})


def test_parts_without_a_gradient_to_compare_with_are_not_judged():
    record = ranks()
    for rank in record.ranks:
        rank.shards = ("weight",)
        rank.updates = [replace(each, local={}) for each in rank.updates]
    record.joint, record.why_no_joint = None, "ValueError: one rank is too few"
    found = judged(record)
    assert isinstance(found, CouldNotJudge)
    assert "one rank is too few" in found.reason


def test_a_buffer_that_differs():
    record = ranks(buffers={"codebook": sketch(1.0)})
    apart = changed(record, 1, 1, buffers={"codebook": sketch(1.5)})
    assert named(apart) == "codebook differs between ranks 0 and 1 from update 1 on"


def test_a_rank_that_is_gone_is_to_blame_before_those_that_miss_it():
    record = ranks()
    record.ranks[0].end, record.ranks[0].error = "raised", "RuntimeError: Connection reset by peer"
    record.ranks[1].end, record.ranks[1].error = "gone", "killed by SIGKILL"
    assert named(record) == "rank 1 is gone after update 3: killed by SIGKILL"


def test_an_error_on_every_rank_is_no_matter_of_ranks():
    record = ranks()
    for rank in record.ranks:
        rank.end, rank.error, rank.place = "raised", "ValueError: no such file", Place("train.py", 3)
    symptom = judged(record)
    assert isinstance(symptom, Symptom)
    assert symptom.headline == "every rank raises after 3 updates: ValueError: no such file"
    assert cause("ranks-out-of-sync").look(Trace(ranks=record), symptom) is None


def test_whoever_is_not_in_an_exchange_is_waited_for():
    record = ranks()
    for rank, call in zip(record.ranks, ("backward()", "read_shard()"), strict=True):
        rank.end, rank.waits_in = "waits", call
    assert named(record) == "ranks wait for rank 1, which is in read_shard()"


def test_one_that_has_ended_is_waited_for():
    record = ranks()
    record.ranks[0].end, record.ranks[0].waits_in = "waits", "all_reduce()"
    assert named(record) == "rank 0 waits in all_reduce() for rank 1, which has ended"


def test_too_few_updates_show_nothing():
    assert isinstance(judged(ranks(updates=1)), CouldNotJudge)


def test_a_training_that_knows_nothing_of_ranks_is_not_judged():
    record = changed(ranks(), 1, 1, parameters={"weight": sketch(2.5, 3.0)})
    for rank in record.ranks:
        rank.distributed = False
    found = judged(record)
    assert isinstance(found, CouldNotJudge)
    assert "no distributed training" in found.reason
