"""A job that hangs or dies is reported, and the others go on."""

from __future__ import annotations

import os
import time

from .workers import NoAnswer, answers


def misbehave(job: str) -> str:
    if job == "hangs":
        time.sleep(60)
    if job == "dies":
        os._exit(3)
    return f"{job}: done"


def test_every_job_gets_an_answer():
    jobs = ["one", "hangs", "dies", "two", "three"]
    found = dict(answers(misbehave, jobs, processes=2, limit=10))
    assert [found[index] for index in (0, 3, 4)] == ["one: done", "two: done", "three: done"]
    assert found[1] == NoAnswer("no answer within 10 s")
    assert found[2] == NoAnswer("the process ended with exit code 3")
