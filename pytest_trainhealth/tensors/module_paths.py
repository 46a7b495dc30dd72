"""Where a module, parameter or buffer is, in words that its user knows: `encoder.layers.0.weight`."""

from __future__ import annotations


def full_path(*parts: str) -> str:
    """The label of a model, the path of a module in it, a name. A single model has no label, and itself no path."""
    return ".".join(part for part in parts if part)
