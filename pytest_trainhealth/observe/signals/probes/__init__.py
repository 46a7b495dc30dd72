"""Signals that call the models again: what the outputs depend on, and what leaks into them."""
