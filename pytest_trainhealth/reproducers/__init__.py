"""A failure in a file: the step that was not finite is kept, and can be taken again."""
