"""The scoreboard: every program of the corpus diagnosed, and what we said held against what is known.

`python -m tests.evaluation.scoreboard` runs it and writes `docs/scoreboard.md` and `docs/scoreboard.json`;
`python -m tests.evaluation.scoreboard.steadiness` repeats some cases, plain and on a busy machine.
`cases.py` says what there is to diagnose, `diagnosing.py` is one case, `running.py` and `workers.py` run many in
processes, `results.py` is what came out, `counting.py` the figures and the bars, `page.py` and `tables.py` the page.
"""
