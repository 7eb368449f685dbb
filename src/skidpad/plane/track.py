from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Track:
    centre: Any
    left: Any
    right: Any
    closed: bool = True
    walls: Any = None
    grid: Any = None
    name: str = ""
    @property
    def map(self):
        from types import SimpleNamespace
        return SimpleNamespace(segments=self.walls, grid=self.grid)
