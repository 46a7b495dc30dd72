"""Signals about data: inputs and targets, their scale, their order, and who changes them."""
