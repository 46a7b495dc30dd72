"""Search instead of luck: gradients move the inputs towards the danger zones of a step's operations."""
