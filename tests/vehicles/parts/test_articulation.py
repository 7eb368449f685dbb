"""A chain of bodies at joints against Newton's laws in the axes of the world."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from skidpad.vehicles.parts.load_transfer import Force
from skidpad.vehicles.parts.trailers import ChainMotion, Joint, Unit, chain_motion


class Chain(NamedTuple):
    units: list[Unit]
    angles: list[float]
    torques: list[float]

    def motion(self) -> ChainMotion:
        pairs = zip(self.angles[1:], self.torques, strict=True)
        joints = [Joint(np.cos(angle), np.sin(angle), torque) for angle, torque in pairs]
        return chain_motion(self.units, joints)

    @property
    def headings(self) -> np.ndarray[Any, Any]:
        return np.cumsum(self.angles)


def drawn(seed: int, count: int) -> Chain:
    """Some chain in any position, with angles far beyond a right one."""
    rng = np.random.default_rng(seed)
    units = [
        Unit(
            m=rng.uniform(1.0, 20.0),
            I_z=rng.uniform(0.5, 30.0),
            c=0.0 if k == 0 else rng.uniform(-1.0, 4.0),
            d=rng.uniform(-1.0, 4.0),
            omega=rng.normal(),
            force=Force(*rng.normal(size=2)),
            moment=rng.normal(),
        )
        for k in range(count)
    ]
    return Chain(units, [*rng.uniform(-3.0, 3.0, size=count)], [*rng.normal(size=count - 1)])


def rotated(angle: float, x: float, y: float) -> np.ndarray[Any, Any]:
    return np.array([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y])


def by_constraints(chain: Chain) -> np.ndarray[Any, Any]:
    """Accelerations (x, y, yaw) of all centres of mass in the world and the forces of the joints,
    from Newton's and Euler's equations with the constraints, all solved at once."""
    n = len(chain.units)
    size = 3 * n + 2 * (n - 1)
    matrix, right = np.zeros((size, size)), np.zeros(size)
    for k, (unit, heading) in enumerate(zip(chain.units, chain.headings, strict=True)):
        matrix[3 * k, 3 * k] = matrix[3 * k + 1, 3 * k + 1] = unit.m
        matrix[3 * k + 2, 3 * k + 2] = unit.I_z
        right[3 * k : 3 * k + 2] = rotated(heading, *unit.force)
        own, next_one = ([0.0, *chain.torques, 0.0][k + j] for j in (0, 1))
        right[3 * k + 2] = unit.moment + own - next_one
    for j in range(n - 1):
        row = 3 * n + 2 * j
        for k, sign, way in (
            (j, -1.0, -(chain.units[j].d - chain.units[j].c)),
            (j + 1, 1.0, chain.units[j + 1].c),
        ):
            arm = rotated(chain.headings[k], way, 0.0)
            across = np.array([-arm[1], arm[0]])
            # Force of the joint: forward on the unit behind it, back on that ahead.
            matrix[3 * k : 3 * k + 2, row : row + 2] -= sign * np.eye(2)
            matrix[3 * k + 2, row : row + 2] -= sign * across
            matrix[row : row + 2, 3 * k : 3 * k + 2] += sign * np.eye(2)
            matrix[row : row + 2, 3 * k + 2] += sign * across
            right[row : row + 2] += sign * chain.units[k].omega ** 2 * arm
    return np.linalg.solve(matrix, right)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_solution_with_constraints(seed: int, count: int) -> None:
    chain = drawn(seed, count)
    found, exact = chain.motion(), by_constraints(chain)
    a = rotated(chain.headings[0], *found.a)
    np.testing.assert_allclose(a, exact[:2], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.omega_rates, exact[2 : 3 * count : 3], rtol=1e-9, atol=1e-9)
    joints = exact[3 * count :].reshape(-1, 2)
    for force, heading, wanted in zip(found.forces, chain.headings[1:], joints, strict=True):
        np.testing.assert_allclose(rotated(heading, *force), wanted, rtol=1e-9, atol=1e-9)


def test_a_body_alone_obeys_newton() -> None:
    unit = drawn(1, 1).units[0]
    found = chain_motion([unit], [])
    assert found.a == pytest.approx((unit.force.x / unit.m, unit.force.y / unit.m))
    assert found.omega_rates == pytest.approx((unit.moment / unit.I_z,))
