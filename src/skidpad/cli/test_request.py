"""What `skidpad test` is asked for: vehicles by name, parameters, what to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import vehicles
from ..by_text import TYRE_NAMES, is_own, vehicle_by_text
from ..errors import InvalidValue
from ..files import json_of, yaml_of
from ..manoeuvres import (
    CaseRun,
    Manoeuvre,
    Reference,
    Result,
    Subject,
    adapted,
    drive_of_log,
    earlier,
    measured_reference,
    parsed_spread,
    spread_out,
)
from ..manoeuvres.measured import adapted_settings
from ..model import Vehicle
from ..vehicles.autoware import NAMES
from .notes import warnings_as_notes

LOGS = (".csv", ".parquet", ".mcap", ".db3")
UNCHANGED = "(unchanged)"
"""Behind the name of a vehicle that is compared with itself as it was."""


def chosen_subjects(
    names: Sequence[str],
    params: Sequence[Path] | None = None,
    settings: Sequence[str] | None = None,
    variants: int = 0,
    spread: Sequence[str] | None = None,
    seed: int = 0,
) -> list[Subject]:
    """The vehicles under test, with variants if there are to be any."""
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        raise InvalidValue(f"{twice} is there twice; vehicles under test must differ")
    if spread and not variants:
        raise InvalidValue("--spread goes with --variants, as in --variants 200")
    if variants and not spread:
        raise InvalidValue("--variants goes with --spread, as in --spread m=5%")
    values = set_values(settings)
    cars = {name: vehicle_of(name, params or (), values) for name in names}
    if not variants:
        return [Subject(car, name=name) for name, car in cars.items()]
    widths = parsed_spread(spread or ())
    return [spread_out(car, widths, variants, seed=seed, name=name) for name, car in cars.items()]


def set_values(settings: Sequence[str] | None) -> dict[str, float | str]:
    """Parameters that `--set` gives, by dotted name; of tyres their files or names."""
    pairs = split_pairs("--set", settings).items()
    return {name: text if name in TYRE_NAMES else _number(name, text) for name, text in pairs}


def vehicle_of(
    name: str,
    files: Sequence[Path] = (),
    values: Mapping[str, float | str] | None = None,
    *,
    telling: bool = False,
) -> Vehicle:
    """A vehicle by its name, name and parameter set, or `module:name`, with some parameters
    replaced: by those of files, later ones winning, and by single ones. `telling` warns of those
    that are assumed."""
    with warnings_as_notes():
        if name in NAMES:  # files of Autoware's
            return vehicle_by_text(name, values, files=files, telling=telling)
        return vehicle_by_text(name, parameter_changes(files, values), telling=telling)


def parameter_changes(
    files: Sequence[Path] = (), values: Mapping[str, float | str] | None = None
) -> dict[str, Any]:
    """Parameters by dotted name: those of files, later ones winning, and single ones."""
    changes: dict[str, Any] = {}
    for file in files:
        changes |= _parameters(file)
    return changes | dict(values or {})


def _parameters(file: Path) -> dict[str, Any]:
    """Parameters by dotted name of a file in YAML or JSON, as mappings may be nested."""
    tree = json_of(file) if file.suffix.lower() == ".json" else yaml_of(file)
    if not isinstance(tree, Mapping):
        raise InvalidValue(f"{file} must be a mapping of parameters by name")
    return dict(_leaves(tree, ""))


def _leaves(tree: Mapping[Any, Any], before: str) -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for name, value in tree.items():
        if isinstance(value, Mapping):
            leaves += _leaves(value, f"{before}{name}.")
        else:
            leaves.append((f"{before}{name}", value))
    return leaves


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidValue(f"--set {name}={text}: {text!r} must be a number") from None


def split_pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """`name=value` pairs; a name may have an equals sign in it."""
    pairs: dict[str, str] = {}
    for text in texts or ():
        name, sign, value = text.rpartition("=")
        if not (name and sign and value):
            raise InvalidValue(f"{option} {text}: expected NAME=VALUE")
        pairs[name] = value
    return pairs


@dataclass(frozen=True)
class Against:
    """What vehicles are to be compared with, as far as it is known before they drive."""

    earlier: Reference | None = None
    drive: CaseRun | None = None
    aligned: bool = True
    wheel_base: float | None = None
    """Of the measured vehicle in m; that of the vehicle under test if None."""
    notes: Sequence[str] = ()
    cars: Sequence[Subject] = ()
    """Another vehicle, which has to drive, too."""

    def adapting(self, tests: Sequence[Manoeuvre]) -> tuple[Sequence[Manoeuvre], Against]:
        """Tests as a log was driven, where it tells how, and notes on what differs from usual."""
        if self.drive is None:
            return tests, self
        as_driven: list[Manoeuvre] = []
        notes = list(self.notes)
        for test in tests:
            try:
                as_driven.append(adapted(test, self.drive))
            except InvalidValue:  # `measured` tells why
                as_driven.append(test)
            if settings := adapted_settings(test, as_driven[-1]):
                notes.append(f"{test.name} is driven as the log was: {settings}")
        return as_driven, replace(self, notes=notes)

    def reference(self, results: Sequence[Result], others: Sequence[Result]) -> Reference | None:
        """With the results of the vehicles under test, and of the other one."""
        if self.drive is not None:
            return measured_reference(
                self.drive,
                results,
                notes=self.notes,
                aligned=self.aligned,
                wheel_base=self.wheel_base,
            )
        if self.cars:
            return Reference.of_results(self.cars[0].name, others)
        return self.earlier


def compared_with(
    against: str | None,
    tests: Sequence[str] | None,
    cars: Sequence[Subject],
    names: Mapping[str, str],
    at: float | None,
    *,
    changed: bool = False,
    wheel_base: float | None = None,
) -> Against:
    """What `--against` names; `tests` are the manoeuvres that were named. With `changed` the
    vehicles under test are not as their names say, and one may be compared with what it was."""
    path = Path(against) if against is not None else Path()
    log = against is not None and (path.is_dir() or path.suffix.lower() in LOGS)
    of_log = {"map": names or None, "at": at, "wheelbase": wheel_base}
    given = [option for option, value in of_log.items() if value is not None]
    if given and not log:
        raise InvalidValue(f"--{given[0]} goes with --against LOG")
    if against is None:
        return Against()
    if log:
        from ..identify import read_log

        if not tests:
            raise InvalidValue(
                f"--against {against}: say what the log is of with --manoeuvre, as in step_steer"
            )
        drive, notes = drive_of_log(read_log(path, names), at)
        return Against(drive=drive, aligned=at is None, wheel_base=wheel_base, notes=notes)
    if path.suffix.lower() == ".json":
        return Against(earlier(path))
    under_test = against in [car.name for car in cars]
    if under_test and not changed:
        raise InvalidValue(
            f"--against {against}: it is under test itself; name another one, or change the one "
            f"under test with --set or --params"
        )
    if not is_own(against) and against.partition(":")[0] not in (*vehicles.names(), *NAMES):
        raise InvalidValue(
            f"--against {against} is neither a file of results (.json), nor a log "
            f"({', '.join(LOGS)}, or a bag), nor a vehicle; skidpad models lists the vehicles"
        )
    name = f"{against} {UNCHANGED}" if under_test else against
    return Against(cars=[Subject(vehicle_of(against), name=name)])
