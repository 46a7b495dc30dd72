"""Stands for a framework that is installed without something that it needs itself."""

import no_such_package  # type: ignore[import-not-found]  # noqa: F401
