"""Interventions on the loss and on what loss functions are given."""
