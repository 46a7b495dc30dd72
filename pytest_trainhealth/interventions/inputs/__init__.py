"""Interventions on the inputs of a step."""
