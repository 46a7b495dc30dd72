"""ONE table of settings: it makes the command-line options, the ini keys, the marker keywords and their docs.

Standard library only, and nothing is computed while options are being declared: every pytest run of
every user, with or without a training test, passes through here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


class WrongSetting(ValueError):
    """A setting that cannot be used; the plugin turns it into a one-line `pytest.UsageError`."""


class Numbers(tuple[float, ...]):
    """The kind of a setting that takes several numbers."""


class WholeNumbers(tuple[int, ...]):
    """The kind of a setting that takes several whole numbers."""


class Paths(tuple[str, ...]):
    """The kind of a setting that takes several files or folders, one argument each."""


class Builder(str):
    """The kind of a setting that takes a training, or a function that builds one; it is never given as text."""


class Reasons(dict[str, str]):
    """The kind of a setting that takes names, each with a reason."""


class Setting(NamedTuple):
    """A tuple rather than a dataclass, which takes three times as long to make, in every pytest run."""

    name: str
    kind: type
    default: Any
    help: str
    #: Where it may be set. Marker keywords belong to the checks listed in `checks`.
    option: bool = True
    ini: bool = True
    checks: tuple[str, ...] = ()
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    #: The only names that it takes.
    possible: tuple[str, ...] = ()
    #: What the option stands for where no value follows it; None if one has to.
    alone: str | None = None
    #: The module in `reports/` that writes the verdicts to the file named here.
    report: str = ""

    @property
    def flag(self) -> str:
        return "--trainhealth" if self.name == "enabled" else f"--trainhealth-{self.name.replace('_', '-')}"

    @property
    def key(self) -> str:
        """The ini key, and the destination of the option."""
        return "trainhealth" if self.name == "enabled" else f"trainhealth_{self.name}"

    def parse(self, value: Any, given: str) -> Any:
        """The value in its type, or `WrongSetting` that says what was given, where, and what is possible."""
        try:
            parsed = _PARSERS[self.kind](value)
        except (TypeError, ValueError):
            raise WrongSetting(f"{given}: {value!r} is not {_WANTED[self.kind]}") from None
        for name in parsed if self.possible else ():
            if name not in self.possible:
                raise WrongSetting(f"{given}: {name!r} is not possible{near(name, self.possible)}")
        several = parsed if isinstance(parsed, tuple) else (parsed,)
        if self.least is not None and any(each < self.least for each in several):
            raise WrongSetting(f"{given}: {value!r} is too small, at least {self.least:g} is needed")
        if self.most is not None and any(each > self.most for each in several):
            raise WrongSetting(f"{given}: {value!r} is too large, {self.most:g} is the largest possible value")
        return parsed


def _whole_number(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
        raise ValueError(value)
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError(value)
    number = float(value)
    if number != number:
        raise ValueError(value)
    return number


def _yes_or_no(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"", "0", "false", "no", "off"}:
        return False
    raise ValueError(value)


def _names(value: Any) -> tuple[str, ...]:
    words = value.replace(",", " ").split() if isinstance(value, str) else list(value)
    if not all(isinstance(word, str) for word in words):
        raise TypeError(value)
    return tuple(words)


def _several(value: Any, one: Callable[[Any], Any]) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    elif isinstance(value, (int, float)):
        value = (value,)
    return tuple(one(each) for each in value)


def _paths(value: Any) -> tuple[str, ...]:
    return tuple(_text(each) for each in ((value,) if isinstance(value, str) else value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _builder(value: Any) -> Any:
    if not callable(value) and not hasattr(value, "state_roots"):
        raise TypeError(value)
    return value


def _reasons(value: Any) -> Reasons:
    """{"name": "reason"}, or lines that read `name: reason`."""
    if isinstance(value, Mapping):
        pairs = list(value.items())
    else:
        lines = value.splitlines() if isinstance(value, str) else list(value)
        pairs = [(line.partition(":")[0].strip(), line.partition(":")[2].strip()) for line in lines if line.strip()]
    if not all(isinstance(part, str) and part.strip() for pair in pairs for part in pair):
        raise ValueError(value)
    return Reasons(pairs)


_PARSERS: dict[type, Callable[[Any], Any]] = {
    int: _whole_number,
    float: _number,
    bool: _yes_or_no,
    tuple: _names,
    Numbers: lambda value: _several(value, _number),
    WholeNumbers: lambda value: _several(value, _whole_number),
    Paths: _paths,
    Builder: _builder,
    Reasons: _reasons,
    str: _text,
}
_WANTED = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple: "a list of names",
    Numbers: "a list of numbers",
    WholeNumbers: "a list of whole numbers",
    Paths: "a list of paths",
    Builder: "a Training, or a function that builds one",
    Reasons: "a table of causes and checks, each with a reason (in a configuration file: lines `NAME: REASON`)",
    str: "a text",
}

OVERFITS_ONE_BATCH, GRADIENTS_FLOW, TRAINS_WITHOUT_NAN, KEEPS_THROUGHPUT = (
    "overfits_one_batch",
    "gradients_flow",
    "trains_without_nan",
    "keeps_throughput",
)
USES_ITS_INPUT, LEARNS_FROM_DATA = "uses_its_input", "learns_from_data"
IS_REPRODUCIBLE, RESUMES_EXACTLY = "is_reproducible", "resumes_exactly"
KEEPS_PRECISION, ACCUMULATES_EXACTLY = "keeps_precision", "accumulates_exactly"
EVALUATES_CLEANLY, RANKS_AGREE = "evaluates_cleanly", "ranks_agree"
HISTORY_IS_HEALTHY = "history_is_healthy"
DATA_IS_HEALTHY = "data_is_healthy"
MATCHES_BASELINE, IMPROVES_ON = "matches_baseline", "improves_on"
GENERALIZES = "generalizes"


class CheckRow(NamedTuple):
    """A check: its name, which is its marker's and its file's in `checks/`, and what it promises."""

    name: str
    promise: str
    #: One of those behind `@pytest.mark.trainhealth`; others need their own marker.
    in_battery: bool = True
    #: One of them, too, for trainings that have `val_data`.
    with_val_data: bool = False
    #: It reads the log of a run that is over, where the others run a training.
    reads_history: bool = False
    #: The setting without which it has nothing to judge: outside of pytest, "all" checks are those that have theirs.
    needs: str = ""


#: The checks of this release, in the order in which they are listed.
CHECK_ROWS: tuple[CheckRow, ...] = (
    CheckRow(OVERFITS_ONE_BATCH, "the training memorises one batch"),
    CheckRow(GRADIENTS_FLOW, "every trainable parameter gets a sane gradient, is held by an optimizer and moves"),
    CheckRow(TRAINS_WITHOUT_NAN, "loss, gradients and parameters stay finite"),
    CheckRow(USES_ITS_INPUT, "outputs depend on the inputs, and samples do not leak into one another"),
    CheckRow(
        LEARNS_FROM_DATA,
        "over several batches it learns what only the inputs show, and neither oscillates nor gets stuck",
    ),
    CheckRow(
        DATA_IS_HEALTHY,
        "values are finite, labels allowed, and nothing is there twice: in data and val_data, in targets and features",
    ),
    CheckRow(GENERALIZES, "what is learnt from data carries over to val_data", in_battery=False, with_val_data=True),
    CheckRow(
        KEEPS_THROUGHPUT,
        "the step does not wait for data, and is as fast as required (measured with pytest-benchmark)",
        in_battery=False,
    ),
    CheckRow(IS_REPRODUCIBLE, "two runs with the same seeds are the same, bit by bit", in_battery=False),
    CheckRow(
        RESUMES_EXACTLY,
        "a run that is resumed from a checkpoint goes on as if it had not been interrupted",
        in_battery=False,
    ),
    CheckRow(KEEPS_PRECISION, "in bfloat16 or float16, a training follows itself in float32", in_battery=False),
    CheckRow(ACCUMULATES_EXACTLY, "several small batches give the gradient of one large one", in_battery=False),
    CheckRow(
        EVALUATES_CLEANLY,
        "evaluation is deterministic, leaves no trace, and does not depend on its batch size",
        in_battery=False,
    ),
    CheckRow(
        RANKS_AGREE,
        "the processes of a distributed training stay in step, each on its own samples, and do what one would do",
        in_battery=False,
    ),
    CheckRow(
        HISTORY_IS_HEALTHY,
        "the log of a finished run shows a training that learnt, and nothing that went wrong",
        in_battery=False,
        reads_history=True,
    ),
    CheckRow(
        MATCHES_BASELINE, "the first steps follow a healthy run that was recorded", in_battery=False, needs="baseline"
    ),
    CheckRow(
        IMPROVES_ON,
        "the training is better than another one, beyond what seeds explain",
        in_battery=False,
        needs="before",
    ),
)
CHECKS: dict[str, str] = {row.name: row.promise for row in CHECK_ROWS}
BATTERY: tuple[str, ...] = tuple(row.name for row in CHECK_ROWS if row.in_battery)
#: Those that come on top of it for a training that has `val_data`.
WITH_VAL_DATA: tuple[str, ...] = tuple(row.name for row in CHECK_ROWS if row.with_val_data)
#: Those that run a training.
TRAINING_CHECKS: tuple[str, ...] = tuple(row.name for row in CHECK_ROWS if not row.reads_history)
#: `trainhealth` stands for the battery; a check's marker has the check's name.
MARKERS: frozenset[str] = frozenset({"trainhealth", *CHECKS})

SETTINGS: tuple[Setting, ...] = (
    Setting("enabled", bool, False, "run the training health checks (without it they are skipped with a note)"),
    Setting(
        "training",
        str,
        None,
        "run the battery on what this function returns; needs no test file",
        ini=False,
        metavar="PACKAGE.MODULE:FACTORY",
    ),
    Setting(
        "history",
        Paths,
        None,
        "judge the logs of finished runs in these files and folders; needs no test file",
        ini=False,
        metavar="PATH",
    ),
    Setting(
        "replay", str, None, "replay the failure that this file holds, and nothing else", ini=False, metavar="FILE"
    ),
    Setting(
        "explain",
        str,
        None,
        "print the page of a cause, check or symptom, and stop; without a name, all causes by symptom",
        ini=False,
        metavar="NAME",
        alone="list",
    ),
    Setting(
        "init", bool, None, "write a first test file for the models and loops of this project, and stop", ini=False
    ),
    Setting("checks", tuple, BATTERY, "the checks in the battery", metavar="NAMES"),
    Setting("seed", int, 0, "with the test's id, the source of every random number", metavar="N", least=0),
    Setting("advise", bool, False, "also try changes on each training, and say which of them help; never a failure"),
    Setting(
        "advise_budget",
        float,
        120.0,
        "seconds that trying changes may take, for each training",
        metavar="SECONDS",
        least=1.0,
    ),
    Setting("advise_steps", int, 100, "steps of each run that tries a change", metavar="N", least=20),
    Setting(
        "advise_cache",
        str,
        None,
        "file that keeps what was measured, so that it is not measured again; by default in pytest's cache",
        metavar="FILE",
    ),
    Setting("strict", bool, False, "a check that could not judge is a failure, not a skip"),
    Setting(
        "ignore",
        Reasons,
        None,
        "causes and checks that are accepted, each with a reason, and if need be `until 2027-01-31`",
        option=False,
        checks=tuple(CHECKS),
    ),
    Setting(
        "frozen",
        str,
        None,
        "why parts of the model are frozen on purpose: they are not reported while something is left to train",
        option=False,
        ini=False,
        checks=TRAINING_CHECKS,
    ),
    Setting(
        "known",
        str,
        None,
        "findings that this file lists are known: they are reported, and do not fail",
        metavar="FILE",
    ),
    Setting("known_add", bool, False, "add what fails in this run to the file of known findings", ini=False),
    Setting("json", str, None, "write every verdict to this file", metavar="FILE", report="json_file"),
    Setting(
        "sarif",
        str,
        None,
        "write what was found to this file as SARIF, for code scanning",
        metavar="FILE",
        report="sarif",
    ),
    Setting(
        "code_quality",
        str,
        None,
        "write what was found to this file as GitLab's code quality report",
        metavar="FILE",
        report="code_quality",
    ),
    Setting(
        "github",
        bool,
        True,
        "in GitHub Actions: annotate the lines that are to blame, and write a table to the step's summary",
        option=False,
    ),
    Setting(
        "report",
        str,
        None,
        "write a page with every verdict and its plots to this file, to be opened in a browser",
        metavar="FILE",
        report="html_file",
    ),
    Setting(
        "budget",
        float,
        300.0,
        "seconds that a check and its diagnosis may take",
        metavar="SECONDS",
        least=0.1,
        checks=TRAINING_CHECKS,
    ),
    Setting(
        "threads",
        int,
        1,
        "torch threads while checking, divided among xdist workers; 0 (and keeps_throughput) keeps torch's own number",
        metavar="N",
        least=0,
    ),
    Setting("device", str, None, "move model and batches to this device", metavar="DEVICE"),
    Setting(
        "steps",
        int,
        None,
        "steps that a check takes (200 for overfits_one_batch, 50 for trains_without_nan, ...)",
        metavar="N",
        least=1,
        checks=TRAINING_CHECKS,
    ),
    Setting(
        "ratio",
        float,
        0.1,
        "the loss has to fall below this share of its first value",
        option=False,
        ini=False,
        least=0.0,
        checks=(OVERFITS_ONE_BATCH,),
    ),
    Setting(
        "sweep",
        bool,
        True,
        "also try what the data make plausible: other random numbers, the last batch, extremes",
        option=False,
        ini=False,
        checks=(TRAINS_WITHOUT_NAN,),
    ),
    Setting(
        "seeds",
        WholeNumbers,
        None,
        "other random numbers to try",
        option=False,
        ini=False,
        checks=(TRAINS_WITHOUT_NAN,),
        least=1,
    ),
    Setting(
        "scales",
        Numbers,
        None,
        "factors on the inputs, and every power of ten up to them",
        option=False,
        ini=False,
        checks=(TRAINS_WITHOUT_NAN,),
        least=1e-30,
    ),
    Setting(
        "batch_sizes",
        WholeNumbers,
        None,
        "batch sizes to try",
        option=False,
        ini=False,
        checks=(TRAINS_WITHOUT_NAN,),
        least=1,
    ),
    Setting(
        "samples",
        tuple,
        None,
        "degenerate samples to try: zero, constant, repeated, extreme",
        option=False,
        ini=False,
        checks=(TRAINS_WITHOUT_NAN,),
        possible=("zero", "constant", "repeated", "extreme"),
    ),
    Setting(
        "precisions",
        tuple,
        None,
        "precisions to autocast to: bfloat16, float16",
        option=False,
        ini=False,
        checks=(TRAINS_WITHOUT_NAN, KEEPS_PRECISION),
        possible=("bfloat16", "float16"),
    ),
    Setting(
        "lr_factors",
        Numbers,
        None,
        "factors on the learning rate, and every power of ten up to them",
        option=False,
        ini=False,
        checks=(TRAINS_WITHOUT_NAN,),
        least=1e-30,
    ),
    Setting(
        "search",
        bool,
        False,
        "move inputs by gradient towards log(0), x / 0, exp overflow and the like, inside the data's bounds",
        option=False,
        ini=False,
        checks=(TRAINS_WITHOUT_NAN,),
    ),
    Setting(
        "margin",
        bool,
        False,
        "measure the largest factor on inputs, learning rate and loss that stays finite",
        option=False,
        ini=False,
        checks=(TRAINS_WITHOUT_NAN,),
    ),
    Setting(
        "min_margin",
        float,
        None,
        "fail if one of these factors is smaller",
        option=False,
        ini=False,
        checks=(TRAINS_WITHOUT_NAN,),
        least=1.0,
    ),
    Setting(
        "micro_batches",
        int,
        None,
        "from how many parts a batch is to be accumulated, where the training itself does not",
        option=False,
        ini=False,
        least=2,
        checks=(ACCUMULATES_EXACTLY,),
    ),
    Setting(
        "max_batches",
        int,
        None,
        "batches of data, and of val_data, that data_is_healthy reads; by default 32 of a loader, or 4 million values "
        "in memory",
        option=False,
        ini=False,
        least=1,
        checks=(DATA_IS_HEALTHY,),
    ),
    Setting(
        "ranks",
        int,
        2,
        "processes that ranks_agree starts",
        option=False,
        ini=False,
        least=2,
        checks=(RANKS_AGREE,),
    ),
    Setting(
        "timeout",
        float,
        30.0,
        "seconds without any progress after which ranks are taken to wait in vain",
        option=False,
        ini=False,
        least=1.0,
        checks=(RANKS_AGREE,),
    ),
    Setting(
        "max_step_ms",
        float,
        None,
        "milliseconds that a step may take",
        option=False,
        ini=False,
        least=0.0,
        checks=(KEEPS_THROUGHPUT,),
    ),
    Setting(
        "max_memory_growth",
        float,
        None,
        "MB by which memory may grow per step",
        option=False,
        ini=False,
        least=0.0,
        checks=(KEEPS_THROUGHPUT,),
    ),
    Setting(
        "max_data_wait",
        float,
        None,
        "share of a step that may be spent waiting for data; by default half of it, or as long as any loader takes",
        option=False,
        ini=False,
        least=0.0,
        most=1.0,
        checks=(KEEPS_THROUGHPUT,),
    ),
    Setting(
        "against",
        str,
        None,
        "compare the speed of keeps_throughput with this revision, in the same run",
        metavar="REV",
        checks=(KEEPS_THROUGHPUT,),
    ),
    Setting(
        "tolerance",
        float,
        0.1,
        "how much slower than that revision a step may be (0.1: 10 %)",
        option=False,
        ini=False,
        least=0.01,
        checks=(KEEPS_THROUGHPUT,),
    ),
    Setting(
        "min_samples_per_second",
        float,
        None,
        "fail below this speed",
        option=False,
        ini=False,
        least=0.0,
        checks=(KEEPS_THROUGHPUT,),
    ),
    Setting(
        "baseline",
        str,
        None,
        "the file of the recorded run; by default in trainhealth_baselines/ beside the test",
        option=False,
        ini=False,
        checks=(MATCHES_BASELINE,),
    ),
    Setting(
        "update_baseline",
        bool,
        False,
        "write the files that matches_baseline compares with, and tell what changed",
        ini=False,
        checks=(MATCHES_BASELINE,),
    ),
    Setting(
        "before",
        Builder,
        None,
        "what improves_on compares with: a Training, or a function that builds one",
        option=False,
        ini=False,
        checks=(IMPROVES_ON,),
    ),
)


#: The files that verdicts are written to; no other code refers to one by name.
OUTLETS: tuple[Setting, ...] = tuple(s for s in SETTINGS if s.report)


def setting(name: str) -> Setting:
    return next(s for s in SETTINGS if s.name == name)


def keywords(check: str) -> tuple[Setting, ...]:
    """What the marker of this check takes. `trainhealth` takes what all of the battery takes, and `checks`."""
    if check == "trainhealth":
        return tuple(s for s in SETTINGS if s.name == "checks" or set(BATTERY) <= set(s.checks))
    return tuple(s for s in SETTINGS if check in s.checks)


def read_keywords(check: str, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Marker keywords, parsed; the error for an unknown one suggests similar names."""
    known = {s.name: s for s in keywords(check)}
    values = {}
    for name, value in given.items():
        if name not in known:
            raise WrongSetting(f"{where}: {check} takes no {name!r}{near(name, known)}")
        values[name] = known[name].parse(value, f"{where}: {check}({name}=)")
    if "checks" in values:
        check_names(values["checks"], where)
    return values


def check_names(names: Iterable[str], where: str) -> tuple[str, ...]:
    names = tuple(names)
    if not names:
        raise WrongSetting(f"{where}: names no check. Possible: {', '.join(CHECKS)}")
    for name in names:
        if name not in CHECKS:
            raise WrongSetting(f"{where}: there is no check {name!r}{near(name, CHECKS)}")
    return names


def near(name: str, known: Iterable[str]) -> str:
    """'. Did you mean ...' or the whole list: what is possible, to follow what was written."""
    import difflib  # only for a run that ends here

    known = list(known)
    close = difflib.get_close_matches(name.replace("-", "_"), [k.replace("-", "_") for k in known], n=3)
    matching = [k for k in known if k.replace("-", "_") in close]
    if matching:
        return ". Did you mean " + " or ".join(matching) + "?"
    return ". Possible: " + ", ".join(known)
