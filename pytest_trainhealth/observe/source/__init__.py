"""The user's source: which line made a thing or called it, and whose code a frame or a class is."""
