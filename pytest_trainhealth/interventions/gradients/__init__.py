"""Interventions on gradients between the backward pass and the update."""
