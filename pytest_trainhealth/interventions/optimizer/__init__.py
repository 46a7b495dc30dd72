"""Interventions on the optimizer: its rate, its settings, the parameters it holds, and when it steps."""
