"""Sphinx settings. Pages that can be read out of the code are written by `_generate.py` before each build."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import _generate  # noqa: E402

import pytest_trainhealth  # noqa: E402

project = "pytest-trainhealth"
author = "pytest-trainhealth contributors"
copyright = author
release = version = pytest_trainhealth.__version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"pytest-trainhealth {release}"
html_static_path = ["_static"]
html_css_files = ["trainhealth.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def setup(app):
    app.connect("builder-inited", lambda app: _generate.write(Path(app.srcdir)))
