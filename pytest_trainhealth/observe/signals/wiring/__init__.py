"""Signals about wiring: parameters, gradients, optimizers, modes, and what holds or moves what."""
