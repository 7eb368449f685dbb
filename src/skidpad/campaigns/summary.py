"""What a campaign found in a few numbers, as plain values: for the command line and for scripts."""

from __future__ import annotations

import math
from pathlib import Path
from time import time
from typing import Any

import numpy as np

from ..errors import InvalidValue
from .designs import design_of
from .drawn import reason_against
from .experiment import FAILED, Column
from .locks import writer_of
from .parts import RUNS
from .study import Study

SHARES = (0.05, 0.5, 0.95)
"""Quantiles that are told."""


def summary_of(study: Study, level: float = 0.95) -> dict[str, Any]:
    """Numbers with mean and quantiles, truths with probabilities, what the design found.

    Where runs do not stand for all that the factors allow, `reason` says why, and there are only
    lowest and highest values. Where they do but no interval holds, `caution` says why.
    """
    reason = reason_against(study.plan, listed=True)
    own = [column for column in study.columns if column.name not in study.factors]
    return {
        **state_of(study),
        "reason": reason,
        "caution": reason_against(study.plan),
        "numbers": {
            column.name: _number(study, column, level, bool(reason))
            for column in own
            if column.kind == "number"
        },
        "truths": {
            column.name: _truth(study, column, level, bool(reason))
            for column in own
            if column.kind == "truth"
        },
        "outcome": study.outcome,
        "trajectories": list(study.folder.trajectories),
    }


def state_of(study: Study) -> dict[str, Any]:
    """How far a campaign is, also while it goes on."""
    folder = study.folder
    digest = study.digest()  # reads everything: what is damaged is left out of all that follows
    started = folder.notes.get("started")
    # A design of one's own is known by the campaign alone.
    most = started["most"] if started else design_of(study.plan["design"]).runs
    done = most - sum(end - begin for begin, end in folder.missing(0, most))
    failed = sum(int(np.count_nonzero(rows[FAILED])) for rows in folder.batches((FAILED,)))
    path = folder.path if isinstance(folder.path, Path) else None
    return {
        "name": study.plan["name"],
        "folder": str(folder.path),
        "finished": study.finished,
        "runs": done,
        "missing": lost_runs(study),
        "most": most,
        "failed": failed,
        "rate": _rate(study, path, done),
        "writer": writer_of(path) if path is not None else "",
        "bytes": None if path is None else sum(f.stat().st_size for f in _files(path)),
        "digest": digest,
        "damaged": folder.damaged(),
    }


def lost_runs(study: Study) -> int:
    """Runs that a campaign which came to its end has no more; 0 of one that goes on."""
    missing = study.folder.missing(0, study.folder.notes.get("runs", 0))
    return sum(end - begin for begin, end in missing)


def _files(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()]


def _rate(study: Study, path: Path | None, done: int) -> float | None:
    """Runs a second since the campaign was last started, until its last part was written."""
    started = study.folder.notes.get("started")
    if path is None or started is None:
        return None
    times = [file.stat().st_mtime for file in (path / RUNS).glob("*.parquet")]
    seconds = min(max(times, default=0.0), time()) - started["time"]
    new = done - started["done"]
    return new / seconds if seconds > 0.0 and new > 0 else None


def _number(study: Study, column: Column, level: float, chosen: bool) -> dict[str, Any]:
    values = np.asarray(study[column.name], float)
    known = values[~np.isnan(values)]
    about: dict[str, Any] = {
        "unit": column.unit,
        "runs": int(known.size),
        "lowest": _finite(known.min()) if known.size else None,
        "highest": _finite(known.max()) if known.size else None,
    }
    if chosen or not known.size:
        return about
    mean = study.mean(column.name, level)
    quantiles = {f"{share:g}": study.quantile(column.name, share, level) for share in SHARES}
    return {
        **about,
        "level": level,
        "mean": _interval(mean),
        "quantiles": {share: _interval(one) for share, one in quantiles.items()},
    }


def _truth(study: Study, column: Column, level: float, chosen: bool) -> dict[str, Any]:
    values = study[column.name]
    about: dict[str, Any] = {"happened": int(np.count_nonzero(values)), "runs": len(values)}
    if chosen or not len(values):
        return about
    try:
        return {**about, "level": level, **_interval(study.probability(column.name, level))}
    except InvalidValue:  # no run counts yet
        return about


def _interval(one: Any) -> dict[str, float | None]:
    return {"value": _finite(one.value), "low": _finite(one.low), "high": _finite(one.high)}


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return float(value) if math.isfinite(value) else None
