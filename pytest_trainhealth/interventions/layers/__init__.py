"""Interventions on the layers of a model."""
