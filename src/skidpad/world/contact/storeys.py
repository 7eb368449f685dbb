"""Which bodies are at the same height: Box2D knows the plane only, and asks here."""

from __future__ import annotations

from math import inf
from typing import Any

from ...units import m

_TOUCH: m = 1e-3
"""What overlaps by less in height lies on the other."""
_EVERYWHERE = (-inf, inf)


class Obstacle(str):
    """Name of an obstacle that somebody has; it is at the height of its owner."""

    owner: str

    def __new__(cls, name: str, owner: str) -> Obstacle:
        """The name of one for an owner."""
        made = super().__new__(cls, name)
        made.owner = owner
        return made


class Storeys:
    """Heights of bodies by name; who has none is met at whatever height."""

    def __init__(self) -> None:
        self.spans: dict[str, tuple[m, m]] = {}
        """Lowest and highest point of each."""

    def meet(self, a: str, b: str) -> bool:
        """Whether two bodies are at the same height somewhere."""
        low_a, high_a = self.spans.get(getattr(a, "owner", a), _EVERYWHERE)
        low_b, high_b = self.spans.get(getattr(b, "owner", b), _EVERYWHERE)
        return low_a < high_b - _TOUCH and low_b < high_a - _TOUCH


def contact_filter(box2d: Any, storeys: Storeys) -> Any:
    """What Box2D asks whether two shapes can touch."""

    class Filter(box2d.b2ContactFilter):
        def ShouldCollide(self, fixture_a: Any, fixture_b: Any) -> bool:
            a, b = fixture_a.filterData, fixture_b.filterData
            if not (a.maskBits & b.categoryBits and a.categoryBits & b.maskBits):
                return False
            return storeys.meet(fixture_a.body.userData, fixture_b.body.userData)

    return Filter()
