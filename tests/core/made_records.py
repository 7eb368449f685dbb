"""Records and vehicles whose classes are made at run time, and what there is to see of them.

Nothing is made while this file is imported: another process must know nothing but the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, get_type_hints

import numpy as np

import skidpad as sp
from skidpad import ops
from skidpad import units as si
from skidpad.control import driver_aids
from skidpad.control.pid import Form, memory_type
from skidpad.core import record
from skidpad.core.arrays import ArrayNumber
from skidpad.road.records import FullGrip, UniformGrip
from skidpad.run.monte_carlo import noisy
from skidpad.tyres import LoadSensitiveTyre
from skidpad.tyres.contract import tyre_set
from skidpad.vehicles import parts, wheeled
from skidpad.vehicles.parts import electric
from skidpad.vehicles.parts.actuators import HydraulicBrakes
from skidpad.vehicles.parts.air import aero_map
from skidpad.vehicles.parts.assembly import (
    assembled,
    at_column,
    at_row,
    curve,
    on_curve,
    table,
    widened,
)
from skidpad.vehicles.parts.chassis import RollPitch
from skidpad.vehicles.parts.spinning_wheel import FirstOrderSlip
from skidpad.vehicles.parts.steering import alignment_tables
from skidpad.vehicles.twin_track.records import State as TwoTrackState
from skidpad.vehicles.twin_track.records import without
from skidpad.vehicles.variants import smooth

VALUES = np.array([0.0, 1.0, 0.25, 2.0, -1.0])
PLANE = np.outer(VALUES, [1.0, 3.0, -2.0, 0.5]) + VALUES[:, None]
SPACE = PLANE[:, :, None] * np.array([1.0, -2.0, 4.0])


class Load(NamedTuple):
    """A record with methods, at the top of a module."""

    m: si.kg = 1.0

    def weight(self) -> Any:
        return 9.81 * self.m


def local_record() -> Any:
    """A record of a class that is nowhere to be found, with others in it."""
    hints = {
        "map": ops.grid_type(1, "cubic", (si.N, si.m)),
        "empty": FullGrip,
        "load": Load,
        "plain": ops.Grid1,
        "a": si.m,
    }
    kind = record.define("Local", hints, {"load": Load(2.0), "a": 3.0})
    made = ops.grid(VALUES, method="cubic", units=(si.N, si.m))
    return kind(made, FullGrip(), ops.grid(VALUES), Load(4.0), 5.0)


def local_vehicle() -> sp.Vehicle:
    """A block on a cubic map, whose records and functions are nowhere to be found."""

    class State(NamedTuple):
        x: si.m = 0.3
        v: si.m_s = 1.0

    class Input(NamedTuple):
        F: si.N = 0.0

    kind = ops.grid_type(1, "cubic", (si.N, si.m))
    Params = record.define("Params", {"map": kind, "load": Load}, {"load": Load(2.0)})

    def derivative(x: Any, u: Any, w: Any, p: Any) -> Any:
        return State(x.v, u.F - ops.interpolate(p.map, x.x) / p.load.weight())

    model = sp.Model("local", State, Input, Params, derivative=derivative)
    return sp.VehicleFactory(model)(map=ops.grid(VALUES, method="cubic", units=(si.N, si.m)))


def local_tyre() -> sp.Vehicle:
    """A car on a tyre whose class is nowhere to be found."""

    class Own(LoadSensitiveTyre):
        __slots__ = ()

    return sp.vehicles.two_track(tyre=Own())


def tables() -> Any:
    cells = [[0.01, 0.0], [0.02, 0.03], [0.0, 0.01]]
    return alignment_tables(toe_f=((-0.1, 0.0, 0.1), (-1e3, 1e3), cells))


def air() -> Any:
    heights = (0.05, 0.1)
    return aero_map(
        heights, heights, [[1.0, 1.1], [1.2, 1.3]], [[2.0, 1.1], [1.2, 1.0]], [[1, 2]] * 2
    )


def car(**parts: Any) -> sp.Vehicle:
    return sp.vehicles.two_track(**parts)


def furnished() -> sp.Vehicle:
    return car(
        chassis=RollPitch(),
        air=air(),
        alignment=tables(),
        slip=FirstOrderSlip(),
        powertrain=parts.MotorDrive(
            motor=electric.ElectricMotor(envelope=electric.CurveEnvelope())
        ),
        brakes=HydraulicBrakes(),
        road=sp.Road.grid(PLANE, 0.0, 0.5, method="cubic").with_grip(0.5),
    )


def aided() -> Any:
    known = car()
    return driver_aids.aided(
        driver_aids.open_loop(known), driver_aids.anti_lock(known), driver_aids.traction(known)
    )


RECORDS: dict[str, Callable[[], Any]] = {
    **{
        f"{method} grid of {values.ndim} axes{' with units' if units else ''}": (
            lambda method=method, values=values, units=units: ops.grid(
                values, method=method, units=units
            )
        )
        for method in ("linear", "cubic")
        for values in (VALUES, PLANE, SPACE)
        for units in (None, (si.N, si.m, si.s, si.rad)[: values.ndim + 1])
    },
    "table": lambda: table((0.0, 1.0), (0.0, 2.0), ((0.0, 1.0), (2.0, 5.0))),
    "curve": lambda: curve((0.0, 1.0, 3.0), (0.0, 1.0, -1.0), (si.m, si.N)),
    "one tyre": lambda: tyre_set(LoadSensitiveTyre()),
    "tyres by axle": lambda: tyre_set(LoadSensitiveTyre(), LoadSensitiveTyre()),
    "flat road": lambda: sp.Road().record,
    "profile": lambda: sp.Road.profile(VALUES, 0.5).record,
    "smooth profile": lambda: sp.Road.profile(VALUES, 0.5, method="cubic").record,
    "grid with grip": lambda: sp.Road.grid(PLANE, 0.0, 0.5).with_grip(UniformGrip(0.5).mu).record,
    "smooth grid": lambda: sp.Road.grid(PLANE, 0.0, 0.5, method="cubic").record,
    "aero map": air,
    "alignment tables": tables,
    "motor drive": lambda: assembled(parts.MotorDrive(layout=parts.AllWheelDrive())),
    "engine drive": lambda: assembled(parts.EngineDrive(shift=parts.ManualShift())),
    "battery": lambda: assembled(
        parts.Battery(ocv=electric.voltage_curve((0.0, 0.5, 1.0), (300.0, 350.0, 400.0)))
    ),
    "widened": lambda: widened(Load, parts.EngineDrive().States)(m=2.0),
    "without": lambda: without(TwoTrackState, "tau_")(v_x=3.0),
    "state of a car": lambda: furnished().State(v_x=3.0),
    "input of a car": lambda: furnished().Input(),
    "outputs of a car": lambda: record.at_rest(furnished().model.Outputs),
    "disturbance of a car": lambda: furnished().model.Disturbance(),
    "parameters of a car": lambda: furnished().params,
    "parameters of a bicycle": lambda: sp.vehicles.single_track().params,
    "additive disturbance": lambda: sp.with_disturbance(sp.vehicles.four_wheel()).model.Disturbance(
        v_x=1.0
    ),
    "smooth limits": lambda: sp.VehicleFactory(smooth(sp.vehicles.four_wheel.model))().params,
    "memory of a controller": lambda: memory_type(Form())(1.0),
    "parameters of a policy": lambda: (
        sp.control.pure_pursuit.policy(sp.vehicles.four_wheel()).params
    ),
    "parameters of aids": lambda: aided().params,
    "memory of aids": lambda: aided().Memory(),
    "noisy reference": lambda: record.at_rest(noisy(aided(), car().State).Reference),
    "full state": lambda: record.at_rest(sp.sensors.FullState.of(car()).Reading),
    "wheeled robot": lambda: wheeled.vehicle(
        wheeled.differential(control=wheeled.Control("twist_pid"))
    ).State(),
    "local": local_record,
}

VEHICLES: dict[str, Callable[[], sp.Vehicle]] = {
    "two_track": car,
    "furnished two_track": furnished,
    "single_track": sp.vehicles.single_track,
    "disturbed": lambda: sp.with_disturbance(sp.vehicles.four_wheel(m=240.0)),
    "disturbed and furnished": lambda: sp.with_disturbance(furnished()),
    "smooth limits": lambda: sp.VehicleFactory(smooth(sp.vehicles.four_wheel.model))(),
    "wheeled robot": lambda: wheeled.vehicle(
        wheeled.differential(control=wheeled.Control("twist_pid"))
    ),
    "local": local_vehicle,
    "car on a local tyre": local_tyre,
}


def _shown(value: Any) -> Any:
    if isinstance(value, ArrayNumber):
        return [v.hex() for v in value.values.tolist()]
    return float(value).hex()


def class_tree(kind: type) -> list[Any]:
    """All that a class of records says, and those of the records in it."""
    leaves = [
        (
            f.name,
            f.unit.symbol,
            str(f.allowed),
            f.doc,
            None if f.default is None else float(f.default).hex(),
        )
        for f in record.fields(kind)
        if not isinstance(f.default, ArrayNumber)
    ]
    hints = get_type_hints(kind, include_extras=True)
    inner = {name: hints[name] for name in kind._fields}
    public = sorted(name for name in dir(kind) if not name.startswith("_"))
    below = [(n, class_tree(part)) for n, part in inner.items() if record.is_record_type(part)]
    return [kind.__name__, leaves, public, record.interpolation(kind), below]


def _values(kind: type, at: float) -> Any:
    """A record somewhere within its allowed values, not at its defaults."""
    leaves = [
        (f.default or 0.0) + at * (0.01 + 0.001 * k) for k, f in enumerate(record.fields(kind))
    ]
    return record.unflatten(kind, leaves)


def _worked_out(thing: Any) -> list[Any]:
    """What functions of the package make of a record or a vehicle."""
    if isinstance(thing, sp.Vehicle):
        model = thing.model
        x, u = (_values(kind, 1.0) for kind in (model.State, model.Input))
        w = _values(model.Disturbance, 0.1)
        step: Any = model.derivative or model.update
        rest = () if model.continuous else (0.01,)
        moved = step(x, model.held_input(x, u, w, thing.params), w, thing.params, *rest)
        return [*record.flatten(moved), *record.flatten(thing.outputs(x, u, w))]
    names = type(thing)._fields
    if "start_0" in names:
        return [ops.interpolate(thing, *(0.7 + k for k in range(len(names) // 3)))]
    if "row_0" in names:
        return [at_column(0.3, at_row(0.4, thing))]
    if "knot_0" in names:
        return [on_curve(0.3, thing)]
    if names == ("surface", "grip"):
        return [*thing.surface.at(0.3, 0.4), thing.grip.at(0.3, 0.4)]
    return []


def probe(thing: Any) -> Any:
    """All there is to see of a record or a vehicle, as text and numbers for JSON."""
    if isinstance(thing, sp.Vehicle):
        numbers = thing.params
        known: Any = [thing.name, record.names(thing.State), record.names(type(thing.params))]
    else:
        numbers, known = thing, class_tree(type(thing))
    leaves = [_shown(leaf) for leaf in record.flatten(numbers)]
    return [known, leaves, [float(value).hex() for value in _worked_out(thing)]]
