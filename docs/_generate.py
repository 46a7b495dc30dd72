"""Writes the reference from the code: settings, checks, causes, symptoms, Python API and JSON format.

A new check or cause appears by itself: its docstring is its page. `FIELDS` describes the fields of the records, which
the code cannot do, and a field without a description stops the build.

`python docs/_generate.py --readme` rewrites the tables of checks and causes in README.md; a test fails when it is due.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_trainhealth import settings
from pytest_trainhealth.causes import GROUPS, Cause, Group, all_causes
from pytest_trainhealth.causes._signs import SIGNS, Signs
from pytest_trainhealth.checks import check_page
from pytest_trainhealth.records import recorded, verdict
from pytest_trainhealth.records.symptoms import SYMPTOM_ROWS
from pytest_trainhealth.reports.json_file import in_rows
from pytest_trainhealth.reports.json_schema import json_schema

FIELDS = {
    "Report": {
        "training": "the name of what was examined",
        "verdicts": "one for each check that was run, in order",
        "healthy": "no check failed, and at least one could judge",
        "findings": "of all verdicts, surest first; a cause that several checks found is listed once",
        "advice": "what would help, where it was asked for: gains first, the largest first of all",
    },
    "Verdict": {
        "check": "the check's name",
        "training": "the name of what was examined",
        "outcome": "`passed`, `failed` or `could not judge`",
        "reason": "why it could not judge; empty otherwise",
        "symptom": "what was found wrong, where it failed",
        "findings": "the causes that explain the symptom, surest first; empty where none fits",
        "reruns": "re-runs that belong to no finding, where no cause fits",
        "ruled_out": "causes that can explain such a symptom, but for which there is no evidence here",
        "untried": "cures that were not tried: not enough steps left, or the training cannot be run again",
        "notes": "what is worth knowing but is not a fault",
        "figures": "what was measured, by name; which ones depends on the check",
        "steps": "training steps that the check took",
        "seconds": "time that check and diagnosis took",
        "seed": "the seed that this verdict was made with",
        "reproducer": "the file that replays the failure, where one was kept",
        "recorded": "what reports draw of the run that decided, or `None`",
        "silenced": "what was found and does not count, each with its `name`, `reason` and where that was `given`",
        "advice": "what would help, where [advice](/how-to/advice.md) was asked for",
        "passed": "the outcome is `passed`",
        "failed": "the outcome is `failed`",
        "headline": "one line, with the name to search for first",
        "explains_itself": "the symptom says what is different, and no cause was looked for",
    },
    "Symptom": {
        "summary": "measured value and limit in one sentence",
        "category": "its row in the [table of symptoms](symptoms/index.md)",
        "measured": "what was measured",
        "limit": "what it should have been",
        "severity": "`critical`, `high`, `medium` or `low`",
        "headline": "a few words, for the first line where no cause fits",
        "suspects": "where the fault lies, as far as a plain recipe shows it: `recipe` (rates, settings, "
        "initialisation, regularisation, the scale of the data), `model` (model, loss, targets), or nothing",
        "places": "where the error that is explained was raised: lines of your own, the outermost first",
    },
    "Finding": {
        "cause": "the name of the [cause](causes/index.md)",
        "statement": "what is wrong, in terms of your own names",
        "certainty": "`confirmed`, `likely` or `possible`; see [what these words mean](/explanation/certainty.md)",
        "why": "how it came about, where that is known",
        "evidence": "the facts that speak for it",
        "places": "lines of your source, the one where the harm was done last",
        "about": "names of the parameters or modules that it concerns, where it is about some of them",
        "reruns": "the cures that were tried, and what came of them",
        "fix": "what to do",
        "not_this": "what people try instead, and why it does not help",
        "symptom": "the symptom that it explains",
        "rank": "its place in the order of investigation: data and wiring first, learning rates last",
        "confirmed": "the certainty is `confirmed`",
        "location": "the line to look at first, or `None`",
        "headline": "name and statement in one line",
    },
    "Evidence": {
        "text": "the fact, with its figures",
        "measured": "the figure alone, or `None`",
        "place": "where in your source, or `None`",
    },
    "Rerun": {
        "cure": "what was changed for this run",
        "result": "what came of it, in a few characters",
        "healthy": "the check passes with it",
        "confirms": "it is the run that confirms the cause",
        "losses": "its loss, at most 60 points, or `None`",
    },
    "Recorded": {
        "losses": "the loss of the run, at most 120 points that keep its peaks",
        "rates": "the learning rate of each optimizer, by update",
        "logged": "of a finished run: losses, scores, rates and the norm of the gradient, as they were logged",
        "chance": "the loss of the best constant answer, where it is known",
        "floor": "the least loss that the targets allow, where it is known",
        "reach": "what a plain recipe gets to, where it was tried",
        "parameters": "gradients and updates by parameter, at most 48 of them",
        "parameter_count": "how many there are",
        "activations": "activation functions that were looked at, at most 24",
        "fields": "the tensors of a batch",
        "classes": "label and number of samples of the largest classes",
        "samples": "how many were read, where the data were gone through",
        "val_samples": "the same of the validation data",
    },
    "Curve": {
        "name": "what it is of",
        "steps": "where its points lie",
        "values": "their values, with five digits",
        "unit": "what `steps` counts: `step`, `update`, `epoch` or `entry`",
    },
    "ParameterFigures": {
        "name": "the parameter's name",
        "size": "how many values it has",
        "trainable": "it needs gradients",
        "gradient": "size of the gradient per value, at the first look and at the last; `None` where it had none",
        "update": "size of an update relative to the weights, at the first look and at the last",
    },
    "ActivationFigures": {
        "function": "its name",
        "module": "the module that calls it",
        "units": "how many units it has",
        "dead": "share of units that are 0 for every sample, or `None`",
        "saturated": "share of outputs at the ends of its range, or `None`",
    },
    "FieldFigures": {
        "name": "as you know it: `batch[0]`",
        "kind": "shape and type, or the number of features",
        "low": "smallest value",
        "high": "largest value",
        "mean": "mean",
        "std": "spread",
    },
    "Fix": {"instruction": "what to do", "code": "up to three lines that do it"},
    "Advice": {
        "change": "what is changed, in a few words",
        "status": "`gain`, `no gain`, `not tried`, or `not measured`: a remark on how the model is built",
        "statement": "what it gains, with its interval over seeds; or why not",
        "code": "lines to paste",
        "figures": "`gain` with `low` and `high`, how many times sooner the same loss is reached; `steps` and `speed`, "
        "its two factors; `samples_per_second`; `kept_for_backward`, times the memory; `seeds`",
        "measured": "it was tried",
    },
    "Place": {"file": "path, relative where possible", "line": "from 1", "code": "the line itself"},
}
#: The order in which the records refer to one another.
RECORDS = tuple(FIELDS)


def write(docs: Path) -> None:
    """Writes only pages that have changed, so that a second build has little to do, and deletes pages that are gone."""
    folder = docs / "reference" / "generated"
    pages = {folder / name: text for name, text in _pages(docs)}
    for old in folder.rglob("*.md"):
        if old not in pages:
            old.unlink()
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def clean(docs: Path) -> None:
    shutil.rmtree(docs / "reference" / "generated", ignore_errors=True)


def _pages(docs: Path) -> Iterator[tuple[str, str]]:
    yield "settings.md", _settings()
    yield "api.md", _api()
    yield "json.md", _json(docs)
    yield "report.schema.json", json.dumps(json_schema(), indent=1) + "\n"
    yield "checks/index.md", _index("Checks", _check_rows(), ("check", "promise", "in the battery"), settings.CHECKS)
    for name in settings.CHECKS:
        yield f"checks/{name}.md", _check(name)
    yield "causes/index.md", _causes()
    for group in GROUPS:
        yield f"causes/{_group_page(group)}.md", _group(group)
    for cause in all_causes():
        yield f"causes/{cause.name}.md", _cause(cause, docs)
    rows = [row.name for row in SYMPTOM_ROWS]
    yield "symptoms/index.md", _index("Symptoms", _symptom_rows(), ("category", "what is seen", "severity"), rows)
    for row in SYMPTOM_ROWS:
        yield f"symptoms/{row.name}.md", _symptom(row)


def readme(text: str) -> str:
    """README.md with its tables as the code has them now. Comments that readers do not see mark where each belongs."""
    tables = {
        "checks": _table(
            ("marker", "a passing test means", "in `trainhealth`"),
            [(f"`{n}`", promise, _in_battery(n, "")) for n, promise in settings.CHECKS.items()],
        ),
        "causes": _table(
            ("about", "causes"), [(group.title, ", ".join(f"`{c.name}`" for c in _of(group))) for group in GROUPS]
        ),
    }
    for name, table in tables.items():
        begin, end = f"<!-- {name}: written by python docs/_generate.py --readme -->", f"<!-- end of {name} -->"
        between = re.compile(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
        text, found = between.subn(lambda _, table=table: f"\n\n{table}\n\n", text)
        if found != 1:
            raise ValueError(f"README.md needs these two lines, once each: {begin} {end}")
    return text


def _of(group: Group) -> list[Cause]:
    return [cause for cause in all_causes() if cause.group is group]


def _settings() -> str:
    given, keywords = [], []
    for s in settings.SETTINGS:
        if s.option:
            value = "" if s.kind is bool else f" {s.metavar}"
            given.append(f"`{s.flag}{value}`\n: {_sentence(s.help)} {_also(s)}")
        else:
            keywords.append(f"`{s.name}=`\n: {_sentence(s.help)} {_also(s)}")
    return _joined(
        "# Settings",
        "A marker's keyword wins over the command line, and that over the ini file (`pytest.ini`, `pyproject.toml`, "
        "`tox.ini`). pytest's header shows which values apply and where each was set.",
        "## Options and ini keys",
        *given,
        "## Keywords that only markers take",
        *keywords,
        "## Markers",
        "One marker is one test item. `trainhealth` stands for the battery; each check has a marker of its own name.",
        _table(("marker", "keywords"), [_marker_row(m) for m in ("trainhealth", *settings.CHECKS)]),
    )


def _also(s: settings.Setting) -> str:
    """The default of a setting, and the other ways to give it."""
    words = [f"Default: {_default(s.default)}."] if s.default is not None else []
    words += [f"Ini key: `{s.key}`."] if s.ini else []
    of = (
        "all checks of a training"
        if s.checks == settings.TRAINING_CHECKS
        else ", ".join(f"`{name}`" for name in s.checks)
    )
    of = "`trainhealth`" if s.name == "checks" else of
    if of:
        words.append(f"Marker keyword: `{s.name}=` of {of}." if s.option else f"Of {of}.")
    return " ".join(words)


def _marker_row(marker: str) -> tuple[str, str]:
    name = f"`{marker}`" if marker == "trainhealth" else f"[`{marker}`](checks/{marker}.md)"
    return name, ", ".join(f"`{s.name}`" for s in settings.keywords(marker))


def _in_battery(check: str, otherwise: str) -> str:
    return "yes" if check in settings.BATTERY else "with `val_data`" if check in settings.WITH_VAL_DATA else otherwise


def _check_rows() -> list[tuple[str, ...]]:
    return [
        (f"[`{name}`]({name}.md)", promise, _in_battery(name, "needs its marker"))
        for name, promise in settings.CHECKS.items()
    ]


def _check(name: str) -> str:
    statement, sections = _read(check_page(name))
    keywords = [(f"`{s.name}=`", _default(s.default), _sentence(s.help)) for s in settings.keywords(name)]
    taken = _table(("keyword", "default", "meaning"), keywords) if keywords else "None."
    return _joined(
        f"# `{name}`",
        f"**{_sentence(statement)}**",
        *_sections(sections),
        "## Keywords of its marker",
        taken,
    )


def _causes() -> str:
    parts = [
        "# Causes",
        "Grouped by topic, and in each table in the order in which they are considered. In general, data and "
        "wiring come first, then numbers, learning rates last; the page of a symptom lists all that could explain it "
        "in order. `pytest --trainhealth-explain NAME` prints the same pages in a terminal.",
    ]
    for group in GROUPS:
        parts += [f"## {group.title}", _table(("cause", "what is wrong", "explains"), _cause_rows(group))]
    return _joined(*parts, _toc(map(_group_page, GROUPS)))


def _group_page(group: Group) -> str:
    """Not the bare name: a cause may have it."""
    return f"about-{group.name}"


def _group(group: Group) -> str:
    """In the sidebar, causes stand under their group."""
    table = _table(("cause", "what is wrong", "explains"), _cause_rows(group))
    return _joined(f"# {group.title}", table, _toc(cause.name for cause in _of(group)))


def _cause_rows(group: Group) -> list[tuple[str, ...]]:
    return [(f"[`{c.name}`]({c.name}.md)", c.title, ", ".join(map(_symptom_link, c.explains))) for c in _of(group)]


def _cause(cause: Cause, docs: Path) -> str:
    statement, sections = _read(cause.page)
    explains = ", ".join(map(_symptom_link, cause.explains))
    return _joined(
        f"# `{cause.name}`",
        f"**{_sentence(statement)}**",
        f"Explains: {explains}.",
        *_sections(sections),
        *_pair(cause.name, docs),
    )


def _pair(name: str, docs: Path) -> Iterator[str]:
    """The program with the fault, the failure it gives, and the fixed program, with the changed lines highlighted."""
    folder = docs / "causes" / name
    broken, fixed = ((folder / f"{which}.py").read_text(encoding="utf-8").splitlines() for which in ("broken", "fixed"))
    gone, new = _changed(broken, fixed)
    yield "## Example"
    yield _included(f"/causes/{name}/broken.py", "broken.py", gone)
    yield "What the chart says:"
    yield _included(f"/causes/{name}/failure.txt", None, [], "text")
    yield "The same program, fixed:"
    yield _included(f"/causes/{name}/fixed.py", "fixed.py", new)


def _changed(broken: list[str], fixed: list[str]) -> tuple[list[int], list[int]]:
    """The numbers, from 1, of lines that only one of the two has. Without line 1, as their docstrings always differ."""
    gone, new = [], []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, broken, fixed, autojunk=False).get_opcodes():
        if kind != "equal":
            gone += range(a + 1, b + 1)
            new += range(c + 1, d + 1)
    return [n for n in gone if n > 1], [n for n in new if n > 1]


def _included(path: str, caption: str | None, emphasized: list[int], language: str = "python") -> str:
    options = [f":language: {language}"]
    if caption:
        options.append(f":caption: {caption}")
    if emphasized:
        options.append(f":emphasize-lines: {','.join(map(str, emphasized))}")
    return "\n".join([f"```{{literalinclude}} {path}", *options, "```"])


def _symptom_rows() -> list[tuple[str, ...]]:
    return [(f"[`{row.name}`]({row.name}.md)", row.seen, row.severity) for row in SYMPTOM_ROWS]


def _symptom(row) -> str:
    causes = [(f"[`{c.name}`](../causes/{c.name}.md)", c.title) for c in all_causes() if row.name in c.explains]
    none = "None: it says itself what is different." if row.explains_itself else "None yet: no check reports it."
    looked_for = [_table(("cause", "what is wrong"), causes)] if causes else [none]
    return _joined(
        f"# `{row.name}`",
        f"**{_sentence(row.seen)}**",
        f"Severity: {row.severity}.",
        "## What is usually behind it",
        _sentence(row.usual),
        "## What to look at first",
        SIGNS[row.name].first,
        *_told_apart(SIGNS[row.name]),
        "## What to ask",
        row.ask,
        "## Causes that are looked for, in this order",
        *looked_for,
    )


def _told_apart(signs: Signs) -> Iterator[str]:
    if signs.tell_apart:
        rows = [(sign, ", ".join(f"[`{c}`](../causes/{c}.md)" for c in causes)) for sign, causes in signs.tell_apart]
        yield "## How to tell its causes apart"
        yield _table(("what is seen there", "look for"), rows)


def _symptom_link(name: str) -> str:
    return f"[`{name}`](../symptoms/{name}.md)"


def _api() -> str:
    from pytest_trainhealth import History, Improvement, TrainHealth, Training, compare, diagnose, history

    methods = [(n, m) for n, m in vars(TrainHealth).items() if inspect.isfunction(m) and not n.startswith("_")]
    parts = [
        "# Python API",
        "`from pytest_trainhealth import Training, diagnose`; torch is imported on first use.",
        "## `Training`",
        _signature("Training", Training),
        _doc(Training),
        "## `diagnose`",
        _signature("diagnose", diagnose),
        _doc(diagnose),
        "`settings` are the keywords of the checks' markers, such as `steps=`; see [Settings](settings.md).",
        "## `compare`",
        _signature("compare", compare),
        _doc(compare),
        _doc(Improvement)
        + " `outcome` is one of `better`, `worse`, `no difference beyond noise`, `less than 10 % apart` "
        "and `could not compare`; `fixed` is better without NaN and without more overfitting; `change`, `low` and "
        "`high` are the share that was gained, and its interval of 95 %.",
        "## `history`",
        _signature("history", history),
        _doc(history),
        _doc(History) + " Its `series` have `values`, `steps`, `epochs` and `lines`, and `when(index)` in words.",
        "## The `trainhealth` fixture",
        _doc(TrainHealth),
    ]
    for name, method in methods:
        parts += [f"### `trainhealth.{name}`", _signature(name, method), _doc(method)]
    parts += ["## Records", "All are frozen. `Verdict` and `Report` have `to_json()`; `str(report)` is for people."]
    for name in RECORDS:
        kind = getattr(verdict, name, None) or getattr(recorded, name)
        parts += [f"### `{name}`", _doc(kind), _table(("field", "type", "meaning"), _field_rows(kind))]
    return _joined(*parts)


def _field_rows(kind: type) -> list[tuple[str, str, str]]:
    words = FIELDS[kind.__name__]
    types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    properties = {n: p for n, p in vars(kind).items() if isinstance(p, property)}
    types |= {n: str(p.fget.__annotations__.get("return", "")) for n, p in properties.items()}
    if types.keys() != words.keys():
        raise ValueError(f"{kind.__name__}: no words, or no field, for {sorted(types.keys() ^ words.keys())}")
    return [(f"`{n}`", "`" + types[n].replace("|", "\\|") + "`", words[n]) for n in types]


def _json(docs: Path) -> str:
    example = json.loads((docs / "reference" / "report.json").read_text(encoding="utf-8"))
    record = lambda name: f"[`{name}`](api.md#{name.lower()})"  # noqa: E731
    own = [(f"`{f.name}`", FIELDS["Verdict"][f.name]) for f in dataclasses.fields(verdict.Verdict)]
    return _joined(
        "# JSON format",
        f"`--trainhealth-json FILE` writes every verdict of a run. This is version {verdict.SCHEMA_VERSION}; the "
        "number rises whenever a reader would have to change. {download}`Its JSON Schema <report.schema.json>` is made "
        "from the records, as this page is.",
        _table(
            ("key", "meaning"),
            [
                ("`version`", f"{verdict.SCHEMA_VERSION}"),
                (
                    "`complete`",
                    "every selected test has its outcome; false after `-x`, Ctrl-C or a kill that left some",
                ),
                ("`interrupted`", "true after Ctrl-C"),
                ("`verdicts`", "one object for each check that was run"),
                (
                    "`errors`",
                    "tests that ended without a verdict: `nodeid`, `outcome` (`raised`, `worker died`) and `message`",
                ),
            ],
        ),
        "A file is whole and readable at any moment: it is written under another name first. A pipe or a device "
        "(`/dev/stdout`) gets one document, when the run has ended. What cannot be written is a line at the end of "
        "the run, and an exit code that is not 0.",
        "## A verdict",
        _table(
            ("key", "meaning"),
            [
                ("`nodeid`", "pytest's id of the test item"),
                ("`place`", "file and line of the test"),
                ("`expected`", "the test is expected to fail (`xfail`)"),
                *own,
            ],
        ),
        f"`symptom`, `findings`, `reruns` and `recorded` hold {record('Symptom')}, {record('Finding')}, "
        f"{record('Rerun')} and {record('Recorded')} with the same names. "
        "JSON has no NaN and no infinity: a figure that is not finite is the word `nan`, `inf` or "
        "`-inf`, which `float()` reads back. `Verdict.from_json()` does so.",
        "## Example",
        f"```{{code-block}} json\n{in_rows(json.dumps(example, indent=2))}\n```",
    )


# -- Markdown -------------------------------------------------------------------------------------------------


def _read(page: str) -> tuple[str, dict[str, str]]:
    """The statement of a docstring page, and its sections by title."""
    first, *rest = page.splitlines()
    sections: dict[str, list[str]] = {}
    for line in rest:
        if line and not line.startswith(" "):
            sections[line] = []
        elif sections:
            sections[list(sections)[-1]].append(line)
    return first.split(": ", 1)[1], {t: textwrap.dedent("\n".join(lines)).strip() for t, lines in sections.items()}


def _sections(sections: dict[str, str]) -> Iterator[str]:
    for title, text in sections.items():
        yield f"## {title}"
        yield text


def _index(title: str, rows: list[tuple[str, ...]], columns: tuple[str, ...], pages: Iterable[str]) -> str:
    return _joined(f"# {title}", _table(columns, rows), _toc(pages))


def _toc(pages: Iterable[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = ["|" + "|".join(f" {cell} " if cell else " " for cell in row) + "|" for row in (columns, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(list(columns)), *lines[1:]])


def _signature(name: str, thing) -> str:
    signature = inspect.signature(thing)
    parameters = [p.replace(annotation=inspect.Parameter.empty) for n, p in signature.parameters.items() if n != "self"]
    plain = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    text = f"{name}{plain}"
    if len(text) > 88:
        text = f"{name}(\n" + "".join(f"    {p},\n" for p in _written(parameters)) + ")"
    return f"```{{code-block}} python\n{text}\n```"


def _written(parameters: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield str(parameter)


def _doc(thing) -> str:
    return inspect.getdoc(thing) or ""


def _default(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return ", ".join(f"`{v}`" for v in value)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?")) else text + "."


def _joined(*parts: str) -> str:
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def main() -> None:
    if sys.argv[1:] != ["--readme"]:
        sys.exit("usage: python docs/_generate.py --readme")
    file = Path(__file__).parents[1] / "README.md"
    file.write_text(readme(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
