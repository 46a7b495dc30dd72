"""Signals about losses: which functions make up the loss, and what they are called with."""
