"""The corpus of the scoreboard with other tools, each used as its documentation says, counted as we count ourselves.

`python -m tests.evaluation.peers` runs them and adds a section to `docs/scoreboard.md`. `subject.py` turns a program
into what such tools take, `with_*.py` are one tool each, `asking.py` asks one about one case, `counting.py` makes the
table. A tool's module has `NAME`, `HOW` (which calls, in words), `MEANS` (which causes an alarm stands for, generously:
every cause that its name, its message or its documentation speaks of) and `ask(factory, seed)`, which returns its
alarms.
"""
