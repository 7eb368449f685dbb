"""One world is for one thread at a time; two threads may step two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from run.fleet.test_threads import at_once
from run.simulator.test_threads import raised_elsewhere
from skidpad.bench.world import crowd
from skidpad.errors import SimulatorInUse
from skidpad.world.world import World

from .worlds import BOT, world


@pytest.mark.parametrize(
    "call",
    [
        lambda some: some.step(),
        lambda some: some.run(0.1),
        lambda some: some.restore(some.snapshot()),
        lambda some: some.reset(),
    ],
    ids=["step", "run", "restore", "reset"],
)
@pytest.mark.parametrize("steps", [lambda some: some.step(), lambda some: some.run(0.02)])
def test_a_call_while_another_thread_steps_it_is_refused(
    call: Callable[[World], Any], steps: Callable[[World], Any]
) -> None:
    some, alone = (crowd("differential", 3) for _ in range(2))
    errors: list[BaseException | None] = []
    sense = some.sensing.sense

    def sensed(at: Any) -> None:
        """In the middle of a step."""
        errors.append(raised_elsewhere(lambda: call(some)))
        sense(at)

    some.sensing.sense = sensed
    steps(some)
    steps(alone)
    assert errors
    assert {type(error) for error in errors} == {SimulatorInUse}
    assert "one world per thread" in str(errors[0])
    assert (some.time, some.motion().tobytes()) == (alone.time, alone.motion().tobytes())
    some.sensing.sense = sense
    assert raised_elsewhere(lambda: call(some)) is None


def test_a_failed_step_leaves_the_world_free() -> None:
    some = World(world(f"<vehicle name='v'><init_pose>0 0 0</init_pose>{BOT}</vehicle>"))
    sense = some.sensing.sense

    def fails(at: Any) -> None:
        raise RuntimeError("a sensor fails")

    some.sensing.sense = fails
    with pytest.raises(RuntimeError, match="a sensor fails"):
        some.step()
    some.sensing.sense = sense
    assert raised_elsewhere(some.step) is None


def test_two_threads_step_two_worlds() -> None:
    def work() -> bytes:
        some = crowd("differential", 6)
        some.run(0.5)
        return some.motion().tobytes()

    assert at_once([work, work]) == [work(), work()]
