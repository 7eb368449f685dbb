"""Texts, tables and JSON of the commands for recorded runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, inf, log10
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from ..core import record
from ..core.files import counted
from ..study.identify.observed import CHANNELS
from ..view.sheet import Sheet
from . import sheets

if TYPE_CHECKING:
    from ..core.model import Vehicle
    from ..study.identify.comparison import Comparison, Error
    from ..study.identify.fitting import Fit
    from ..study.logs.latency import Latency
    from ..study.logs.log import Channel, Log
    from ..study.logs.preparation import Line, Prepared

NONE = "–"
"""Text in place of a missing value."""


def log_sheet(log: Log, prepared: Prepared | None, problem: str) -> RenderableType:
    """What a log contains, what reading and preparation changed, and why it cannot be used."""
    clocks = _clocks(log)
    many = len(set(clocks.values())) > 1
    begin = min((float(c.t[0]) for c in log.channels.values() if len(c.t)), default=0.0)
    end = max((float(c.t[-1]) for c in log.channels.values() if len(c.t)), default=0.0)
    about = f"{end - begin:.4g} s, {len(log.channels)} channels"
    about += f", {len(set(clocks.values()))} clocks" if many else ""
    heads = ("channel", "unit", "clock", "rate", "from", "to", "missing")
    rows: list[list[str]] = []
    for name, channel in log.channels.items():
        own = _facts(channel)
        rate = f"{own['rate']:.4g} Hz" if own["rate"] else NONE
        ends = _ends(own["minimum"], own["maximum"])
        clock = str(clocks[name]) if many else ""
        rows.append([name, channel.unit, clock, rate, *ends, _missing(own)])
    sheet = Sheet(heads, rows, range(2, len(heads)))
    for k in reversed(range(len(heads))):
        if not any(row[k] for row in rows):
            sheet = sheet.without(k)
    parts: list[RenderableType] = [
        Text.assemble((log.name, "bold"), f": {about}"),
        sheets.legible(sheet, show_edge=True),
    ]
    parts += [Text(f"not read: {name}: {why}", "dim") for name, why in log.unread.items()]
    lines = [("reading", note, "") for note in log.notes]
    if prepared is not None:
        lines += [("latency", _lateness(*one), "") for one in prepared.latency.items()]
        lines += [(o.step, f"{o.channel}: {o.text}", _percent(o.share)) for o in prepared.lines]
    if lines:
        parts.append(_steps_sheet(lines))
    if problem:
        parts.append(Text(f"cannot be used: {problem}", "red"))
    return Group(*parts)


def _lateness(name: str, late: Latency) -> str:
    """How late or early a channel was, with its interval."""
    if late.low * late.high <= 0.0:
        return f"{name}: not certainly late or early: its latency is {late}"
    side = "early" if late.value < 0.0 else "late"
    low, high = sorted((abs(late.low), abs(late.high)))
    return f"{name}: {abs(late.value):.4f} s ({low:.4f} to {high:.4f} s) {side}"


def _ends(low: float | None, high: float | None) -> tuple[str, str]:
    """Texts of a smallest and a largest value that differ if the values do, as of a latitude."""
    if low is None or high is None or low == high or _number(low) != _number(high):
        return _number(low), _number(high)
    digits = next(n for n in range(4, 18) if f"{low:.{n}g}" != f"{high:.{n}g}")
    return f"{low:.{digits + 1}g}", f"{high:.{digits + 1}g}"


def _steps_sheet(lines: Sequence[tuple[str, str, str]]) -> RenderableType:
    sheet = Sheet(("step", "what was found and done", "samples"), lines, (2,), (1,))
    return sheets.legible(sheet, show_edge=True)


ROUTINE = ("filter", "grid", "derive")
"""Steps of the preparation that only `log` shows, as they change no meaning of a channel."""
RENAMED = ("the column ", "converted from ")
"""Beginnings of lines on names and units that the log itself states, which only `log` shows."""


def _preparation(logs: Mapping[str, Sequence[Line]]) -> list[RenderableType]:
    """What the preparation of logs changed and found, apart from routine steps."""
    several = len(logs) > 1
    lines = [
        (one.step, f"{name}: " * several + f"{one.channel}: {one.text}", _percent(one.share))
        for name, own in logs.items()
        for one in own
        if one.step not in ROUTINE and not (one.step == "reading" and one.text.startswith(RENAMED))
    ]
    return [_steps_sheet(lines)] if lines else []


def _clocks(log: Log) -> dict[str, int]:
    """Number of the clock of each channel; channels with the same times share one."""
    times: list[Any] = []
    clocks: dict[str, int] = {}
    for name, channel in log.channels.items():
        same = (k for k, t in enumerate(times) if t is channel.t or np.array_equal(t, channel.t))
        clocks[name] = next(same, len(times)) + 1
        if clocks[name] > len(times):
            times.append(channel.t)
    return clocks


def _facts(channel: Channel) -> dict[str, Any]:
    """Rate in Hz, range, and what is missing of a channel."""
    known = np.isfinite(channel.values)
    t, values = channel.t[known], channel.values[known]
    steps = np.diff(t)
    period = float(np.median(steps)) if len(steps) else 0.0
    return {
        "samples": len(channel.t),
        "rate": 1.0 / period if period else 0.0,
        "minimum": float(values.min()) if len(values) else None,
        "maximum": float(values.max()) if len(values) else None,
        "missing": int((~known).sum()),
        "longest_gap": float(steps.max()) if len(steps) and steps.max() > 5.0 * period else 0.0,
    }


def _percent(share: float) -> str:
    """A share as text; empty for none and for all."""
    return f"{100.0 * share:.2g} %" if 0.0 < share < 0.995 else ""


def _missing(facts: dict[str, Any]) -> str:
    share = _percent(facts["missing"] / max(facts["samples"], 1))
    gap = f"{facts['longest_gap']:.3g} s" if facts["longest_gap"] else ""
    return ", ".join(text for text in (share, gap) if text)


def log_as_json(log: Log, prepared: Prepared | None, problem: str) -> dict[str, Any]:
    """The same as a JSON object."""
    clocks = _clocks(log)
    channels = [
        {
            "name": name,
            "unit": channel.unit,
            "source": channel.source,
            "clock": clocks[name],
            "begin": float(channel.t[0]) if len(channel.t) else None,
            "end": float(channel.t[-1]) if len(channel.t) else None,
            **_facts(channel),
            "noise": prepared.noise.get(name) if prepared is not None else None,
            "latency": list(prepared.latency[name])
            if prepared is not None and name in prepared.latency
            else None,
        }
        for name, channel in log.channels.items()
    ]
    return {
        "name": log.name,
        "channels": channels,
        "unread": dict(log.unread),
        "notes": list(log.notes),
        "gaps": [list(gap) for gap in prepared.gaps] if prepared is not None else None,
        "lines": [one._asdict() for one in prepared.lines] if prepared is not None else None,
        "problem": problem or None,
    }


def comparison_sheet(found: Comparison, notes: Sequence[str]) -> RenderableType:
    """Errors by channel, vehicle and horizon, and the verdict."""
    windows = f"{found.windows} windows" if found.windows > 1 else "one window"
    about = f"root mean square of replayed - measured, {windows} of {found.window:.4g} s"
    alone = len(found.vehicles) == 1
    heads = ["", "all", *(f"{h:g} s" for h in found.horizons[1:]), *["max", "mean"] * alone]
    rows: list[list[str | Text]] = []
    for channel, unit in found.channels.items():
        label = f"{channel} [{unit}]" if unit else channel
        if not alone:
            rows.append([Text(label, "bold"), *[""] * (len(heads) - 1)])
        for name in found.vehicles:
            own = [_at(found, channel, horizon, name) for horizon in found.horizons]
            cells = [_rmse(found, one) for one in own]
            if alone and own[0] is not None:
                cells += [_number(own[0].max), _number(own[0].mean)]
            rows.append([label if alone else Text(name, "cyan"), *cells])
        if channel in found.noise:
            noise = Text(_number(found.noise[channel]), "dim")
            rows.append([Text("noise of the log", "dim"), noise, *[""] * (len(heads) - 2)])
    cells: Any = rows
    parts: list[RenderableType] = [
        Text.assemble((", ".join(found.logs), "bold"), " replayed by ")
        + Text(", ").join(Text(name, "cyan") for name in found.vehicles),
        Text(about, "dim"),
        sheets.legible(
            Sheet(heads, cells, range(1, len(heads)), (0,)),
            first="",
            padding=(0, 1, 0, 0),
            show_edge=True,
        ),
        *[Text(found.verdict)] * bool(found.verdict),
        *_preparation(found.preparation),
        *sheets.notes(notes),
    ]
    return Group(*parts)


def _at(found: Comparison, channel: str, horizon: float, vehicle: str) -> Error | None:
    keys = (vehicle, channel, horizon)
    return next((e for e in found.errors if (e.vehicle, e.channel, e.horizon) == keys), None)


def _rmse(found: Comparison, error: Error | None) -> str | Text:
    """Error as text; bold if no vehicle has a smaller one."""
    if error is None:
        return NONE
    if error.diverged:
        return Text("∞", "red")
    others = (_at(found, error.channel, error.horizon, name) for name in found.vehicles)
    best = len(found.vehicles) > 1 and all(e is None or error.rmse <= e.rmse for e in others)
    return Text(_number(error.rmse), "bold" if best else "")


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g}"


def comparison_as_json(found: Comparison, notes: Sequence[str]) -> dict[str, Any]:
    """The same as a JSON object."""
    return {
        "schema": "compare/1",
        "vehicles": list(found.vehicles),
        "logs": list(found.logs),
        "window": found.window,
        "windows": found.windows,
        "errors": [one._asdict() for one in found.errors],
        "pairs": [{**one._asdict(), "certain": one.is_certain} for one in found.pairs],
        "verdict": found.verdict,
        "noise": dict(found.noise),
        "notes": list(notes),
    }


class StateEstimates(NamedTuple):
    """Estimates of states and parameters over one log."""

    log: str
    t: Any
    """Times in s, (n,)."""
    units: dict[str, str]
    """Unit by name of the estimates."""
    values: dict[str, Any]
    deviations: dict[str, Any]
    consistency: float
    """Mean square of the innovations over that expected from the noise; near 1 if it is right."""
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        car: Vehicle,
        drive: Prepared,
        names: Sequence[str],
        measured: Mapping[str, float],
        **options: Any,
    ) -> StateEstimates:
        """Estimates of some names from all channels of a log that were measured."""
        from ..study.identify.drives import estimate_states
        from ..study.identify.observed import Sensors

        found = estimate_states(car, drive, names, measured, **options)
        units = {f"log.{leaf.name}": leaf.unit.symbol for leaf in record.fields(Sensors)}
        units |= {leaf.name: leaf.unit.symbol for leaf in record.fields(car.Params)}
        units |= CHANNELS | {leaf.name: leaf.unit.symbol for leaf in record.fields(car.State)}
        degrees = max(float(found.degrees.sum()), 1.0)
        return cls(
            drive.name,
            drive.t,
            {name: units.get(name, "") for name in names},
            {name: found[name] for name in names},
            {name: found.deviation(name) for name in names},
            float(found.nis.sum()) / degrees,
            found.notes,
        )


def estimates_sheet(
    vehicle: str, found: Sequence[StateEstimates], notes: Sequence[str]
) -> RenderableType:
    """Mean, range and uncertainty of the estimates of every log."""
    parts: list[RenderableType] = []
    heads = ("estimate", "unit", "mean", "from", "to", "deviation")
    for one in found:
        rows = [
            (name, one.units[name], *map(_number, (own.mean(), own.min(), own.max(), std.mean())))
            for (name, own), std in zip(one.values.items(), one.deviations.values(), strict=True)
        ]
        parts += [
            Text.assemble((vehicle, "cyan"), " estimated over ", (one.log, "bold")),
            sheets.legible(Sheet(heads, rows, range(2, 6), (0,)), show_edge=True),
            Text(
                f"innovations are {np.sqrt(one.consistency):.2g} times as large as the noise says",
                "dim",
            ),
            *sheets.notes(one.notes),
        ]
    return Group(*parts, *sheets.notes(notes))


def estimates_as_json(
    vehicle: str, found: Sequence[StateEstimates], notes: Sequence[str]
) -> dict[str, Any]:
    """The same as a JSON object."""
    logs = [
        {
            "name": one.log,
            "consistency": one.consistency,
            "estimates": [
                {
                    "name": name,
                    "unit": one.units[name],
                    "mean": float(own.mean()),
                    "minimum": float(own.min()),
                    "maximum": float(own.max()),
                    "deviation": float(one.deviations[name].mean()),
                }
                for name, own in one.values.items()
            ],
            "notes": list(one.notes),
        }
        for one in found
    ]
    return {"schema": "estimate/1", "vehicle": vehicle, "logs": logs, "notes": list(notes)}


def estimates_table(one: StateEstimates) -> str:
    """Estimates over time with their standard deviations, as CSV."""
    heads = ["t [s]"]
    columns = [one.t]
    for name, unit in one.units.items():
        heads += [f"{name} [{unit}]" if unit else name, f"{name}_deviation"]
        columns += [one.values[name], one.deviations[name]]
    lines = [",".join(f"{value:.9g}" for value in row) for row in zip(*columns, strict=True)]
    return "\n".join([",".join(heads), *lines]) + "\n"


def fit_sheet(found: Fit, notes: Sequence[str]) -> RenderableType:
    """Estimates with their intervals, errors before and after, and what the logs cannot tell."""
    windows = counted(found.windows, "window")
    estimates: list[tuple[str, ...]] = []
    for e in found.estimates:
        # As many decimals as show two digits of the interval's width
        width = e.high - e.low
        size = width if 0.0 < width < inf else abs(e.value) * 1e-6
        digits = min(max(1 - floor(log10(size)), 2), 9) if size > 0.0 else 3
        digits = digits if width < inf else 3
        value, low, high = (f"{v:.{digits}f}" for v in (e.value, e.low, e.high))
        interval = f"{low} to {high}" if width < inf else "unknown"
        bound = f"at its {e.at_bound} bound" if e.at_bound else ""
        estimates.append((e.name, e.unit, f"{e.start:.5g}", value, interval, bound))
    heads = ("parameter", "unit", "start", "estimate", "95 % interval", "")
    table = Sheet(heads, estimates, range(2, 5), (0,))
    if not any(row[5] for row in estimates):
        table = table.without(5)
    errors = [
        (f"{e.channel} [{e.unit}]", e.part, _number(e.before), _number(e.after))
        for e in sorted(found.errors, key=lambda e: e.channel)
        if e.horizon == 0.0
    ]
    changes = Sheet(("root mean square", "part", "before", "after"), errors, (2, 3))
    parts = dict.fromkeys(e.part for e in found.errors)
    spans = {part: f"{found.error_window(part):.3g} s" for part in parts}
    about = f"fitted in {windows} of {found.window:.3g} s"
    if spans:
        alike = len(set(spans.values())) == 1
        each = [length if alike else f"{length} ({part})" for part, length in spans.items()]
        about += f"; errors over windows of {' and '.join(dict.fromkeys(each))}"
    return Group(
        Text.assemble((found.title, "bold cyan"), " fitted to ", (", ".join(found.logs), "bold")),
        Text(about, "dim"),
        sheets.legible(table, show_edge=True),
        sheets.legible(changes, show_edge=True),
        *_preparation(found.preparation),
        *(Text(f"the logs cannot tell: {one.text}", "yellow") for one in found.untold),
        *sheets.notes(notes),
    )


def fit_as_json(found: Fit, notes: Sequence[str]) -> dict[str, Any]:
    """The same as a JSON object."""
    return {
        "schema": "fit/1",
        "vehicle": found.vehicle.name,
        "logs": list(found.logs),
        "window": found.window,
        "windows": found.windows,
        "estimates": [one._asdict() for one in found.estimates],
        "correlations": np.asarray(found.correlations).tolist(),
        "untold": [{"names": list(one.names), "text": one.text} for one in found.untold],
        "errors": [one._asdict() for one in found.errors],
        "notes": list(notes),
    }
