"""Tyre forces under combined slip: Pacejka's Magic Formula with the coefficients of a tyre file.

H. B. Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section 4.3.2, reduced to the coefficients that
CommonRoad's vehicles use: no influence of load on the shape, no turn slip. All forces are thus
proportional to the load. Axes are those of the wheel, ISO 8855: x along, y to the left.

A coefficient set describes one tyre, which pulls slightly to one side when it rolls straight. The
numbers are taken to be those of a left tyre; the right one is its mirror image.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...ops import atan, sign, sin
from ...tyres.magic_formula.coefficients import bent, cos_atan, decay
from ...units import N, one, positive, rad
from ..parts.load_transfer import Force


class Coefficients(NamedTuple):
    """Magic Formula coefficients of one tyre; by default CommonRoad's, from MSC Adams."""

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
    """Horizontal shift: minus the slip of the free rolling tyre without vertical shift."""
    p_vx1: one = -8.8098e-06
    """Vertical shift: longitudinal force over load at zero slip."""
    r_bx1: one = 13.276
    """Stiffness factor of the loss of longitudinal force with slip angle."""
    r_bx2: one = -13.778
    """Decrease of that stiffness factor with longitudinal slip."""
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
    """Horizontal shift: slip angle added at any camber, in rad."""
    p_hy3: one = 0.031415
    """Horizontal shift per camber: slip angle added."""
    p_vy1: one = 0.037318
    """Vertical shift: lateral force over load added at any slip."""
    p_vy3: one = -0.32931
    """Vertical shift per camber: lateral force over load."""
    r_by1: one = 7.1433
    """Stiffness factor of the loss of lateral force with longitudinal slip."""
    r_by2: one = 9.1916
    """Decrease of that stiffness factor with slip angle."""
    r_by3: one = -0.027856
    """Slip angle about which that stiffness factor decreases, in rad."""
    r_cy1: one = 1.0719
    """Shape factor of that loss."""
    r_ey1: one = -0.27572
    """Curvature factor of that loss."""
    r_hy1: one = 5.7448e-06
    """Shift of that loss in longitudinal slip."""
    r_vy1: one = -0.027825
    """Lateral force over the friction limit caused by longitudinal slip."""
    r_vy3: one = -0.27568
    """Lateral force over the friction limit caused by longitudinal slip, per camber."""
    r_vy4: one = 12.12
    """Decrease of that force with slip angle."""
    r_vy5: one = 1.9
    """Shape factor of that force over longitudinal slip."""
    r_vy6: one = -10.704
    """Stiffness factor of that force over longitudinal slip."""


class Slip(NamedTuple):
    """Slip and camber of a wheel."""

    kappa: one
    """Longitudinal slip: (rim speed - road speed) / road speed; positive when driving."""
    alpha: rad
    """Slip angle, positive when the contact patch moves to the left of the wheel plane."""
    gamma: rad
    """Camber."""


class Quirks(NamedTuple):
    """Deviations of CommonRoad's program from the Magic Formula; all off by default."""

    shift_in_sine: bool = False
    """The force p_vx1 F_z is added to the argument of the sine, where an angle belongs."""
    ply_by_camber: bool = False
    """The side-dependent shifts take their sign from the camber, not from the side."""
    drive_reversed: bool = False
    """The sign of longitudinal slip is reversed where it affects the lateral force."""


STANDARD = Quirks()
UPSTREAM_TYRE = Quirks(shift_in_sine=True, ply_by_camber=True, drive_reversed=True)


def tyre_force(slip: Slip, F_z: N, p: Coefficients, quirks: Quirks = STANDARD) -> Force:
    """Force of a left tyre, in the axes of the wheel."""
    pure_x = pure_longitudinal(slip, F_z, p, quirks)
    pure_y, mu_y = pure_lateral(slip, F_z, p, quirks)
    kappa = -slip.kappa if quirks.drive_reversed else slip.kappa
    side = p.r_vy1 + p.r_vy3 * slip.gamma
    from_drive = mu_y * F_z * side * cos_atan(p.r_vy4 * slip.alpha)
    # Slip in one direction reduces the force in the other.
    B_x = p.r_bx1 * cos_atan(p.r_bx2 * slip.kappa)
    B_y = p.r_by1 * cos_atan(p.r_by2 * (slip.alpha - p.r_by3))
    return Force(
        pure_x * decay(slip.alpha, p.r_hx1, B_x, p.r_cx1, p.r_ex1),
        pure_y * decay(kappa, p.r_hy1, B_y, p.r_cy1, p.r_ey1)
        + from_drive * sin(p.r_vy5 * atan(p.r_vy6 * kappa)),
    )


def right_tyre_force(slip: Slip, F_z: N, p: Coefficients) -> Force:
    """Force of a right tyre, the mirror image of a left one, in the axes of the wheel."""
    image = tyre_force(Slip(slip.kappa, -slip.alpha, -slip.gamma), F_z, p)
    return Force(image.x, -image.y)


def axle_force(slip: Slip, F_z: N, p: Coefficients) -> Force:
    """Force of an axle whose left and right tyre share the load and have the same slip."""
    left, right = tyre_force(slip, F_z, p), right_tyre_force(slip, F_z, p)
    return Force(0.5 * (left.x + right.x), 0.5 * (left.y + right.y))


def pure_longitudinal(slip: Slip, F_z: N, p: Coefficients, quirks: Quirks = STANDARD) -> N:
    """Longitudinal force without slip angle."""
    mu = p.p_dx1 * (1.0 - p.p_dx3 * slip.gamma * slip.gamma)
    argument = p.p_cx1 * bent(p.p_kx1 / (p.p_cx1 * mu) * (slip.kappa + p.p_hx1), p.p_ex1)
    shift: Any = F_z * p.p_vx1
    if quirks.shift_in_sine:
        return mu * F_z * sin(argument + shift)
    return mu * F_z * sin(argument) + shift


def pure_lateral(slip: Slip, F_z: N, p: Coefficients, quirks: Quirks = STANDARD) -> tuple[N, one]:
    """Lateral force without longitudinal slip, and the friction at its peak."""
    ply = sign(slip.gamma) if quirks.ply_by_camber else 1.0
    mu = p.p_dy1 * (1.0 - p.p_dy3 * slip.gamma * slip.gamma)
    alpha = slip.alpha + ply * p.p_hy1 + p.p_hy3 * slip.gamma
    argument = p.p_cy1 * bent(p.p_ky1 / (p.p_cy1 * mu) * alpha, p.p_ey1)
    shift = F_z * (ply * p.p_vy1 + p.p_vy3 * slip.gamma)
    return mu * F_z * sin(argument) + shift, mu
