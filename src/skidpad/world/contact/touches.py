"""Contacts between named things, and the stream of their beginnings and ends.

Box2D knows pairs of shapes; a vehicle has several, and a grid has thousands. Here they are put
together by the names of the bodies. An impulse is what the contact did to the momentum of `b`:
`normal` along the normal, which points from `a` to `b`, and `tangential` to the left of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import hypot
from typing import Any, Literal, NamedTuple

from ...units import m, one, s

Pair = tuple[str, str]
ToWorld = Callable[[m, m], tuple[m, m]]
"""Conversion of coordinates of the solver to those of the world."""
MOST_EVENTS = 10_000
"""Events that are kept; the oldest make room for new ones."""


class Contact(NamedTuple):
    """Two things that touch, as they did in the last step."""

    a: str
    b: str
    """Names, `a` before `b` in the alphabet."""
    x: m
    y: m
    """Where they met when they began to touch, in the world."""
    normal_x: one
    normal_y: one
    """Direction from `a` to `b` there, of length 1, in the world."""
    normal_impulse: float
    """Normal impulse of the last step, in N·s; never negative."""
    tangential_impulse: float
    """Impulse of friction in the last step, in N·s."""


class ContactEvent(NamedTuple):
    """Two things began or ceased to touch."""

    kind: Literal["begin", "end"]
    time: s
    """End of the step in which it happened."""
    a: str
    b: str
    """Names, `a` before `b` in the alphabet."""
    x: m
    y: m
    """Where they met when they began to touch, in the world."""
    normal_x: one
    normal_y: one
    """Direction from `a` to `b` there, of length 1, in the world."""
    normal_impulse: float
    """In N·s: of the step in which they began to touch; at the end, of all steps together."""
    tangential_impulse: float
    """In N·s, likewise."""
    since: s
    """When they began to touch."""


class _Where(NamedTuple):
    """Point and normal."""

    x: m = 0.0
    y: m = 0.0
    normal_x: one = 0.0
    normal_y: one = 0.0


class _Impulse(NamedTuple):
    """Impulse of a contact, in N·s."""

    normal: float = 0.0
    tangential: float = 0.0


_NOTHING = _Impulse()


@dataclass
class _Meeting:
    """Where two shapes or things meet, weighed by how hard they press."""

    x: float = 0.0
    y: float = 0.0
    n_x: float = 0.0
    n_y: float = 0.0
    weight: float = 0.0

    def add(
        self, contact: Any, pressing: tuple[float, ...], flipped: bool, to_world: ToWorld
    ) -> None:
        """Take in the points of a manifold."""
        # The normal is a view into the manifold, which has to stay.
        manifold = contact.worldManifold
        normal, side = manifold.normal, -1.0 if flipped else 1.0
        points = manifold.points[: contact.manifold.pointCount]
        for (x, y), impulse in zip(points, pressing or (0.0,) * len(points), strict=False):
            # What does not press counts a little: it says where they are.
            weight = impulse + 1e-9
            x, y = to_world(x, y)
            self.x, self.y = self.x + weight * x, self.y + weight * y
            self.n_x += weight * side * normal.x
            self.n_y += weight * side * normal.y
            self.weight += weight

    def where(self) -> _Where:
        """The mean of what was taken in."""
        if self.weight == 0.0:
            return _Where()
        length = hypot(self.n_x, self.n_y) or 1.0
        at = self.x / self.weight, self.y / self.weight
        return _Where(*at, self.n_x / length, self.n_y / length)


class _Open(NamedTuple):
    """A contact that has not ended."""

    since: s
    where: _Where
    step: _Impulse = _NOTHING
    """Impulse of the last step."""
    total: _Impulse = _NOTHING
    """Impulse of all steps."""

    def after(self, impulse: _Impulse) -> _Open:
        """The same after another step."""
        total = _Impulse(*(a + b for a, b in zip(self.total, impulse, strict=True)))
        return _Open(self.since, self.where, impulse, total)


class Touches:
    """The contacts of a world, as Box2D's listener reports them.

    `begin`, `end` and `solved` are called while Box2D steps, `settle` after each step.
    """

    def __init__(self, events: deque[ContactEvent], to_world: ToWorld) -> None:
        self.events = events
        """Where beginnings and ends are noted."""
        self.new_events: list[ContactEvent] = []
        """Events of the last step in which something touched, began or ceased to."""
        self._to_world = to_world
        self.pressing = set[str]()
        """Bodies that do not bounce, as their motion is imposed."""
        self._shapes: dict[int, tuple[Pair, bool]] = {}
        """Pairs of shapes that touch, as Box2D has them now, and whether they are the other way
        round than the names."""
        self._open: dict[Pair, _Open] = {}
        self._new: dict[Pair, _Meeting] = {}
        self._impulses: dict[Pair, _Impulse] = {}

    def begin(self, contact: Any) -> None:
        """Two shapes begin to touch."""
        first, second = contact.fixtureA.body.userData, contact.fixtureB.body.userData
        if first in self.pressing or second in self.pressing:
            # A bounce would part what the next step presses together again, corner by corner.
            contact.restitution = 0.0
        flipped = second < first
        pair = (second, first) if flipped else (first, second)
        self._shapes[int(contact.this)] = pair, flipped
        if pair not in self._open:
            self._new.setdefault(pair, _Meeting()).add(contact, (), flipped, self._to_world)

    def end(self, contact: Any) -> None:
        """Two shapes cease to touch."""
        self._shapes.pop(int(contact.this), None)

    def solved(self, contact: Any, impulse: Any) -> None:
        """Two shapes pressed on each other in a step, or in a part of one."""
        known = self._shapes.get(int(contact.this))
        if known is None:
            return
        pair, flipped = known
        pressing = impulse.normalImpulses
        normal, tangential = self._impulses.get(pair, _NOTHING)
        # Box2D's tangent points to the right of its normal; on the other body both are turned.
        rubbing = sum(impulse.tangentImpulses)
        self._impulses[pair] = _Impulse(normal + sum(pressing), tangential - rubbing)
        if pair not in self._open:
            self._new.setdefault(pair, _Meeting()).add(contact, pressing, flipped, self._to_world)

    def settle(self, time: s, gone: Collection[str] = ()) -> None:
        """Note what began and ended in a step that ends at a time.

        `gone` are bodies that touch nothing any more, although Box2D has not noticed yet.
        """
        if not (self._shapes or self._open or self._new):
            return
        self.new_events = []
        now = {pair for pair, _ in self._shapes.values()}
        if gone:
            now = {pair for pair in now if pair[0] not in gone and pair[1] not in gone}
        for pair in sorted(self._open.keys() | self._new.keys() | now):
            known, impulse = self._open.get(pair), self._impulses.get(pair, _NOTHING)
            if known is None:
                known = _Open(time, self._new.get(pair, _Meeting()).where())
                begun = ContactEvent("begin", time, *pair, *known.where, *impulse, since=time)
                self.new_events.append(begun)
            known = self._open[pair] = known.after(impulse)
            if pair not in now:
                del self._open[pair]
                where, total = known.where, known.total
                ended = ContactEvent("end", time, *pair, *where, *total, known.since)
                self.new_events.append(ended)
        self.events.extend(self.new_events)
        self._new.clear()
        self._impulses.clear()

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Contacts after the last step."""
        return tuple(Contact(*pair, *it.where, *it.step) for pair, it in sorted(self._open.items()))

    def snapshot(self) -> Any:
        """Everything that changes."""
        return dict(self._open), tuple(self.events)

    def restore(self, snapshot: Any) -> None:
        """Put back what `snapshot` gave."""
        known, events = snapshot
        self._open, self.new_events = dict(known), []
        self.events.clear()
        self.events.extend(events)


def listener(box2d: Any, touches: Touches) -> Any:
    """The listener that Box2D calls while it steps."""

    class Listener(box2d.b2ContactListener):
        BeginContact = staticmethod(touches.begin)
        EndContact = staticmethod(touches.end)
        PostSolve = staticmethod(touches.solved)

    return Listener()
