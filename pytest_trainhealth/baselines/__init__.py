"""Healthy runs that were recorded, in files that people review: read, written, and made from several seeds.

`checks/matches_baseline.py` compares a run with one; nothing here judges.
"""
