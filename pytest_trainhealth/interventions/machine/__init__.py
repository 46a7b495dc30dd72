"""Interventions on the machine's side of a run: precision, threads, compiling, memory."""
