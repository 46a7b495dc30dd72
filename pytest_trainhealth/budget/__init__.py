"""The time that a check may take: one clock, what counts, and when it is used up."""
