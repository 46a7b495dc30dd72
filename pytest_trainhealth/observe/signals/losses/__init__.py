"""Signals about losses: which functions make up the loss, and what these are given."""
