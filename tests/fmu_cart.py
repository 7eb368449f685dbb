"""A small vehicle that has all that an FMU can show, and FMUs of it as other tools run them."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import fmpy
from fmpy import fmi2, fmi3

import skidpad as sp
from skidpad import export
from skidpad import units as si
from skidpad.export import toolchain
from skidpad.ops import cos, sin, tanh
from skidpad.vehicles.parts.assembly import curve, curve_type, on_curve

Drag = curve_type(3, (si.m_s, si.N))


class State(NamedTuple):
    x: si.m = 0.0
    """Position along the track."""
    yaw: si.rad = 0.1
    """Heading."""
    v_x: si.m_s = 2.0
    """Speed."""
    spin: si.rad_s = 0.0
    """Of the wheel; rolls at the start if nothing is said."""


class Input(NamedTuple):
    F_x: si.N = 0.0
    """Driving force."""
    v_x: si.m_s = 0.0
    """A speed that is demanded, of the name of a state."""


class Disturbance(NamedTuple):
    F_wind: si.N = 0.0
    """From ahead."""


class Tyre(NamedTuple):
    k: Annotated[si.N, si.positive] = 900.0
    """Stiffness."""


class Params(NamedTuple):
    m: Annotated[si.kg, si.positive] = 40.0
    """Mass."""
    r: Annotated[si.m, si.Allowed(0.1, 2.0)] = 0.25
    """Radius of the wheel."""
    tyre: Tyre = Tyre()
    """Its tyre."""
    drag: Drag = curve(  # pyright: ignore[reportInvalidTypeForm]
        (0.0, 10.0, 30.0), (0.0, 20.0, 200.0), (si.m_s, si.N)
    )
    """Resistance by speed."""


class Outputs(NamedTuple):
    a_x: si.m_s2
    """Acceleration."""
    slip: si.m_s
    """Of the wheel over the ground."""


def forces(x: State, u: Input, w: Disturbance, p: Params) -> Any:
    grip = p.tyre.k * tanh((p.r * x.spin - x.v_x) / (1.0 + x.v_x * x.v_x))
    return grip - on_curve(x.v_x, p.drag) - w.F_wind, grip


def derivative(x: State, u: Input, w: Disturbance, p: Params) -> State:
    force, grip = forces(x, u, w, p)
    return State(
        x=x.v_x * cos(x.yaw),
        yaw=0.2 * sin(x.x) + 0.01 * (u.v_x - x.v_x),
        v_x=force / p.m,
        spin=(u.F_x - grip) / (0.1 * p.m * p.r),
    )


def outputs(x: State, u: Input, w: Disturbance, p: Params) -> Outputs:
    force, _ = forces(x, u, w, p)
    return Outputs(a_x=force / p.m, slip=p.r * x.spin - x.v_x + 0.001 * u.F_x)


def settle(x: State, p: Params) -> State:
    return x._replace(spin=x.v_x / p.r + x.spin)


MODEL = sp.Model(
    name="cart",
    State=State,
    Input=Input,
    Params=Params,
    Disturbance=Disturbance,
    Outputs=Outputs,
    derivative=derivative,
    outputs=outputs,
    settle=settle,
    fills=("spin",),
    summary="A cart",
)
cart = sp.VehicleFactory(MODEL)
DT = 0.01


def compiler() -> str | None:
    """The one of this machine where there is one: it starts faster than Zig."""
    return "gcc" if shutil.which("gcc") else None


class Unit:
    """An instance of an FMU, through fmpy, with its variables by name."""

    def __init__(self, folder: Path, kind: str = "CoSimulation") -> None:
        self.said: list[str] = []
        self.description = fmpy.read_model_description(str(folder))
        self.version = 3 if str(self.description.fmiVersion).startswith("3") else 2
        self.reference = {v.name: v.valueReference for v in self.description.modelVariables}
        interface = getattr(self.description, kind[0].lower() + kind[1:])
        types = {(2, "C"): fmi2.FMU2Slave, (2, "M"): fmi2.FMU2Model}
        types |= {(3, "C"): fmi3.FMU3Slave, (3, "M"): fmi3.FMU3Model}
        self.fmu: Any = types[self.version, kind[0]](
            guid=self.description.guid,
            unzipDirectory=str(folder),
            modelIdentifier=interface.modelIdentifier,
            instanceName="one",
        )
        if self.version == 3:
            self.fmu.instantiate(logMessage=self._logged)
        else:
            self.callbacks = fmi2.fmi2CallbackFunctions()
            self.callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(self._logged2)
            self.callbacks.allocateMemory = fmi2.fmi2CallbackAllocateMemoryTYPE(fmi2.calloc)
            self.callbacks.freeMemory = fmi2.fmi2CallbackFreeMemoryTYPE(fmi2.free)
            self.fmu.instantiate(callbacks=self.callbacks)

    def _logged(self, environment: Any, status: int, category: bytes, message: bytes) -> None:
        self.said.append(message.decode())

    def _logged2(self, environment: Any, name: bytes, status: int, *texts: bytes) -> None:
        self.said.append(texts[1].decode())

    def start(self, time: float = 0.0, **numbers: float) -> Unit:
        """Initialise with some variables set; a dot in a name is written as two underscores."""
        self.set(**numbers)
        if self.version == 2:
            self.fmu.setupExperiment(startTime=time)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(startTime=time)
        self.fmu.exitInitializationMode()
        return self

    def set(self, **numbers: float) -> None:
        for name, value in numbers.items():
            self.write([name.replace("__", ".")], [value])

    def write(self, names: Sequence[str], values: Sequence[float]) -> None:
        references = [self.reference[name] for name in names]
        put = self.fmu.setFloat64 if self.version == 3 else self.fmu.setReal
        put(references, list(values))

    def read(self, *names: str, count: int | None = None) -> list[float]:
        references = [self.reference[name] for name in names]
        if self.version == 3:
            return list(self.fmu.getFloat64(references, nValues=count))
        return list(self.fmu.getReal(references))

    def states(self) -> list[float]:
        return self.read(*(n for n in self.reference if n.startswith("state.")))

    def step(self, time: float, length: float = DT) -> None:
        self.fmu.doStep(time, length)

    def jacobian(self, unknowns: Sequence[str], knowns: Sequence[str]) -> list[list[float]]:
        """Derivatives, one column after the other, as rows of a matrix."""
        rows, columns = ([self.reference[n] for n in names] for names in (unknowns, knowns))
        found: list[list[float]] = []
        for column in columns:
            args = (rows, [column], [1.0])
            found.append(list(self.fmu.getDirectionalDerivative(*args)))
        return [list(row) for row in zip(*found, strict=True)]

    def save(self) -> Any:
        return (self.fmu.getFMUState if self.version == 3 else self.fmu.getFMUstate)()

    def restore(self, saved: Any) -> None:
        (self.fmu.setFMUState if self.version == 3 else self.fmu.setFMUstate)(saved)

    def forget(self, *saved: Any) -> None:
        for one in saved:
            (self.fmu.freeFMUState if self.version == 3 else self.fmu.freeFMUstate)(one)

    def written(self, saved: Any) -> bytes:
        fmu = self.fmu
        return (fmu.serializeFMUState if self.version == 3 else fmu.serializeFMUstate)(saved)

    def revived(self, text: bytes) -> Any:
        fmu = self.fmu
        return (fmu.deserializeFMUState if self.version == 3 else fmu.deSerializeFMUstate)(text)

    def close(self) -> None:
        self.fmu.freeInstance()


@cache
def cart_fmu(version: int) -> Path:
    """The FMU of a cart, built once for all tests of a run."""
    folder = Path(os.environ["SKIDPAD_TEST_RUN"])
    path = folder / f"cart_fmi{version}.fmu"
    if not path.exists():
        export.write_fmu(
            export.Export(cart(), DT, "rk4"),
            path,
            version,
            platforms=[toolchain.host()],
            compiler=compiler(),
        )
    return path


@cache
def cart_folder(version: int) -> Path:
    """The same, unpacked."""
    path = cart_fmu(version)
    # A process of its own may be unpacking it, too.
    folder = path.with_name(f"{path.stem}_{os.getpid()}")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder
