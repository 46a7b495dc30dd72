"""Signals about numbers: activations, statistics, precision, and whether values are finite."""
