"""Trainings whose verdict is known: `healthy/` must never fail a check."""
