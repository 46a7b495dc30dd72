"""Runs other tools on the corpus of the scoreboard, each as its documentation says, and counts them as we count us.

`python -m tests.evaluation.peers` runs them and adds a section to `docs/scoreboard.md`. `subject.py` turns a program
into what such tools take, each `with_*.py` is one tool, `asking.py` runs one tool on one case, `counting.py` makes the
table. A tool's module has `NAME`, `HOW` (which calls, in words), `MEANS` (which causes an alarm stands for, read
generously: every cause that its name, its message or its documentation mentions) and `ask(factory, seed)`, which
returns its alarms.
"""
