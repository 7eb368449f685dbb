"""Aerodynamics of a car: drag, side force, and the loads on the axles.

The class of the car's record `air` selects the equations: `PlainAir`, `Aerodynamics`, one made by
`aero_map`, or another class that fulfils this contract:

1. `Wind` is the record of disturbances that the air adds to those of the car; empty in still air.
2. `replaces` names parameters of the car that are not needed with this class.
3. `forces(x, w, travel, p)` returns the aerodynamic forces for the body's position on its springs.
4. `resistance(v_x, p)` is the force that holds a speed in calm air, not negative forwards.

The function `resistance` lumps rolling, linear and quadratic terms into one force along body x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ...geometry.pose import unrotated
from ...ops import abs, smooth_hypot, tanh
from ...units import Allowed, N, N_s2_m2, N_s_m, Nm, kg_m3, m, m2, m_s, non_negative, one, positive
from .actuators import drag
from .assembly import NoStates, assembled, at_column, at_row, checked_table

if TYPE_CHECKING:
    from .chassis import Travel


def resistance(v_x: m_s, C_r0: N, C_r1: N_s_m, C_r2: N_s2_m2, v_0: m_s) -> N:
    """Driving resistance along body x, against the motion; odd in `v_x`.

    `v_0` is the speed below which the constant term fades to zero at standstill.
    """
    speed = abs(v_x)
    return -(C_r0 + speed * (C_r1 + speed * C_r2)) * tanh(v_x * (1.0 / v_0))


def downforce(v_x: m_s, C_down: N_s2_m2) -> N:
    """Aerodynamic downforce, positive downwards."""
    return (0.5 * C_down) * (v_x * v_x)


class Wind(NamedTuple):
    """Wind velocity, as a disturbance."""

    wind_x: m_s = 0.0
    """Wind velocity along the world's x axis (the direction the wind blows to)."""
    wind_y: m_s = 0.0
    """Wind velocity along the world's y axis."""


class AirForces(NamedTuple):
    """Aerodynamic forces on a car, in body axes."""

    F_x: N
    """Longitudinal force at the centre of mass, forward positive."""
    F_y: N
    """Lateral force at the centre of mass, positive to the left."""
    M_z: Nm
    """Yaw moment, positive to the left."""
    front: N
    """Load added to the front axle, positive downwards."""
    rear: N
    """Load added to the rear axle, positive downwards."""


class PlainAir(NamedTuple):
    """Drag at the centre of mass and downforce in still air.

    Uses the car's parameters C_drag, C_down and down_front.
    """

    Wind = NoStates
    replaces = ()

    def forces(self, x: Any, w: Any, travel: Travel, p: Any) -> AirForces:
        down = downforce(x.v_x, p.C_down)
        front, rear = p.down_front * down, (1.0 - p.down_front) * down
        return AirForces(drag(x.v_x, p.C_drag), 0.0, 0.0, front, rear)

    def resistance(self, v_x: m_s, p: Any) -> N:
        return (0.5 * p.C_drag) * (v_x * abs(v_x))


PLAIN_FIELDS = ("C_drag", "C_down", "down_front")
"""Parameters of a car that only `PlainAir` uses."""


class Aerodynamics(NamedTuple):
    """Aerodynamics with coefficients over the frontal area, and with wind.

    With the velocity V of the car relative to the air, in body axes, F_x = -½ rho A c_x |V| V_x
    at the height h, F_y = -½ rho A c_y |V| V_y at the distance x_y ahead of the centre of mass
    and at its height, and the downforce is ½ rho A c_z V_x².
    """

    rho: Annotated[kg_m3, non_negative] = 1.2
    """Density of the air."""
    A: Annotated[m2, non_negative] = 2.0
    """Frontal area."""
    c_x: Annotated[one, non_negative] = 0.33
    """Drag coefficient."""
    c_y: Annotated[one, non_negative] = 0.0
    """Side force coefficient over the sine of the aerodynamic slip angle."""
    c_z: one = 0.0
    """Downforce coefficient; negative for lift."""
    balance: Annotated[one, Allowed(0.0, 1.0)] = 0.5
    """Share of the downforce on the front axle, without the load transfer by drag."""
    h: Annotated[m, non_negative] = 0.5
    """Height at which drag acts; above the centre of mass it loads the rear axle."""
    x_y: m = 0.0
    """Distance ahead of the centre of mass at which the side force acts."""
    v_still: Annotated[m_s, positive] = 0.01
    """Air speed below which the forces are smoothed."""

    Wind = Wind
    replaces = PLAIN_FIELDS

    def forces(self, x: Any, w: Any, travel: Travel, p: Any) -> AirForces:
        """Aerodynamic forces from the velocity relative to the air."""
        down_f, down_r = self.balance * self.c_z, (1.0 - self.balance) * self.c_z
        return _forces(self, self.c_x, down_f, down_r, x, w, p)

    def resistance(self, v_x: m_s, p: Any) -> N:
        """Drag at a speed in calm air."""
        return (0.5 * self.rho * self.A * self.c_x) * (v_x * abs(v_x))


def _forces(air: Any, c_x: one, down_f: one, down_r: one, x: Any, w: Any, p: Any) -> AirForces:
    blow_x, blow_y = unrotated(w.wind_x, w.wind_y, x.yaw)
    v_x, v_y = x.v_x - blow_x, x.v_y - blow_y
    half = 0.5 * air.rho * air.A
    speed = smooth_hypot(v_x, v_y, air.v_still)
    F_x, F_y = -(half * c_x) * (speed * v_x), -(half * air.c_y) * (speed * v_y)
    tipped = ((air.h - p.z_cg) * (1.0 / (p.l_f + p.l_r))) * F_x
    pressing = half * (v_x * v_x)
    return AirForces(
        F_x, F_y, air.x_y * F_y, down_f * pressing + tipped, down_r * pressing - tipped
    )


class AirShape(NamedTuple):
    """Scalar parameters of an aero map: everything that does not depend on ride height."""

    ride_f: Annotated[m, positive] = 0.1
    """Ride height at the front axle at rest."""
    ride_r: Annotated[m, positive] = 0.1
    """Ride height at the rear axle at rest."""
    rho: Annotated[kg_m3, non_negative] = 1.2
    """Density of the air."""
    A: Annotated[m2, non_negative] = 1.0
    """Frontal area; 1 m² if the coefficients include the area."""
    c_y: Annotated[one, non_negative] = 0.0
    """Side force coefficient over the sine of the aerodynamic slip angle."""
    h: Annotated[m, non_negative] = 0.3
    """Height at which drag acts."""
    x_y: m = 0.0
    """Distance ahead of the centre of mass at which the side force acts."""
    v_still: Annotated[m_s, positive] = 0.01
    """Air speed below which the forces are smoothed."""


class AeroMap(NamedTuple):
    """`Aerodynamics` with coefficients that depend on the ride heights; made by `aero_map`.

    Its tables are over ride heights in m: rows for the front axle, columns for the rear axle.
    """

    shape: AirShape
    """Scalar parameters, independent of ride height."""
    c_x: Any
    """Drag coefficient."""
    c_z_f: Any
    """Downforce coefficient of the front axle, without the load transfer by drag."""
    c_z_r: Any
    """Downforce coefficient of the rear axle, without the load transfer by drag."""

    Wind = Wind
    replaces = PLAIN_FIELDS

    def forces(self, x: Any, w: Any, travel: Travel, p: Any) -> AirForces:
        """Aerodynamic forces from relative air velocity and ride heights; edge values outside."""
        front, rear = self.shape.ride_f - travel.front, self.shape.ride_r - travel.rear
        tables = (self.c_x, self.c_z_f, self.c_z_r)
        c_x, down_f, down_r = (at_column(rear, at_row(front, cells)) for cells in tables)
        return _forces(self.shape, c_x, down_f, down_r, x, w, p)

    def resistance(self, v_x: m_s, p: Any) -> N:
        c_x = at_column(self.shape.ride_r, at_row(self.shape.ride_f, self.c_x))
        return (0.5 * self.shape.rho * self.shape.A * c_x) * (v_x * abs(v_x))


Cells = Sequence[Sequence[float]]


def aero_map(
    front: Sequence[m],
    rear: Sequence[m],
    c_x: Cells,
    c_z_f: Cells,
    c_z_r: Cells,
    shape: AirShape = AirShape(),  # noqa: B008 (a tuple)
) -> Any:
    """Return aerodynamics by ride height: `c_x[i][j]` is for `front[i]` and `rear[j]`, in m.

    The chassis determines how far the body sinks; with `RollPitch` it also sinks under downforce.
    """
    cells = {"c_x": c_x, "c_z_f": c_z_f, "c_z_r": c_z_r}
    tables = {
        name: checked_table(name, (front, rear, values), (m, m, one))
        for name, values in cells.items()
    }
    return assembled(AeroMap(shape, **tables))
