"""What can be seen of a process from inside of it: the one list of what a check must leave as it found it.

Each function below is one kind of thing, and its name is what a difference is called. None of them asks the package
under test. What a process keeps of its own accord is left out: caches, the memory it has, modules imported since.
"""

from __future__ import annotations

import builtins
import contextvars
import decimal
import faulthandler
import gc
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

_PATCHABLE: dict[str, Any] = {
    "torch": torch,
    "torch.autograd": torch.autograd,
    "torch.nn.functional": nn.functional,
    "torch.nn.init": nn.init,
    "torch.nn.utils": nn.utils,
    "torch.optim": torch.optim,
    "torch.utils.data": torch.utils.data,
    "torch.utils.checkpoint": torch.utils.checkpoint,
    "Tensor": torch.Tensor,
    "Module": nn.Module,
    "Linear": nn.Linear,
    "Dropout": nn.Dropout,
    "Optimizer": torch.optim.Optimizer,
    "SGD": torch.optim.SGD,
    "Adam": torch.optim.Adam,
    "LRScheduler": torch.optim.lr_scheduler.LRScheduler,
    "GradScaler": torch.amp.GradScaler,
    "autocast": torch.autocast,
    "DataLoader": torch.utils.data.DataLoader,
    "builtins": builtins,
    "random": random,
    "numpy.random": np.random,
}
_HOOK_TABLES = [name for name in vars(module_hooks) if name.startswith("_global_") and name.endswith("_hooks")]
_OPTIMIZER_TABLES = [name for name in vars(optimizer_hooks) if name.startswith("_global_") and name.endswith("_hooks")]
_SIGNALS = [number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP)]
_ALARMS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


def python_random_numbers() -> Any:
    return random.getstate()


def numpy_random_numbers() -> Any:
    name, keys, *rest = np.random.get_state()  # type: ignore[misc]
    return name, keys.tobytes(), *rest  # type: ignore[union-attr]


def torch_random_numbers() -> Any:
    return torch.get_rng_state().numpy().tobytes()


def torch_threads() -> Any:
    return torch.get_num_threads(), torch.get_num_interop_threads()


def python_threads() -> Any:
    return sorted(thread.name for thread in threading.enumerate())


def default_dtype() -> Any:
    return str(torch.get_default_dtype())


def default_device() -> Any:
    return str(torch.get_default_device()), str(getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None))


def gradient_mode() -> Any:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch._C._is_multithreading_enabled()


def anomaly_mode() -> Any:
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def deterministic_algorithms() -> Any:
    filled = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(), filled


def autocast() -> Any:
    return (
        torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu")), torch.is_autocast_cache_enabled(),
    )  # fmt: skip


def matrix_precision() -> Any:
    backends = torch.backends
    return torch.get_float32_matmul_precision(), backends.cudnn.benchmark, backends.cudnn.deterministic, (
        backends.cudnn.enabled, backends.mkldnn.enabled)  # fmt: skip


def denormal_numbers() -> Any:
    return float(torch.tensor([1e-310], dtype=torch.float64, device="cpu") * 1) != 0


def saved_tensor_hooks() -> Any:
    return repr(torch._C._autograd._top_saved_tensors_default_hooks(True))


def function_modes() -> Any:
    return [id(torch._C._get_function_stack_at(at)) for at in range(torch._C._len_torch_function_stack())]


def dispatch_modes() -> Any:
    return [id(mode) for mode in _get_current_dispatch_mode_stack()]


def hooks_on_every_module() -> Any:
    return {name: list(getattr(module_hooks, name).values()) for name in _HOOK_TABLES}


def hooks_on_every_optimizer() -> Any:
    return {name: list(getattr(optimizer_hooks, name).values()) for name in _OPTIMIZER_TABLES}


def functions_of_libraries() -> Any:
    return {f"{owner}.{name}": id(value) for owner, thing in _PATCHABLE.items() for name, value in vars(thing).items()
            if callable(value) and not isinstance(value, type) and not name.startswith("_pytest")}  # fmt: skip


def printing() -> Any:
    return repr(vars(torch._tensor_str.PRINT_OPTS)), repr(np.get_printoptions()), repr(np.geterr())


def warning_filters() -> Any:
    return list(warnings.filters), id(warnings.showwarning), id(warnings.filters)


def environment() -> Any:
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


def working_directory() -> Any:
    return os.getcwd()


def umask_and_processors() -> Any:
    status = Path("/proc/self/status")
    umask = [line for line in status.read_text().splitlines() if line.startswith("Umask")] if status.exists() else []
    return umask, sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ()


def open_files() -> Any:
    folder = Path("/proc/self/fd")
    found = []
    for each in os.listdir(folder) if folder.exists() else ():
        try:
            found.append((int(each), os.readlink(folder / each)))
        except OSError:  # the one that lists them
            continue
    return sorted(found)


def child_processes() -> Any:
    tasks = Path("/proc/self/task")
    return sorted(each for task in tasks.glob("*/children") for each in task.read_text().split())


def temporary_files() -> Any:
    folder = tempfile.gettempdir()
    return sorted(os.path.join(top, each) for top, inner, files in os.walk(folder) for each in (*inner, *files))


def shared_memory() -> Any:
    return sorted(each for each in os.listdir("/dev/shm") if f"_{os.getpid()}_" in each) if os.path.isdir("/dev/shm") else []  # fmt: skip # noqa: E501


def tracing() -> Any:
    return [id(each) if each is not None else None for each in (
        sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile())]  # fmt: skip


def signal_handlers() -> Any:
    return {int(number): repr(signal.getsignal(number)) for number in _SIGNALS}


def alarms() -> Any:
    return [signal.getitimer(kind) for kind in _ALARMS], faulthandler.is_enabled()


def hooks_for_exceptions() -> Any:
    return id(sys.excepthook), id(sys.unraisablehook), id(threading.excepthook), id(sys.breakpointhook)


def streams() -> Any:
    return id(sys.stdout), id(sys.stderr), id(sys.stdin)


def interpreter() -> Any:
    return sys.getrecursionlimit(), sys.getswitchinterval(), list(sys.path), list(map(id, sys.meta_path)), sys.flags


def garbage_collection() -> Any:
    return gc.isenabled(), gc.get_threshold(), list(map(id, gc.callbacks)), gc.get_debug()


def logging_set_up() -> Any:
    root = logging.getLogger()
    return root.level, list(map(id, root.handlers)), root.manager.disable, logging.raiseExceptions


def context() -> Any:
    held = {variable.name: id(value) for variable, value in contextvars.copy_context().items()}
    held.pop("decimal_context", None)  # it is made when it is first asked for
    # torch keeps its settings for compiling there, and sets them when they are first asked for; numpy's are read above
    held = {name: value for name, value in held.items() if "torch" not in name and name != "deterministic"}
    held.pop("numpy.ufunc.extobj", None)
    return {name: value for name, value in held.items() if "hypothesis" not in name}, repr(decimal.getcontext())


#: In the order in which they stand above.
KINDS: tuple[Callable[[], Any], ...] = tuple(
    each for name, each in list(globals().items())
    if callable(each) and getattr(each, "__module__", "") == __name__ and not name.startswith("_")
)  # fmt: skip


def seen_in_process() -> dict[str, Any]:
    return {kind.__name__.replace("_", " "): kind() for kind in KINDS}


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What changed, by name: kinds, or paths in an object. What lies behind another change is left out."""
    changed = {name: f"{name}: {_shown(before[name], after[name])}" for name in before
               if name in after and before[name] != after[name]}  # fmt: skip
    changed |= {name: f"{name}: is gone" for name in before if name not in after}
    changed |= {name: f"{name}: is new" for name in after if name not in before}
    first: list[str] = []
    for name in sorted(changed):
        if not first or not name.startswith(first[-1]) or name[len(first[-1]) :][:1] not in (".", "[", " "):
            first.append(name)
    return [changed[name] for name in first]


def _shown(before: Any, after: Any) -> str:
    if isinstance(before, dict) and isinstance(after, dict):
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        return ", ".join(f"{name} ({str(before.get(name))[:40]} -> {str(after.get(name))[:40]})" for name in names[:4])
    if isinstance(before, list) and isinstance(after, list):
        return f"+{[each for each in after if each not in before]!s:.90} -{[b for b in before if b not in after]!s:.90}"
    return f"{before!s:.60} -> {after!s:.60}"
