"""Outlets, one file each. They read records only: no torch, and no judgement of their own."""
