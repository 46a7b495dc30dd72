"""Signals about data: inputs and targets, their scale, their order, and the code that changes them."""
