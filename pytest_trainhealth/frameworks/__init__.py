"""Loops that belong to a framework, one step at a time: what `Training.from_lightning` and its likes are made of."""
