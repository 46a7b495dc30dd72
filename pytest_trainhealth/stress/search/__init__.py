"""Search, not luck: inputs are moved by gradient towards the danger zones of a step's operations."""
