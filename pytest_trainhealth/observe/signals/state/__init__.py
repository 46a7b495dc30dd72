"""Signals about state: what tells two runs apart that have to be the same, and what a checkpoint holds."""
