"""Interventions on what a step is given."""
