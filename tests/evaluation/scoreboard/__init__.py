"""The scoreboard: diagnoses every program of the corpus, and compares each diagnosis with the known truth.

`python -m tests.evaluation.scoreboard` runs it and writes `docs/scoreboard.md` and `docs/scoreboard.json`;
`python -m tests.evaluation.scoreboard.steadiness` repeats some cases under other circumstances.
`cases.py` says what there is to diagnose, `diagnosing.py` diagnoses one case, `running.py` and `workers.py` run many in
processes, `results.py` keeps the results, `counting.py` has the figures and the bars, `page.py` and `tables.py` write
the page.
"""
