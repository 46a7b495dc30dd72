"""Interventions on state: a run once more, resumed from a checkpoint, with its randomness or its batches held still."""
