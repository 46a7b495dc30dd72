"""One file per thing about a run that can be other than usual: larger inputs, smaller batches, a lower precision.

Like cures they are hooks, not edits. Unlike cures they take nothing away from a training: they are what it may meet one
day, and it is judged as it is. Another learning rate may be either: its file is among the cures.
"""
