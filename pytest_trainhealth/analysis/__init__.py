"""What can be read from a trace: pure functions from records to facts, for checks, causes and the engine. No torch."""
