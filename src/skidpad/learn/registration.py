"""The ids by which Gymnasium knows the tasks.

Gymnasium looks for no plug-ins: `import skidpad` after it, or `import skidpad.learn` in any order,
registers the ids.
"""

from __future__ import annotations

IDS = {
    "skidpad/Race-v0": "race",
    "skidpad/Drift-v0": "drift",
    "skidpad/LaneChange-v0": "lane_change",
    "skidpad/Track-v0": "follow",
    "skidpad/Park-v0": "park",
    "skidpad/Navigate-v0": "navigate",
}
"""Ids and the functions of `skidpad.learn.tasks` behind them."""


def register() -> None:
    """Register the ids that Gymnasium does not know yet; without Gymnasium do nothing."""
    try:
        from gymnasium.envs import registration
        from gymnasium.vector import AutoresetMode as _  # noqa: F401
    except ImportError:
        return  # Not installed, or older than 1.1: none of ours would work there.
    for name, task in IDS.items():
        if name not in registration.registry:
            # Episodes have their own limit: a wrapper of Gymnasium's would count it again.
            registration.register(
                name,
                entry_point="skidpad.learn.gymnasium_envs:SkidpadEnv",
                vector_entry_point="skidpad.learn.gymnasium_envs:SkidpadVectorEnv",
                kwargs={"task": task},
            )
