"""Real processes: three planted faults and their healthy twin, ranks that die and hang, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_trainhealth import diagnose
from pytest_trainhealth.records.verdict import Verdict

from . import programs
from .leftovers import gone_within, ranks_of

CHECK = "ranks_agree"
CAUSE = "ranks-out-of-sync"
#: Seconds without progress. Longer than a step takes on a machine that does ten other things.
PATIENCE = 6.0


@pytest.fixture(autouse=True)
def nothing_left_behind():
    yield
    assert ranks_of(os.getpid()) == []


def judged(name: str) -> Verdict:
    (verdict,) = diagnose(getattr(programs, name), (CHECK,), timeout=PATIENCE).verdicts
    return verdict


def test_a_healthy_training_does_what_one_process_would_do():
    verdict = judged("healthy")
    assert verdict.passed, str(verdict)
    assert verdict.notes == ()
    assert verdict.figures == {"ranks": 2.0, "updates": 5.0}


@pytest.mark.parametrize(
    ("name", "statement", "cure"),
    [
        ("different_seeds", "differ between ranks 0 and 1 from update 0 on", "weights of rank 0 on every rank"),
        ("summed", "gradients are summed over 2 ranks", "gradients divided by the number of ranks"),
        ("no_sampler", "both ranks see the same samples", "batches of its own for each rank"),
    ],
)
def test_a_planted_fault_is_named_and_confirmed(name: str, statement: str, cure: str):
    verdict = judged(name)
    assert verdict.failed, str(verdict)
    (finding,) = verdict.findings
    assert (finding.cause, finding.certainty) == (CAUSE, "confirmed")
    assert statement in finding.statement
    assert [rerun.cure for rerun in finding.reruns] == [cure]


def test_statistics_of_batch_norm_are_no_alarm():
    verdict = judged("batch_norm")
    assert verdict.passed, str(verdict)
    assert "BatchNorm uses each rank's own samples" in verdict.notes[0]


def test_parts_of_parameters_are_put_together():
    verdict = judged("sharded")
    assert verdict.passed, str(verdict)
    assert verdict.notes == ()


def test_a_training_that_knows_nothing_of_ranks_is_no_alarm():
    verdict = judged("alone")
    assert verdict.outcome == "could not judge"
    assert "this is no distributed training" in verdict.reason


def test_what_other_processes_cannot_find_is_not_judged():
    (verdict,) = diagnose(lambda: programs.alone(), (CHECK,)).verdicts
    assert verdict.outcome == "could not judge"
    assert "processes of its own" in verdict.reason


def test_a_killed_rank_is_reported():
    verdict = judged("killed")
    assert verdict.findings[0].headline == f"{CAUSE}: rank 1 is gone after update 2: killed by SIGKILL"


def test_a_rank_that_raises_is_reported_with_its_own_traceback():
    verdict = judged("raises")
    assert verdict.findings[0].headline == f"{CAUSE}: rank 1 raises FileNotFoundError after update 2"
    text = str(verdict)
    assert "FileNotFoundError: shard-1.tar" in text
    assert 'raise FileNotFoundError("shard-1.tar")' in text


def test_a_hanging_rank_is_reported_with_its_own_stack():
    verdict = judged("hangs")
    finding = verdict.findings[0]
    assert finding.headline == f"{CAUSE}: ranks wait for rank 1, which is in act()"
    assert [evidence.text for evidence in finding.evidence] == [
        "rank 0: waits in backward(), after 2 updates",
        "rank 1: waits in act(), after 2 updates",
    ]
    assert "time.sleep(1000)" in str(verdict)


def test_shards_of_different_lengths_hang():
    verdict = judged("uneven")
    assert verdict.findings[0].headline == f"{CAUSE}: ranks have 5 and 4 batches, and wait for those that have ended"


def test_parameters_that_ddp_waits_for_are_named():
    verdict = judged("unused_parameters")
    assert "DDP waits for gradients of spare.weight and spare.bias" in verdict.findings[0].statement


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes of others in /proc")
def test_ranks_end_themselves_if_their_parent_is_killed():
    here = Path(__file__).parents[2]
    imports = "from pytest_trainhealth import diagnose; from tests.ranks import programs"
    code = f"{imports}; diagnose(programs.hangs, ({CHECK!r},))"
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=here, env={**os.environ, "PYTHONPATH": str(here)})
    try:
        until = time.monotonic() + 60
        while len(ranks_of(parent.pid)) < 3 and time.monotonic() < until:
            time.sleep(0.1)
        assert len(ranks_of(parent.pid)) >= 3
        time.sleep(1)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert gone_within(parent.pid, 30)


def test_a_script_without_a_guard_starts_no_ranks_in_its_ranks(tmp_path: Path):
    """Each rank imports the script, whose last line would examine it once more, with ranks of its own."""
    lines = ("from tests.ranks.programs import healthy", "from pytest_trainhealth import diagnose")
    made = ("def program():", "    return healthy()", "print(diagnose(program, 'ranks_agree').verdicts[0].reason)")
    script = tmp_path / "script.py"
    script.write_text("\n".join((*lines, *made)))
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "NotATraining: script.py calls diagnose() when it is imported" in run.stderr
    assert 'put the call under `if __name__ == "__main__":`' in run.stderr


def test_a_rank_starts_no_ranks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRAINHEALTH_RANK_OF", "1")
    verdict = judged("healthy")
    assert verdict.reason == "this process is a rank itself, and starts none of its own"
