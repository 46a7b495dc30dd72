"""What would help: a fixed panel of small changes, each tried from the same start, and a look at how a model is built.

A change is a row of `panel.py`: its hooks, when it applies, and the code to paste. `advise.py` tries them,
`trial_runs.py` makes the runs, `kept_pairs.py` keeps what was measured, `analysis/gains.py` decides, `statements.py`
finds the words.
"""
