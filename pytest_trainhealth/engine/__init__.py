"""Judges a program, confirms what was seen, looks for causes and tries their cures."""
