"""Small programs in the style of public code, each with one fault, or several in turn, and healthy twins."""
