"""Signals about speed and memory: what a step spends its time on, and what it leaves behind."""
