"""The path of a module, parameter or buffer, as the user knows it: `encoder.layers.0.weight`."""

from __future__ import annotations


def full_path(*parts: str) -> str:
    """Joins the label of a model, the path of a module in it, and a name. A lone model has no label, and no path."""
    return ".".join(part for part in parts if part)
