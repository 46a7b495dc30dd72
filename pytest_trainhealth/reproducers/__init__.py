"""A failure in a file: keeps the step that was not finite, so that it can be taken again."""
