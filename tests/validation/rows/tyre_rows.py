"""Tyres beside recordings of other programs, and beside their closed forms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from skidpad.tyres import BrushTyre, Contact, LinearTyre, LoadSensitiveTyre, ProportionalTyre
from skidpad.tyres.magic_formula.formula import evaluate
from skidpad.tyres.magic_formula.records import BookAngles
from skidpad.vehicles import two_track
from skidpad.vehicles.parts import FirstOrderSlip
from tyres.magic_sets import SETS, contact, table, tyre
from validation.rows.row import Row, compared, recorded

MFEVAL = "MFeval 4.0, recorded"
FORCES = {"Fx": "F_x", "Fy": "F_y", "Mx": "M_x"}
TITLES = {"book205_61": "205/60R15 of Pacejka's book", "suv62": "large road tyre of MFeval"}


def mfeval() -> Iterator[Row]:
    """Forces of every set over random slips, loads, cambers and pressures; to rounding."""
    for name in SETS:
        asked, told = table(f"mfeval_{name}", "rand")
        t = tyre(name)
        ours = evaluate(t, contact(t, asked))
        columns = [column for column in FORCES if np.any(told[column])]
        want = np.column_stack([told[column] for column in columns])
        got = np.column_stack([getattr(ours.forces, FORCES[c]) + 0.0 * want[:, 0] for c in columns])
        subject = f"Magic Formula {name[-2]}.{name[-1]}"
        quantity = f"forces and overturning moment, {TITLES.get(name, name[:-2])} (N, N m)"
        yield recorded(subject, quantity, MFEVAL, want, got, 1e-9)
        kept = {"Kxk": ours.K_x, "Kya": ours.K_y, "mux": ours.mu_x, "muy": ours.mu_y}
        want, got = (
            np.column_stack([np.broadcast_to(part[c], told["Fx"].shape) for c in kept])
            for part in (told, kept)
        )
        quantity = f"stiffnesses and friction, {TITLES.get(name, name[:-2])} (N, 1)"
        yield recorded(subject, quantity, MFEVAL, want, got, 1e-9)


def other_programs() -> Iterator[Row]:
    """The same forces from programs of others, which leave out other small numbers."""
    for name in ("book205_61", "suv62"):
        asked, told = table(f"physx_{name}", "star_amu1")
        t = tyre(name, angles=BookAngles)
        ours = evaluate(t, contact(t, asked)).forces.F_x
        subject, quantity = f"Magic Formula {name[-2]}.{name[-1]}", "longitudinal force (N)"
        source = "NVIDIA PhysX VehicleMFTire.h, recorded"
        yield recorded(subject, f"{quantity}, {TITLES[name]}", source, told["Fx"], ours, 1e-8)
        asked, told = table(f"mbsim_{name}", "rand")
        t = _mbsim(name)
        got = evaluate(t, contact(t, asked)).forces
        quantity = f"longitudinal and lateral force, {TITLES[name]} (N)"
        want = np.column_stack([told["Fx"], told["Fy"]])
        source = "MBSim MagicFormula62, recorded"
        yield recorded(subject, quantity, source, want, np.column_stack(got[:2]), 1e-8)


def _mbsim(name: str) -> Any:
    """MBSim knows no LFZO: its nominal load is the product."""
    t = tyre(name)
    return tyre(name, {"FNOMIN": t.vertical.FNOMIN * t.scaling.LFZO, "LFZO": 1.0})


def simple_tyres() -> Iterator[Row]:
    """Slopes at zero by closed forms, and the brush by its bristles one by one."""
    F_z, small = 3000.0, 1e-8
    linear, brush, load = LinearTyre(), BrushTyre(), LoadSensitiveTyre()
    law, magic = load.lateral, ProportionalTyre().lateral
    slopes = {
        "LinearTyre": (linear, linear.C_y * F_z, "C_y F_z"),
        "BrushTyre": (
            brush,
            2.0 * brush.c * brush.a**2 * F_z / brush.F_z0,
            "2 c a², Pacejka section 3.2",
        ),
        "LoadSensitiveTyre": (
            load,
            law.K * math.sin(2.0 * math.atan(F_z / law.F_K)),
            "Pacejka eq. 4.E25",
        ),
        "ProportionalTyre": (ProportionalTyre(), magic.B * magic.C * magic.D * F_z, "B C D F_z"),
    }
    for name, (own, want, source) in slopes.items():
        slope = own.forces(Contact(F_z=F_z, alpha=-small)).F_y / small
        quantity = "cornering stiffness at 3 kN (N/rad)"
        yield compared(name, quantity, f"closed form: {source}", want, slope, 1e-6)
    for alpha in (0.02, 0.08):
        F_y, M_z = bristles(brush, F_z, alpha)
        own = brush.forces(Contact(F_z=F_z, alpha=-alpha))
        source = "bristles summed by quadrature, Pacejka section 3.2"
        quantity = f"lateral force at {alpha:g} rad and 3 kN (N)"
        yield compared("BrushTyre", quantity, source, F_y, own.F_y, 1e-6)
        quantity = f"aligning moment at {alpha:g} rad and 3 kN (N m)"
        yield compared("BrushTyre", quantity, source, M_z, own.M_z, 1e-5)


def bristles(brush: BrushTyre, F_z: float, alpha: float) -> tuple[float, float]:
    """Force and moment of bristles that stick until friction under a parabola of pressure no
    longer holds them."""
    a = brush.a * math.sqrt(F_z / brush.F_z0)
    n = 1_000_000
    x = a * (1.0 - (np.arange(n) + 0.5) * (2.0 / n))  # from the leading edge back
    bent = brush.c * math.tan(alpha) * (a - x)
    held = np.minimum(bent, brush.mu * 0.75 * F_z / a * (1.0 - (x / a) ** 2))
    dx = 2.0 * a / n
    return float(held.sum() * dx), float((held * x).sum() * dx)


def relaxation() -> Iterator[Row]:
    """After a relaxation length there are 1 - 1/e of a step of slip."""
    tyre_, v, small = LoadSensitiveTyre(), 20.0, 1e-4
    sigma = tyre_.carcass.sigma_y
    car = two_track(tyre=tyre_, slip=FirstOrderSlip(), C_drag=0.0)
    x = car.model.settle(car.State(v_x=v), car.params)
    rate = car.derivative(x._replace(v_y=small * v), car.Input()).tan_alpha_rl
    source = "first-order lag: tan alpha v / sigma_y"
    quantity = "rate of slip after a step, 20 m/s (1/s)"
    yield compared("first-order slip", quantity, source, small * v / sigma, rate, 1e-4)
