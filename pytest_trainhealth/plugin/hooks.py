"""pytest hooks, and nothing else.

Every pytest run of every user loads this module, and most of these runs have no training test. So anything not needed
to find out that there is nothing to do is imported inside the hook that needs it, and torch only if a test is judged.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..settings import CHECKS, MARKERS, OUTLETS, SETTINGS, Paths, WrongSetting, keywords
from .options import INI_TYPES, read
from .stash import CHECK, FACTORY, OPTIONS, RESULTS, RUNS, SEEDS_FIXTURES, SHOW, UNENFORCED, UNMARKED, VERDICTS
from .unmarked import is_lost, misspelt, refuse_training

if TYPE_CHECKING:
    from .fixture import TrainHealth


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("trainhealth", "training health")
    for setting in SETTINGS:
        if setting.option:
            # no default, so that it does not hide an ini value; no type, so that one place words all wrong values
            how: dict[str, Any] = {"metavar": setting.metavar}
            if setting.kind is bool:
                how = {"action": "store_true"}
            elif setting.kind is Paths:
                how |= {"action": "extend", "nargs": "+"}
            elif setting.alone is not None:
                how |= {"nargs": "?", "const": setting.alone}
            group.addoption(setting.flag, dest=setting.key, default=None, help=setting.help, **how)
        if setting.ini:
            parser.addini(setting.key, setting.help, type=INI_TYPES[setting.kind], default=None)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    file = early_config.known_args_namespace.trainhealth_replay
    if file is not None:
        from .replay_option import refuse_foreign_settings

        refuse_foreign_settings(early_config, file)
    logs = early_config.known_args_namespace.trainhealth_history
    if logs is not None:
        from . import history_items

        history_items.refuse_foreign_settings(early_config, logs)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    name, writes = config.getoption("trainhealth_explain"), config.getoption("trainhealth_init")
    if name is None and not writes:
        return None
    try:
        if writes:
            from .first_test import write_first_test

            print(write_first_test(config.rootpath))
        else:
            from ..reports.explain import page

            print(page(" ".join([name, *_words_after(config)]) if name else ""))
    except WrongSetting as error:
        raise pytest.UsageError(str(error)) from None
    return 0


def _words_after(config: pytest.Config) -> list[str]:
    """`--trainhealth-explain loss is stuck`, without quotes: pytest takes all but the first word for files."""
    return [each for each in config.getoption("file_or_dir") or () if not Path(each).exists()]


def pytest_configure(config: pytest.Config) -> None:
    text = {"trainhealth": "the whole battery of training health checks", **CHECKS}
    for marker, promise in text.items():
        taken = ", ".join(f"{s.name}={s.default!r}" for s in keywords(marker))
        config.addinivalue_line("markers", f"{marker}({taken}): {promise} (pytest-trainhealth)")
    try:
        if config.getoption("trainhealth_replay") is None:
            options = read(config)
        else:
            from .replay_option import prepare

            options = prepare(config)
        config.stash[OPTIONS] = options
        if options["enabled"] and (options["ignore"] or options["known"] is not None):
            from .silencing import prepare_silencing

            prepare_silencing(config)
    except WrongSetting as error:
        raise pytest.UsageError(str(error)) from None
    if hasattr(config, "workerinput"):
        return
    from .session_results import SessionResults

    judging = options["enabled"] and not config.getoption("collectonly")
    results = config.stash[RESULTS] = SessionResults(enforced=judging)
    config.pluginmanager.register(results, "trainhealth-gathered")
    if not judging:
        return
    if options["github"]:
        from .github_actions import GitHubActions, runs_here

        if runs_here():
            config.pluginmanager.register(GitHubActions(results), "trainhealth-github")
    if config.pluginmanager.has_plugin("html") and config.getoption("htmlpath", None):
        from .pytest_html_plots import PytestHtmlPlots

        config.pluginmanager.register(PytestHtmlPlots(), "trainhealth-pytest-html")
    for outlet in OUTLETS:
        file, where = options[outlet.name], options.given.get(outlet.name)
        try:
            if file is not None:
                results.write_to(Path(file), outlet.report, where or outlet.flag)
        except OSError as error:
            raise pytest.UsageError(f"{where}: cannot write {file}: {error.strerror or error}") from None


#: Neither 1.6 nor 1.7.5 of pytest-forked runs a test with pytest 9.2, with or without us.
_FORKED = "if every test crashes, this pytest-forked does not work with this pytest: use -n 2 instead of --forked"


def pytest_report_header(config: pytest.Config) -> str | None:
    options = config.stash[OPTIONS]
    if not options["enabled"]:
        return None
    from .. import __version__

    described = f"trainhealth: {__version__}, on ({options.switched_on_by}), {options.describe()}"
    if config.getoption("forked", False):
        return f"{described}\ntrainhealth: {_FORKED}"
    return described


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before xdist starts its workers, so that a wrong name of a factory or a log is reported once, in one line."""
    config = session.config
    if config.stash[OPTIONS]["enabled"] and not config.getoption("collectonly"):
        from .progress_line import prepare

        prepare(config)
    spec, logs = config.stash[OPTIONS]["training"], config.stash[OPTIONS]["history"]
    if spec is None and logs is None:
        return
    try:
        if spec is not None:
            from .factory_items import load

            config.stash[FACTORY] = load(spec, (config.invocation_params.dir, config.rootpath))
        if logs is not None:
            from .history_items import find_runs

            config.stash[RUNS] = find_runs(logs, config.invocation_params.dir)
    except WrongSetting as error:
        raise pytest.UsageError(str(error)) from None
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []  # no tests were requested as well


def pytest_unconfigure(config: pytest.Config) -> None:
    if SHOW in config.stash:
        config.stash[SHOW].close()
        del config.stash[SHOW]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if isinstance(collector, pytest.Session) and FACTORY in collector.config.stash:
        from .factory_items import TrainingCollector

        report.result.append(TrainingCollector.from_parent(collector, factory=collector.config.stash[FACTORY]))
    if isinstance(collector, pytest.Session) and RUNS in collector.config.stash:
        from .history_items import HistoryCollector

        report.result.append(HistoryCollector.from_parent(collector, runs=collector.config.stash[RUNS]))
    return report


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs last, so that the check's name comes after the ids of the user's own parameters."""
    if metafunc.config.stash[OPTIONS]["enabled"] and (wrong := misspelt(metafunc.definition)):
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {wrong}")
    if not _marked(metafunc.definition):
        return
    from .items import parametrize

    parametrize(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Runs first, so that -k, --lf and pytest-benchmark see the final items."""
    if not config.stash[OPTIONS]["enabled"]:
        return
    from .items import finish

    finish(items)
    if config.stash[OPTIONS]["replay"] is not None:
        from .replay_option import keep_the_test

        keep_the_test(session, config, items)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    if not session.config.stash[OPTIONS]["enabled"] or hasattr(session.config, "workerinput"):
        return (yield)
    from .terminated import like_ctrl_c

    with like_ctrl_c():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    item.config.stash[SEEDS_FIXTURES] = _judged(item) and item.config.stash[OPTIONS]["enabled"]
    try:
        return (yield)
    finally:
        item.config.stash[SEEDS_FIXTURES] = False


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Seeds fixtures: models and data may come from them, and a verdict has to be the same in every run."""
    ours = fixturedef.argname == "trainhealth"  # it seeds the test's body itself
    if ours or not request.config.stash.get(SEEDS_FIXTURES, False) or "torch" not in sys.modules:
        return (yield)
    from .seeding import fixture_seed

    with fixture_seed(fixturedef.argname, request):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    __tracebackhide__ = True
    if _marked(item) and item.config.stash[OPTIONS]["enabled"]:
        from .items import refuse_unsplit

        refuse_unsplit(item)
    if not isinstance(item, pytest.Function) or not is_lost(item):
        return (yield)
    with refuse_training(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    __tracebackhide__ = True
    if not _marked(pyfuncitem):
        return (yield)
    from .run_check import intercept_call

    with intercept_call(pyfuncitem):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    enforced = item.config.stash[OPTIONS]["enabled"]
    unenforced = 0 if enforced or call.when != "call" else len(_marked(item))
    raised: bool = enforced and call.excinfo is not None and _judged(item)
    if unenforced or raised or item.stash.get(VERDICTS, None) or item.stash.get(UNENFORCED, 0):
        from .item_report import attach_to_report

        attach_to_report(report, item, call.excinfo.value if call.excinfo else None, unenforced)
    if call.excinfo is not None and getattr(call.excinfo.value, "trainhealth_absent", False):
        report.trainhealth_absent = True  # type: ignore[attr-defined]
    return report


def pytest_report_teststatus(report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
    """A check that is not one of this training's battery is in no count: nobody has asked for it."""
    return ("", "-", "NO VAL_DATA") if getattr(report, "trainhealth_absent", False) else None


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Around the files of pytest and of other plugins, inside of what shows failures and summary.

    A JUnit file on a full disk raises, and would take all of those with it.
    """
    try:
        return (yield)
    except OSError as error:
        results = session.config.stash.get(RESULTS, None)
        if results is None or not session.config.stash[OPTIONS]["enabled"]:
            raise
        results.note_failed_plugin(session, error)
        return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Not last: pytest-benchmark's own summary may raise, and everything after it would be lost."""
    results = config.stash[RESULTS]
    if results.checked or results.unenforced:
        from ..reports.terminal import write_summary

        write_summary(terminalreporter, results, whole=_whole_run(terminalreporter))
    elif results.asked_for_nothing and _is_new_here(terminalreporter):
        from .first_minutes import what_to_write

        terminalreporter.section("training health", sep="-")
        for line in what_to_write(config.rootpath):
            terminalreporter.line(line)
    if results.texts is not None:
        results.texts.fit_into_lines()
    if config.stash[OPTIONS]["replay"] is not None:
        from .replay_option import describe_outcomes

        for line in describe_outcomes(config, results):
            terminalreporter.write_line(line)
    for line in results.remarks:
        terminalreporter.write_line(line, yellow=True)
    for line in results.troubles:
        terminalreporter.write_line(line, red=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """For xdist: a worker has no terminal of its own, but words its failures for the controller's."""
    from .run_check import chart_width

    node.workerinput["trainhealth_width"] = chart_width(node.config)


@pytest.fixture
def trainhealth(request: pytest.FixtureRequest) -> Generator[TrainHealth]:
    """Training health checks as methods: trainhealth.overfits_one_batch(training), ...; and watch()."""
    from .fixture import TrainHealth

    if not request.config.stash[OPTIONS]["enabled"] or "torch" not in sys.modules:
        yield TrainHealth(request)
        return
    from .seeding import test_seed

    with test_seed(request):
        yield TrainHealth(request)


def _whole_run(reporter: pytest.TerminalReporter) -> bool:
    """Nobody has selected some of the tests: only then it is known what was of no use."""
    config = reporter.config
    return not reporter.stats.get("deselected") and config.args_source is not pytest.Config.ArgsSource.ARGS


def _is_new_here(reporter: pytest.TerminalReporter) -> bool:
    """The flag was given and not the configuration, which is there for runs of a few other tests, too."""
    by_flag = reporter.config.stash[OPTIONS].given.get("enabled") == "--trainhealth"
    return by_flag and not reporter.stats.get("deselected") and reporter.verbosity >= 0


def _judged(item: pytest.Item) -> bool:
    requested = bool(_marked(item)) or "trainhealth" in getattr(item, "fixturenames", ()) or CHECK in item.stash
    return requested or UNMARKED in item.stash


def _marked(node: pytest.Item) -> set[str]:
    return {mark.name for mark in node.iter_markers()} & MARKERS
