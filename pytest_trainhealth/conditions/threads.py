"""Another number of threads: the same hook as in the cure of that name."""

from __future__ import annotations

from ..cures.threads import listener as listener
