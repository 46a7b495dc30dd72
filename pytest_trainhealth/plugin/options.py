"""The settings of this run: their values, and where each was given.

They are read once, in `pytest_configure`: read later, a wrong value would stop the run after the tests have run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ..settings import OUTLETS, SETTINGS, Reasons, Setting, WrongSetting, check_names
from ..settings import setting as find_setting

#: pytest's own name for each type of ini value, so that native TOML values are taken as they are.
INI_TYPES: dict[type, Any] = {
    bool: "bool",
    int: "int",
    float: "float",
    tuple: "args",
    str: "string",
    Reasons: "linelist",
}
#: Settings that concern every check, but are no marker keywords.
_FOR_EVERY_CHECK = ("threads", "device")
_NOT_IN_HEADER = ("seed", "threads", "enabled", "ignore", *(outlet.name for outlet in OUTLETS))


class Options:
    def __init__(self, values: Mapping[str, Any], given: Mapping[str, str]) -> None:
        self.values = values
        #: Where each value was given; a setting that is missing here has its default.
        self.given = given

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def whole_battery(self) -> bool:
        """Nobody has chosen its checks."""
        return "checks" not in self.given and self.values["replay"] is None

    def for_check(self, check: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a check. A marker's keywords win over the command line, and that wins over the ini file."""
        concerned = {s.name for s in SETTINGS if check in s.checks} | set(_FOR_EVERY_CHECK)
        return {name: keywords.get(name, self.values[name]) for name in self.values if name in concerned}

    def describe(self) -> str:
        """For pytest's header: what decides every verdict, whatever else was given, and where each of it was said."""
        given = (s.name for s in SETTINGS if s.name in self.given and s.name not in _NOT_IN_HEADER)
        shown = [f"{name} {_written(self.values[name])} ({self.given.get(name, 'default')})"
                 for name in ("seed", "threads", *given)]  # fmt: skip
        accepted = self.values["ignore"]
        if accepted:
            shown.append(f"ignore {', '.join(accepted)} ({self.given['ignore']})")
        outlets = [f"{outlet.name} {Path(self.values[outlet.name]).name} ({self.given[outlet.name]})"
                   for outlet in OUTLETS if self.values[outlet.name] is not None]  # fmt: skip
        return ", ".join([*shown, *outlets])

    @property
    def switched_on_by(self) -> str:
        """An option or the configuration; a training or a log on the command line switches the checks on, too."""
        return next((self.given[name] for name in ("enabled", "training", "history") if name in self.given), "default")


def read(config: pytest.Config) -> Options:
    """Raises `WrongSetting`, whose message says what was given, where, and what is possible."""
    values: dict[str, Any] = {}
    given: dict[str, str] = {}
    for setting in SETTINGS:
        values[setting.name] = setting.default
        found = _on_command_line(setting, config) or _in_ini(setting, config)
        if found is not None:
            value, where = found
            values[setting.name] = setting.parse(value, where)
            given[setting.name] = where.removesuffix(f": {setting.key}")
    check_names(values["checks"], given.get("checks", "checks"))
    if values["training"] is not None or values["history"] is not None or values["update_baseline"]:
        values["enabled"] = True
    if values["advise"] and not values["enabled"] and given["advise"] == find_setting("advise").flag:
        raise WrongSetting(f"{given['advise']}: nothing is judged without --trainhealth, and nothing is tried")
    for outlet in OUTLETS:
        file, where = values[outlet.name], given.get(outlet.name, "")
        if not values["enabled"] and where == outlet.flag:
            raise WrongSetting(f"{where}: nothing is judged without --trainhealth, so there is nothing to write")
        if file is not None and file.partition("::")[0].endswith(".py"):  # `--trainhealth-json tests/test_it.py`
            raise WrongSetting(f"{where}: {file} is a Python file, and would be overwritten")
        if file is not None:
            values[outlet.name] = str(_base_folder(config, where) / Path(file).expanduser())
    if values["known"] is not None:
        values["known"] = str(_base_folder(config, given["known"]) / Path(values["known"]).expanduser())
    elif values["known_add"]:
        raise WrongSetting(f"{given['known_add']}: add to which file? Name it with --trainhealth-known FILE")
    return Options(values, given)


def _on_command_line(setting: Setting, config: pytest.Config) -> tuple[Any, str] | None:
    value = config.getoption(setting.key) if setting.option else None
    return None if value is None else (value, setting.flag)


def _in_ini(setting: Setting, config: pytest.Config) -> tuple[Any, str] | None:
    if not setting.ini:
        return None
    overridden = any(o.partition("=")[0] == setting.key for o in config.getoption("override_ini") or ())
    where = f"-o {setting.key}" if overridden else f"{config.inipath.name if config.inipath else 'ini'}: {setting.key}"
    try:
        value = config.getini(setting.key)
    except (TypeError, ValueError, pytest.UsageError) as error:  # which one depends on pytest's version
        raise WrongSetting(f"{where}: {' '.join(str(error).split())}") from None
    if value is None:
        return None
    if setting.kind is Reasons:
        return value, where
    return (" ".join(value) if isinstance(value, list) else value), where


def _base_folder(config: pytest.Config, given: str) -> Path:
    """A path is relative to the place where it was given: the current folder, or the folder of the ini file."""
    if given.startswith("-") or config.inipath is None:
        return config.invocation_params.dir
    return config.inipath.parent


def _written(value: Any) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)
