"""Engines by name."""

from __future__ import annotations

from ..errors import InvalidValue
from .engine import Engine
from .experiment import Experiment, Means
from .local import InProcess

ENGINES = ("local", "cuda", "ray")


def engine_of(engine: str | Engine, experiment: Experiment, workers: int | None = None) -> Engine:
    """The engine of a name that suits an experiment, or the one that is given."""
    if not isinstance(engine, str):
        return engine
    if engine == "ray":
        from .ray_engine import RayEngine

        return RayEngine(workers=workers)
    if engine == "cuda":
        return InProcess(Means(device="cuda"))
    if engine != "local":
        raise InvalidValue(f"engine = {engine!r} must be one of {', '.join(ENGINES)}")
    if workers is None and experiment.threaded:
        return InProcess()
    from .processes import Processes

    return Processes(workers)
