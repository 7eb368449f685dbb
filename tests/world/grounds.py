"""Pieces of ground, in the words of world files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def grade(along_x: float, along_y: float, reach: float = 40.0) -> str:
    """An elevation map of constant grade whose height is 0 at the origin."""
    ends = (-reach, reach)
    rows = ";".join(" ".join(str(along_x * x + along_y * y) for y in ends) for x in ends)
    return (
        f"<element class='elevation_map'><resolution>{2 * reach}</resolution>"
        f"<elevation_data_matrix>[{rows}]</elevation_data_matrix>"
        f"<corner_min_x>{-reach}</corner_min_x><corner_min_y>{-reach}</corner_min_y></element>"
    )


def plane(z: float, box: tuple[float, float, float, float] = (-9, 9, -9, 9)) -> str:
    names = ("x_min", "x_max", "y_min", "y_max")
    limits = "".join(f"<{n}>{v}</{n}>" for n, v in zip(names, box, strict=True))
    return f"<element class='horizontal_plane'>{limits}<z>{z}</z></element>"


def axes(yaw: float, pitch: float, roll: float) -> Any:
    """Body axes as columns: yaw about z, pitch about y, roll about x."""
    c, s = math.cos, math.sin
    z = np.array([[c(yaw), -s(yaw), 0], [s(yaw), c(yaw), 0], [0, 0, 1]])
    y = np.array([[c(pitch), 0, s(pitch)], [0, 1, 0], [-s(pitch), 0, c(pitch)]])
    x = np.array([[1, 0, 0], [0, c(roll), -s(roll)], [0, s(roll), c(roll)]])
    return z @ y @ x
