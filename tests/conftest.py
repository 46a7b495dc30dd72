"""Inner pytest runs, in folders of their own. The plugin under test comes in as it does for users: installed."""

from __future__ import annotations

pytest_plugins = ["pytester"]
