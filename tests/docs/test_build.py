"""The docs build without a warning, and the generated reference covers everything there is."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pytest_trainhealth.causes import GROUPS, SECTIONS, all_causes, cause_names
from pytest_trainhealth.records.symptoms import SYMPTOM_ROWS
from pytest_trainhealth.settings import CHECKS, SETTINGS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The reference as `docs/conf.py` has it written before a build, in a folder of its own."""
    sys.path.insert(0, str(DOCS))
    try:
        import _generate
    finally:
        sys.path.remove(str(DOCS))
    docs = tmp_path_factory.mktemp("docs")
    (docs / "causes").symlink_to(DOCS / "causes")
    (docs / "reference").mkdir()
    (docs / "reference" / "report.json").symlink_to(DOCS / "reference" / "report.json")
    _generate.write(docs)
    return docs / "reference" / "generated"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_builds_without_a_warning(tmp_path):
    application = pytest.importorskip("sphinx.application")
    pytest.importorskip("furo")
    warnings = (tmp_path / "warnings").open("w+")
    app = application.Sphinx(
        DOCS, DOCS, tmp_path / "html", tmp_path / "doctrees", "html", status=None, warning=warnings, freshenv=True
    )
    app.build()
    warnings.seek(0)
    assert warnings.read() == ""
    links = re.findall(r'(?:href|src)="(https?://[^"]+)"', (tmp_path / "html" / "index.html").read_text())
    assert not [link for link in links if "font" in link]


def test_every_setting_is_told(generated):
    text = (generated / "settings.md").read_text()
    for setting in SETTINGS:
        assert setting.flag in text or f"`{setting.name}=`" in text


def test_every_name_has_a_page(generated):
    assert {p.stem for p in (generated / "checks").iterdir()} == {*CHECKS, "index"}
    groups = {f"about-{group.name}" for group in GROUPS}
    assert {p.stem for p in (generated / "causes").iterdir()} == {*cause_names(), *groups, "index"}
    assert {p.stem for p in (generated / "symptoms").iterdir()} == {*(row.name for row in SYMPTOM_ROWS), "index"}


@pytest.mark.parametrize("cause", cause_names())
def test_page_of_a_cause(generated, cause):
    text = (generated / "causes" / f"{cause}.md").read_text()
    assert [title for title in SECTIONS if f"## {title}" not in text] == []
    assert text.count(":emphasize-lines:") >= 1


def test_symptoms_link_their_causes(generated):
    for cause in all_causes():
        for category in cause.explains:
            assert f"../causes/{cause.name}.md" in (generated / "symptoms" / f"{category}.md").read_text()


def test_pages_name_no_place_of_this_machine():
    written = [p for ending in ("md", "txt", "py", "json") for p in DOCS.rglob(f"*.{ending}")]
    shown = [p for p in written if "_build" not in p.parts]
    assert [p.name for p in shown if re.search(r"(?<![\w.])/(?:home|root|tmp|work|Users)/", p.read_text())] == []
