"""Everything that touches torch while a training runs: the loop, one file per signal, and what is needed on failure.

A `Run` reports to its listeners what happens (`run/events.py` lists the events); `run/hooks.py` makes torch report to
the run. Signals and interventions are both listeners; all hooks are removed in every case.
"""
