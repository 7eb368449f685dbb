"""Motion that nothing can stop: keyframes of blocks, and actors on paths of waypoints."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, cos, hypot, pi, sin

from ...geometry.pose import placed
from ...units import m, s
from ..contact.solids import Moving
from ..scene import ActorSpec, Keyframe, Pose


def keyframe_pose(initial: Pose, frames: Sequence[Keyframe], time: s) -> Moving:
    """Where an animated object is: its initial pose moved on as the frames say, over and over."""
    a, b, share = _between(frames, time)
    x = a.x + share * (b.x - a.x)
    y = a.y + share * (b.y - a.y)
    # The shorter way round.
    turn = (b.yaw - a.yaw + pi) % (2.0 * pi) - pi
    start = initial.x, initial.y, initial.yaw
    return Moving(*placed(start, (x, y, a.yaw + share * turn)))


def keyframe_height(frames: Sequence[Keyframe], time: s) -> m:
    """How far an animated object is above its initial pose."""
    a, b, share = _between(frames, time)
    return a.z + share * (b.z - a.z)


def _between(frames: Sequence[Keyframe], time: s) -> tuple[Pose, Pose, float]:
    """The poses before and after a time, and how far it is from the one to the other."""
    last = frames[-1].time
    now = time % last if last > 0.0 else 0.0
    at = max((k for k, frame in enumerate(frames) if frame.time <= now), default=0)
    a, b = frames[at], frames[min(at + 1, len(frames) - 1)]
    span = b.time - a.time
    return a.pose, b.pose, max((now - a.time) / span, 0.0) if span > 0.0 else 0.0


def actor_pose(actor: ActorSpec, time: s) -> Moving:
    """Where an actor is on its path: straight from waypoint to waypoint, with its pauses."""
    legs, total = _legs(actor)
    if not legs or total <= 0.0:
        return Moving(actor.pose.x, actor.pose.y, actor.pose.yaw)
    now = time % total if actor.loop else min(time, total)
    for start, end, begin, arrive, leave, speed in legs:
        if now <= arrive:
            share = (now - begin) / (arrive - begin) if arrive > begin else 1.0
            heading = atan2(end.y - start.y, end.x - start.x)
            x, y = start.x + share * (end.x - start.x), start.y + share * (end.y - start.y)
            return Moving(x, y, heading, speed * cos(heading), speed * sin(heading))
        if now <= leave:
            return Moving(end.x, end.y, end.yaw)
    end = legs[-1][1]
    return Moving(end.x, end.y, end.yaw)


def _legs(actor: ActorSpec) -> tuple[list[tuple[Pose, Pose, s, s, s, float]], s]:
    """Start, end, times of leaving, arriving and moving on, and the speed of each leg."""
    legs: list[tuple[Pose, Pose, s, s, s, float]] = []
    at, time = actor.pose, 0.0
    for stop in actor.path:
        speed = actor.running_speed if stop.animation == "run" else actor.walking_speed
        arrive = time + hypot(stop.pose.x - at.x, stop.pose.y - at.y) / speed
        legs.append((at, stop.pose, time, arrive, arrive + stop.pause, speed))
        at, time = stop.pose, arrive + stop.pause
    if actor.loop and legs:
        arrive = time + hypot(actor.pose.x - at.x, actor.pose.y - at.y) / actor.walking_speed
        legs.append((at, actor.pose, time, arrive, arrive, actor.walking_speed))
        time = arrive
    return legs, time
