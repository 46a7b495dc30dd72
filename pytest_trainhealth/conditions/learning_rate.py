"""Another learning rate: the same hook as in the cure of that name."""

from __future__ import annotations

from ..cures.learning_rate import listener as listener
