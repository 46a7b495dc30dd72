"""The user's source: which line created or called something, and whether a frame or class is the user's own."""
