"""Write the task that the GPU tests load, and digests of what the processor makes of it.

A machine with a GPU need have neither CasADi nor llvmlite; it reads these files. A test on the CPU
checks that they are what this script would write now.

    python tools/make_tasks.py
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from skidpad.geometry.maps import random_track
from skidpad.learn import Environments, Task, save_task, tasks

FOLDER = Path(__file__).parent.parent / "tests" / "data" / "tasks"
TASK, RESULTS = FOLDER / "race.task", FOLDER / "cpu_results.npz"
WORLDS, STEPS, SEED = 40, 200, 11
MODES = ("next_step", "same_step", "disabled")
PRECISIONS = ("float32", "float64")
PARTS = ("observation", "reward", "terminated", "truncated", "state")


def race() -> Task:
    """Two tracks, few rays, short episodes, and everything that is drawn."""
    return tasks.race(
        tracks=[random_track(seed) for seed in range(2)], lidar=12, duration=0.5,
        randomised={"params.m": {"range": [200.0, 260.0]}},
        noise={"v_x": {"normal": {"mean": 0.0, "std": 0.1}}},
    )  # fmt: skip


def driven(environments: Environments) -> np.ndarray:
    """A word for each part of each step, (STEPS + 1, PARTS): the digest of its bits."""
    found = np.zeros((STEPS + 1, len(PARTS)), np.uint64)
    seen = on_host(environments.reset(seed=SEED))
    found[0, 0] = _word(seen)
    random = np.random.default_rng(12)
    kind = seen.dtype
    for step in range(1, STEPS + 1):
        actions = random.uniform(-1.2, 1.2, (WORLDS, 2)).astype(kind)
        stepped = environments.step(actions)
        parts = [on_host(getattr(stepped, name)) for name in PARTS[:4]]
        found[step] = [_word(part) for part in (*parts, on_host(environments.state))]
        over = parts[2] | parts[3]
        if environments.autoreset == "disabled" and over.any():
            environments.reset(mask=over)
    return found


def on_host(array: Any) -> np.ndarray:
    """An array of NumPy or CuPy as one of NumPy."""
    return array.get() if hasattr(array, "get") else np.asarray(array)


def _word(array: np.ndarray) -> int:
    digest = blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def main() -> None:
    """Write the task and the digests."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    task = race()
    save_task(task, TASK)
    found = {
        f"{mode}.{precision}": driven(
            Environments(task, WORLDS, autoreset=mode, precision=precision)
        )
        for mode in MODES
        for precision in PRECISIONS
    }
    np.savez_compressed(RESULTS, **found)


if __name__ == "__main__":
    main()
