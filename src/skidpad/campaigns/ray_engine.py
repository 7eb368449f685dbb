"""The engine of a Ray cluster: chunks as tasks that are tried again where workers are lost."""

from __future__ import annotations

import os
import pickle
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..brief import brief_repr, counted
from ..checks import whole
from ..errors import InvalidValue, SkidpadError
from ..extras import require
from .engine import Chunk, Finished, Writer
from .experiment import Experiment
from .processes import WorkersLost
from .work import done_for

MOST_TRIES = 5
"""How often a chunk is begun before the campaign gives up."""
_LOOK = 0.2
"""Time in s between two looks, so that Ctrl-C is answered and new workers are seen."""
_AHEAD = 2
"""Chunks per processor of the cluster, so that no worker waits for the next."""
_LOOPBACK = "127.0.0.1"
_LOOPBACK_ONLY = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
"""Read by Ray when it is imported, on every system: without it, it takes an address that others
reach in place of the loopback one."""


def _import_ray(*, loopback_only: bool) -> Any:
    """The `ray` module, imported after the variables that it reads while it is imported are set."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if loopback_only:
        os.environ.setdefault(*_LOOPBACK_ONLY)
    return require("ray", purpose='engine="ray"')


class RayEngine:
    """Does chunks as tasks of a Ray cluster, one processor each.

    Args:
        address: of a cluster that runs; None starts one on this machine, which listens to this
            machine only and ends with the campaign.
        workers: processors of a cluster that is started here; all if None.
        shared: whether all machines see the campaign's folder under the same name (a shared file
            system, or a URL that fsspec knows): then workers write their chunks there themselves,
            else they send them back.
        options: for `ray.init`, such as `runtime_env`.

    Workers may join, leave or be killed: what they were at is done again elsewhere. Every machine
    of a cluster needs skidpad in the same version; kernels are compiled once on each and cached
    there. Modules that a plan names are imported from the folders that this process imports from,
    where a worker's machine has them. Ray reports no usage unless `RAY_USAGE_STATS_ENABLED` says
    so.
    """

    __repr__ = brief_repr

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        *,
        shared: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if address is not None and workers is not None:
            raise InvalidValue(
                f"workers = {workers} go with a cluster that is started here, not with address = "
                f"{address!r}"
            )
        self._address, self._options = address, dict(options or {})
        self._workers = None if workers is None else whole("workers", workers, "at least 1")
        self._shared = shared
        self._ray = _import_ray(loopback_only=address is None)
        self._writer: Any = None
        self._own = False
        self._task: Any = None
        self._folders: list[str] = []
        self._packed: Any = None
        self._under_way: dict[Any, Chunk] = {}
        self._tries: Counter[int] = Counter()

    @property
    def name(self) -> str:
        """In progress and reports."""
        where = "this machine" if self._address is None else self._address
        return f"ray at {where}"

    @property
    def slots(self) -> int:
        """Some more than processors, as many as the cluster has now."""
        if not self._ray.is_initialized():
            return 1
        processors = int(self._ray.cluster_resources().get("CPU", 1))
        return max(1, _AHEAD * processors)

    def start(self, experiment: Experiment, writer: Writer) -> None:
        """Join the cluster, or start one; raises with words where there is none."""
        if not self._ray.is_initialized():
            self._join()
        self._folders = [os.path.abspath(folder) for folder in sys.path]
        self._packed = self._ray.put(pickle.dumps(experiment))
        self._writer = self._ray.put(writer) if self._shared else None
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(done_for)

    def _join(self) -> None:
        own = {} if self._address is not None else self._settings_of_own()
        options = {"log_to_driver": False, **own, **self._options}
        try:
            self._ray.init(address=self._address, **options)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise InvalidValue(
                f"address = {self._address!r}: there is no Ray cluster to join: {error}"
            ) from error
        self._own = True

    def _settings_of_own(self) -> dict[str, Any]:
        """A cluster of this machine, for this machine."""
        if self._ray._private.services.get_node_ip_address() != _LOOPBACK:
            raise InvalidValue(
                "Ray was imported before the campaign began and would listen to other machines: "
                f"set {'='.join(_LOOPBACK_ONLY)} before, or start the cluster yourself and pass "
                "its address"
            )
        return {
            "num_cpus": self._workers,
            "include_dashboard": False,
            "_node_ip_address": _LOOPBACK,
        }

    def submit(self, chunk: Chunk) -> None:
        """Make a task of it."""
        self._tries[chunk.begin] += 1
        self._under_way[self._task.remote(self._packed, chunk, self._writer, self._folders)] = chunk

    def finished(self) -> Finished:
        """Wait for a chunk; those of workers that were lost are begun again."""
        while True:
            done, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=_LOOK)
            for reference in done:
                chunk = self._under_way.pop(reference)
                finished = self._result(reference, chunk)
                if finished is not None:
                    return finished

    def _result(self, reference: Any, chunk: Chunk) -> Finished | None:
        """What a task gave; None where it was lost and begun again."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:  # raised by the run itself
            cause = error.cause
            raise (cause if isinstance(cause, SkidpadError) else error) from error
        except errors.RayError as error:
            if self._tries[chunk.begin] >= MOST_TRIES:
                raise WorkersLost(
                    f"runs {chunk.begin} to {chunk.end - 1} were lost with their worker "
                    f"{counted(MOST_TRIES, 'time')}: {error}"
                ) from error
            self.submit(chunk)
            return None

    def close(self) -> None:
        """Take back what is under way, and leave the cluster; one that was started here ends."""
        if not self._ray.is_initialized():
            return
        for reference in self._under_way:
            self._ray.cancel(reference, force=True)
        self._under_way.clear()
        if self._own:
            self._ray.shutdown()
            self._own = False
