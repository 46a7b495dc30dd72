"""Takes the pictures of the HTML report that the documentation shows: `python docs/_pictures.py`.

Runs the example of the page `how-to/html-report.md` and looks at the result in chromium. Needs what `tox -e report`
installs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
#: Pixels of the window; pictures are as wide as the page's column.
WIDTH = 1100


def main() -> None:
    page = (DOCS / "how-to" / "html-report.md").read_text(encoding="utf-8")
    found = re.search(r"^:caption: test_training.py\n\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert found is not None
    with tempfile.TemporaryDirectory() as temporary:
        (Path(temporary) / "test_training.py").write_text(found[1], encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "--trainhealth", "--trainhealth-report=report.html"]
        subprocess.run(command, cwd=temporary, check=False)
        take(Path(temporary) / "report.html")


def take(report: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.goto(report.as_uri())
        _shot(page, "report-overview.png", 0, _edges(page, "details.training")[0])
        page.locator("details.training").first.evaluate("(each) => { each.open = true; }")
        begin, end = _edges(page, "article.verdict")[0], _edges(page, "details.training figure")[1]
        _shot(page, "report-training.png", begin - 20, end)
        browser.close()


def _shot(page: Any, name: str, begin: float, end: float) -> None:
    clip = {"x": 0, "y": begin, "width": WIDTH, "height": end - begin}
    page.screenshot(path=DOCS / "_static" / name, full_page=True, clip=clip)


def _edges(page: Any, selector: str) -> tuple[float, float]:
    """Where the first of these elements begins and ends, from the top of the page."""
    box = page.locator(selector).first.bounding_box()
    return float(box["y"]), float(box["y"] + box["height"])


if __name__ == "__main__":
    main()
