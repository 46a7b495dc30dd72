"""Judges a program, confirms what it saw, looks for causes and tries their cures."""
