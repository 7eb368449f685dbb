"""What the page is told of an environment: its track, its vehicle where it is, its lidar."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pytest

from learn.small_tasks import small_task
from skidpad.learn import Environments, Start, track_point
from skidpad.learn.course import Course
from skidpad.learn.gymnasium_envs import Pictures
from skidpad.learn.task import disc
from skidpad.units import m
from skidpad.view.live.messages import Frame, Take, decode
from skidpad.view.live.server import WatchedEpisode
from skidpad.view.live.session import LetGo
from skidpad.view.stage import Stage


@pytest.fixture(scope="module")
def environments() -> Environments:
    return Environments(small_task(), 8, autoreset="disabled")


def told(source: WatchedEpisode) -> tuple[list[Stage], list[Frame]]:
    items: list[Any] = list(source.outbox.take())
    stages = [i.fields["stage"] for i in items if not isinstance(i, Frame) and i.about == "stage"]
    return [Stage.from_json(json.loads(one)) for one in stages], [
        one for one in items if isinstance(one, Frame)
    ]


def test_vehicles_are_shown_where_they_are_on_their_track(environments: Environments) -> None:
    environments.reset(seed=0)
    environments.step(np.full((8, 2), 0.3))
    task, pictures = environments.task, Pictures(environments)
    source = WatchedEpisode(task)
    tracks = [pictures.moment(k).track for k in range(8)]
    assert set(tracks) == {0, 1}
    before, stage = None, Stage("", (), ())
    for k, track in enumerate(tracks):
        source.show(pictures.moment(k))
        stages, (frame,) = told(source)
        # Another track is another stage; the same is not told again.
        assert len(stages) == (track != before)
        stage, before = (stages[0] if stages else stage), track
        (body,) = stage.bodies
        moment = decode(frame.whole, len(stage.channels))
        x, y, yaw = environments.engine.motion_of(k)[:3]
        assert np.allclose(moment.row[[body.x, body.y, body.yaw]], [x, y, yaw], rtol=1e-6)
        assert moment.time == pytest.approx(task.dt)
        shares = environments.engine.observation[k, 2:]
        assert np.allclose(moment.scans[0].ranges, 20.0 * shares)
        ends = np.array([point for line in stage.lines for point in line.points])
        assert {*map(tuple, task.tracks[track or 0].walls[:, :2])} <= {*map(tuple, ends)}
        assert (stage.scans[0].count, stage.scans[0].max_range) == (5, 20.0)


class Goal(NamedTuple):
    s: m = 0.0


def test_marks_are_those_of_the_episode() -> None:
    """A task that remembers a goal shows it, another one in each episode, and no lane."""

    def begun(x: Any, course: Course, d: Any) -> Start:
        pose = track_point(course, d.s * course.length)
        return Start(x._replace(x=pose.x, y=pose.y, yaw=pose.yaw), d.s * course.length, Goal(d.s))

    task = small_task(
        Memory=Goal, start=begun, marks=lambda m, q: [disc("goal", m.s, 0.0, 1.0)], lidar=None
    )
    environments = Environments(task, 2)
    environments.reset(seed=0)
    pictures, source = Pictures(environments), WatchedEpisode(task)
    for k in range(2):
        seen = pictures.moment(k)
        ((mark,),) = (seen.marks,)
        assert np.mean(mark.points, axis=0)[0] == pytest.approx(
            float(environments.engine.m[0, k, -1]), rel=1e-6
        )
        source.show(seen)
        stages, _ = told(source)
        assert stages[0].polygons == (mark,)
    assert pictures.moment(0).marks != pictures.moment(1).marks
    assert pictures.frame(0).any()


def test_it_cannot_be_driven_there(environments: Environments) -> None:
    source = WatchedEpisode(environments.task)
    source.start()
    source.submit(3, Take())
    source.submit(3, LetGo())
    source.stop()
    items: list[Any] = list(source.outbox.take())
    (error,) = [item for item in items if item.about == "error"]
    assert error.to == 3
    assert "driven by its actions" in error.fields["text"]
