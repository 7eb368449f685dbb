"""Robots with sensors, in the words of world files."""

from __future__ import annotations

from typing import Any

import skidpad as sp
from skidpad.world.scene import Scene

LASER = (
    "<sensor class='laser' name='scan'><fov_degrees>{fov}</fov_degrees><nrays>{rays}</nrays>"
    "<max_range>20</max_range><range_std_noise>{noise}</range_std_noise>"
    "<angle_std_noise_deg>{shake}</angle_std_noise_deg></sensor>"
)
QUIET = (
    "<angular_velocity_white_noise_std_noise>0</angular_velocity_white_noise_std_noise>"
    "<linear_acceleration_white_noise_std_noise>0</linear_acceleration_white_noise_std_noise>"
)
IDEAL = "<controller class='twist_ideal'/>"


def laser(fov: float = 180.0, rays: int = 3, noise: float = 0.0, shake: float = 0.0) -> str:
    return LASER.format(fov=fov, rays=rays, noise=noise, shake=shake)


def imu(inside: str = QUIET, period: float = 0.1) -> str:
    return (
        f"<sensor class='imu' name='imu'><sensor_period>{period}</sensor_period>{inside}</sensor>"
    )


def gnss(noise: float = 0.0) -> str:
    return (
        f"<sensor class='gnss' name='gps'><horizontal_std_noise>{noise}</horizontal_std_noise>"
        f"<vertical_std_noise>{noise}</vertical_std_noise></sensor>"
    )


def robot(sensors: str = "", name: str = "r", pose: str = "0 0 0", control: str = "") -> str:
    """A robot whose chassis is a square of 1 m with its wheels within."""
    wheels = "".join(
        f"<{side}_wheel pos='0 {y}' diameter='0.2' width='0.1'/>"
        for side, y in (("l", 0.3), ("r", -0.3))
    )
    corners = "".join(f"<pt>{x} {y}</pt>" for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
    square = f"<chassis mass='10'><shape>{corners.replace('1', '0.5')}</shape></chassis>"
    return (
        f"<vehicle name='{name}'><init_pose>{pose}</init_pose>"
        f"<dynamics class='differential'>{wheels}{square}{control}</dynamics>{sensors}</vehicle>"
    )


def after(scene: Scene, duration: float, seed: int = 0, **command: float) -> sp.World:
    made = sp.World(scene, seed=seed)
    if command:
        made.vehicles["r"].command(**command)
    made.run(duration)
    return made


def shown(made: sp.World, sensor: str, vehicle: str = "r") -> Any:
    return made.sensing.of(vehicle)[sensor]
