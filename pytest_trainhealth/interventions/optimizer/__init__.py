"""Interventions on the optimizer: its rate, its settings, what it holds and when it steps."""
