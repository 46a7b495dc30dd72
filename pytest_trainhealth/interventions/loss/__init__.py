"""Interventions on the loss and on the inputs of loss functions."""
