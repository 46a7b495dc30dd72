"""Before and after: two trainings are run with the same seeds. `analysis/improvement.py` says which is better."""
