"""Readings of a trace: pure functions from records to facts, shared by checks, causes and the engine. No torch here."""
