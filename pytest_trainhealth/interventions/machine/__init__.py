"""Interventions on how the machine runs a training: precision, threads, compiling, memory."""
