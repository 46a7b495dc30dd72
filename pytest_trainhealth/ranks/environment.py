"""What a rank finds in its environment: what torchrun puts there, on this machine alone."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping

#: What belongs to the process that runs pytest, and would mislead another one.
_NOT_PASSED_ON = ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_CURRENT_TEST")
_HERE = "127.0.0.1"
#: By which whoever looks at the processes of a machine finds out whose they are.
_RANK_OF = "TRAINHEALTH_RANK_OF"


def is_rank() -> bool:
    """Or was started by one. A test that examines a training would start ranks in each rank, and these more of them."""
    return _RANK_OF in os.environ


def of_rank(rank: int, world: int, port: int, threads: int) -> dict[str, str]:
    own = {
        "RANK": rank,
        "LOCAL_RANK": rank,
        "WORLD_SIZE": world,
        "LOCAL_WORLD_SIZE": world,
        "GROUP_RANK": 0,
        "MASTER_ADDR": _HERE,
        "MASTER_PORT": port,
        # by which frameworks recognise torchrun
        "TORCHELASTIC_RUN_ID": "trainhealth",
        "OMP_NUM_THREADS": threads,
        _RANK_OF: os.getpid(),
        "PYTHONDONTWRITEBYTECODE": 1,
        "PYTEST_ADDOPTS": "",
    }
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    return {**_loopback(kept), **kept, **{name: str(value) for name, value in own.items()}}


def free_port() -> int:
    with socket.socket() as found:
        found.bind((_HERE, 0))
        return int(found.getsockname()[1])


def _loopback(environment: Mapping[str, str]) -> dict[str, str]:
    """Without it, gloo looks the machine's own name up, which many machines cannot."""
    if "GLOO_SOCKET_IFNAME" in environment or not hasattr(socket, "if_nameindex"):
        return {}
    wanted = "lo0" if sys.platform == "darwin" else "lo"
    return {"GLOO_SOCKET_IFNAME": wanted} if wanted in (name for _, name in socket.if_nameindex()) else {}
