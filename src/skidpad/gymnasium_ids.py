"""The ids by which Gymnasium knows the tasks, registered once both packages are loaded.

Gymnasium looks for no plug-ins, so whoever is imported second finds the other: `import skidpad`
registers the ids if Gymnasium is there, or waits for its import. It never imports Gymnasium itself.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    # To import these takes as long as all the rest of `import skidpad`.
    Loader = MetaPathFinder = object

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
    """Tell Gymnasium, which is loaded, the ids that it does not know yet."""
    try:
        from gymnasium.envs import registration
        from gymnasium.vector import AutoresetMode as _  # noqa: F401
    except ImportError:
        return  # Older than 1.1: none of ours would work there.
    for name, task in IDS.items():
        if name not in registration.registry:
            # Episodes have their own limit: a wrapper of Gymnasium's would count it again.
            registration.register(
                name,
                entry_point="skidpad.learn.gymnasium_env:SkidpadEnv",
                vector_entry_point="skidpad.learn.gymnasium_vector:SkidpadVectorEnv",
                kwargs={"task": task},
            )


def register_once_loaded() -> None:
    """Register now if Gymnasium is loaded, else right after its import."""
    if "gymnasium" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _Awaited())


class _Awaited(MetaPathFinder):
    """Finds Gymnasium as the others do, with a loader that registers afterwards."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Where Gymnasium is; None for every other module."""
        if name != "gymnasium":
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self)
                return spec
        return None


class _Loader(Loader):
    def __init__(self, loader: Loader, finder: _Awaited) -> None:
        self._loader, self._finder = loader, finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As the loader does; then the ids are registered."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        register()
