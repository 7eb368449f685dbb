"""Tyre forces under combined slip: Pacejka's Magic Formula with the coefficients of a tyre file.

H. B. Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section 4.3.2, reduced to the coefficients that
CommonRoad's vehicles use: no influence of load on the shape, no turn slip. All forces are thus
proportional to the load. Axes are those of the wheel, ISO 8855: x along, y to the left.

A coefficient set describes one tyre, which pulls a little to one side when it rolls straight. The
numbers are taken to be those of a tyre on the left; the one on the right is its mirror image.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...ops import atan, cos, sign, sin, sqrt
from ...units import N, one, positive, rad
from ..parts.load_transfer import Force


class Coefficients(NamedTuple):
    """One tyre. The defaults are CommonRoad's, which come from the handbook of MSC Adams."""

    p_cx1: Annotated[one, positive] = 1.6411
    """Shape factor of the longitudinal force."""
    p_dx1: Annotated[one, positive] = 1.1739
    """Longitudinal friction at the peak."""
    p_dx3: one = 0.0
    """Loss of longitudinal friction with squared camber."""
    p_ex1: one = 0.46403
    """Curvature factor of the longitudinal force."""
    p_kx1: one = 22.303
    """Slip stiffness over load."""
    p_hx1: one = 0.0012297
    """Longitudinal slip at which a tyre without vertical shift rolls free, with opposite sign."""
    p_vx1: one = -8.8098e-06
    """Longitudinal force over load that is added whatever the slip."""
    r_bx1: one = 13.276
    """Stiffness factor of the loss of longitudinal force with slip angle."""
    r_bx2: one = -13.778
    """How that stiffness falls with longitudinal slip."""
    r_cx1: one = 1.2568
    """Shape factor of that loss."""
    r_ex1: one = 0.65225
    """Curvature factor of that loss."""
    r_hx1: one = 0.0050722
    """Shift of that loss in slip angle, in rad."""
    p_cy1: Annotated[one, positive] = 1.3507
    """Shape factor of the lateral force."""
    p_dy1: Annotated[one, positive] = 1.0489
    """Lateral friction at the peak."""
    p_dy3: one = -2.8821
    """Loss of lateral friction with squared camber."""
    p_ey1: one = -0.0074722
    """Curvature factor of the lateral force."""
    p_ky1: one = -21.92
    """Cornering stiffness over load in 1/rad; negative, as the force opposes the slip."""
    p_hy1: one = 0.0026747
    """Slip angle added whatever the camber, in rad."""
    p_hy3: one = 0.031415
    """Slip angle added per camber."""
    p_vy1: one = 0.037318
    """Lateral force over load that is added whatever the slip."""
    p_vy3: one = -0.32931
    """Lateral force over load that is added per camber."""
    r_by1: one = 7.1433
    """Stiffness factor of the loss of lateral force with longitudinal slip."""
    r_by2: one = 9.1916
    """How that stiffness falls with slip angle."""
    r_by3: one = -0.027856
    """Slip angle from which it falls, in rad."""
    r_cy1: one = 1.0719
    """Shape factor of that loss."""
    r_ey1: one = -0.27572
    """Curvature factor of that loss."""
    r_hy1: one = 5.7448e-06
    """Shift of that loss in longitudinal slip."""
    r_vy1: one = -0.027825
    """Lateral force over the friction limit that drive or brake causes."""
    r_vy3: one = -0.27568
    """The same per camber."""
    r_vy4: one = 12.12
    """How it falls with slip angle."""
    r_vy5: one = 1.9
    """Shape factor of that force over longitudinal slip."""
    r_vy6: one = -10.704
    """Its stiffness factor over longitudinal slip."""


class Slip(NamedTuple):
    """How the contact patch of a wheel moves over the road."""

    kappa: one
    """Longitudinal slip: what the rim is faster than the road over the speed of the road."""
    alpha: rad
    """Slip angle, positive when the contact patch moves to the left of the wheel plane."""
    gamma: rad
    """Camber."""


class Quirks(NamedTuple):
    """Where CommonRoad's program departs from the Magic Formula; all off by default."""

    shift_in_sine: bool = False
    """The force p_vx1 F_z is added to the argument of the sine, where an angle belongs."""
    ply_by_camber: bool = False
    """The shifts that a tyre has on one side go by the sign of its camber, not by its side."""
    drive_reversed: bool = False
    """Longitudinal slip has the opposite sign where it acts on the lateral force."""


STANDARD = Quirks()


def tyre_force(slip: Slip, F_z: N, p: Coefficients, quirks: Quirks = STANDARD) -> Force:
    """Force of a left tyre, in the axes of the wheel."""
    pure_x = pure_longitudinal(slip, F_z, p, quirks)
    pure_y, mu_y = pure_lateral(slip, F_z, p, quirks)
    kappa = -slip.kappa if quirks.drive_reversed else slip.kappa
    side = p.r_vy1 + p.r_vy3 * slip.gamma
    from_drive = mu_y * F_z * side * _cos_atan(p.r_vy4 * slip.alpha)
    return Force(
        pure_x * _left_by_cornering(slip.kappa, slip.alpha, p),
        pure_y * _left_by_drive(kappa, slip.alpha, p)
        + from_drive * sin(p.r_vy5 * atan(p.r_vy6 * kappa)),
    )


def right_tyre_force(slip: Slip, F_z: N, p: Coefficients) -> Force:
    """Force of a right tyre: the mirror image of a left one."""
    image = tyre_force(Slip(slip.kappa, -slip.alpha, -slip.gamma), F_z, p)
    return Force(image.x, -image.y)


def axle_force(slip: Slip, F_z: N, p: Coefficients) -> Force:
    """Force of an axle whose left and right tyre share the load and have the same slip."""
    left, right = tyre_force(slip, F_z, p), right_tyre_force(slip, F_z, p)
    return Force(0.5 * (left.x + right.x), 0.5 * (left.y + right.y))


def pure_longitudinal(slip: Slip, F_z: N, p: Coefficients, quirks: Quirks = STANDARD) -> N:
    """Longitudinal force without slip angle."""
    mu = p.p_dx1 * (1.0 - p.p_dx3 * slip.gamma * slip.gamma)
    argument = _bent(p.p_kx1 / (p.p_cx1 * mu) * (slip.kappa + p.p_hx1), p.p_cx1, p.p_ex1)
    shift: Any = F_z * p.p_vx1
    if quirks.shift_in_sine:
        return mu * F_z * sin(argument + shift)
    return mu * F_z * sin(argument) + shift


def pure_lateral(slip: Slip, F_z: N, p: Coefficients, quirks: Quirks = STANDARD) -> tuple[N, one]:
    """Lateral force without longitudinal slip, and the friction at its peak."""
    ply = sign(slip.gamma) if quirks.ply_by_camber else 1.0
    mu = p.p_dy1 * (1.0 - p.p_dy3 * slip.gamma * slip.gamma)
    alpha = slip.alpha + ply * p.p_hy1 + p.p_hy3 * slip.gamma
    argument = _bent(p.p_ky1 / (p.p_cy1 * mu) * alpha, p.p_cy1, p.p_ey1)
    shift = F_z * (ply * p.p_vy1 + p.p_vy3 * slip.gamma)
    return mu * F_z * sin(argument) + shift, mu


def _left_by_cornering(kappa: one, alpha: rad, p: Coefficients) -> one:
    """Share of the longitudinal force that a slip angle leaves; 1 without slip angle."""
    B = p.r_bx1 * _cos_atan(p.r_bx2 * kappa)
    return _loss(B, p.r_cx1, p.r_ex1, alpha, p.r_hx1)


def _left_by_drive(kappa: one, alpha: rad, p: Coefficients) -> one:
    """Share of the lateral force that longitudinal slip leaves; 1 without."""
    B = p.r_by1 * _cos_atan(p.r_by2 * (alpha - p.r_by3))
    return _loss(B, p.r_cy1, p.r_ey1, kappa, p.r_hy1)


def _loss(B: one, C: one, E: one, slip: one, shift: one) -> one:
    return cos(_bent(B * (slip + shift), C, E)) / cos(_bent(B * shift, C, E))


def _bent(t: one, C: one, E: one) -> rad:
    """The argument of sine or cosine in the Magic Formula."""
    return C * atan(t - E * (t - atan(t)))


def _cos_atan(x: one) -> one:
    return 1.0 / sqrt(1.0 + x * x)
