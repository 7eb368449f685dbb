"""Python programs that are run in a process of their own, bounded in time."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import skidpad
from waiting import PATIENCE as PATIENCE

FLEET = """
    import numpy as np, skidpad as sp
    fleet = sp.Fleet(sp.vehicles.four_wheel(), dt=0.001, threads=2)
    x0, u = np.zeros((64, 11)), np.zeros((64, 5))
    x0[:, 3] = np.linspace(5.0, 20.0, 64)
    u[:, 0] = np.linspace(-0.05, 0.05, 64)
    check = lambda: fleet.rollout(x0, u, steps=300, every=100).tobytes()
"""
"""A fleet, start states, held inputs and what a short rollout gives."""

SCENE = """
    import numpy as np
    from skidpad.geometry.raycast.scene import Scene
    random = np.random.default_rng(1)
    ends = random.uniform(-50.0, 50.0, (3000, 2))
    scene = Scene(np.hstack([ends, ends + random.uniform(-2.0, 2.0, ends.shape)]))
    poses = random.uniform(-3.0, 3.0, (4000, 3))
    angles = np.linspace(-2.0, 2.0, 1080)
    scan = lambda: scene.scan(poses[:50], angles, threads=2).tobytes()
"""
"""A scene, poses and what a few scans give."""


HUNG = f"import faulthandler; faulthandler.dump_traceback_later({0.8 * PATIENCE}, exit=True)"
"""Whoever waits for ever says where, rather than to be stopped without a word."""


def program(*parts: str) -> str:
    """The text of a program of several indented parts."""
    return "\n".join(textwrap.dedent(part) for part in parts)


def environment(**variables: str) -> dict[str, str]:
    """The variables of this process, with this package first on the path."""
    return {**os.environ, "PYTHONPATH": str(Path(skidpad.__file__).parents[1]), **variables}


def run(*parts: str, file: Path | None = None, **variables: str) -> str:
    """What a program prints; it must end well and in time.

    As a file, where one is named: processes that are spawned import the program by it.
    """
    text = program(HUNG, *parts)
    if file is not None:
        file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", *(["-c", text] if file is None else [str(file)])],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
