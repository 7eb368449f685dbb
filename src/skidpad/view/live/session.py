"""Session: an arena that runs in its own thread, synchronised with the clock.

`Pace` schedules the steps, `Recordings` writes a file at a time and begins a new one when the stage
changes or the world restarts. `Source` is the interface a server shows; a `Session` is one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from math import floor
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Thread
from time import perf_counter
from typing import Any, Protocol

from ...control.keyboard import Axes
from ...errors import InvalidValue, SkidpadError
from ...units import one, per_s, s
from ..recording.recorder import WorldRecorder
from . import messages as said
from .arena import Arena
from .messages import DIVERGED, PAUSED, RECORDING, Frame, Message, Moment, Outbox

MOST_DEBT: s = 0.1
"""Backlog that a slow world makes up for; beyond it, it runs slower than requested."""
_WINDOW: s = 0.5
"""Period over which the achieved speed is measured."""


class Pace:
    """Schedule of the steps. Times of the clock are in s.

    Steps are counted from a fixed moment, so that rounding does not add up. A world that is too
    slow skips the backlog beyond `MOST_DEBT`, since catching up would only make it later.
    """

    def __init__(self, dt: s, now: s, factor: one = 1.0) -> None:
        self._dt, self._factor = dt, factor
        self._begin, self._count = now, 0
        self._mark, self._marked = now, 0
        self.reached: one = 0.0
        """Achieved multiple of real time, over about the last half second."""

    @property
    def factor(self) -> one:
        """Requested multiple of real time."""
        return self._factor

    def restart(self, now: s, factor: one | None = None) -> None:
        """Restart the count, after a pause or with another speed."""
        self._factor = self._factor if factor is None else factor
        self._begin, self._count = now, 0
        self._mark, self._marked = now, 0

    def due(self, now: s) -> int:
        """Number of steps due now."""
        behind = floor((now - self._begin) * self._factor / self._dt) - self._count
        most = max(1, floor(MOST_DEBT * self._factor / self._dt))
        if behind > most:
            self._begin += (behind - most) * self._dt / self._factor
            behind = most
        return max(behind, 0)

    def done(self, steps: int, now: s) -> None:
        """Record completed steps."""
        self._count += steps
        self._marked += steps
        if now - self._mark >= _WINDOW:
            self.reached = self._marked * self._dt / (now - self._mark)
            self._mark, self._marked = now, 0

    def wait(self, now: s) -> s:
        """Waiting time in s until the next step is due."""
        return max(0.0, self._begin + (self._count + 1) * self._dt / self._factor - now)


class Source(Protocol):
    """Interface of a running world to the network thread."""

    outbox: Outbox
    rate: per_s

    def start(self) -> None:
        """Queue the description of the stage; called when the server listens."""
        ...

    def stop(self) -> None:
        """Stop; called when the server ends."""
        ...

    def submit(self, client: int, message: Message) -> None:
        """Handle a client's message."""
        ...


RATE: per_s = 30.0
"""Samples per second of simulated time."""


class Recordings:
    """The current recording, if there is one. An error ends the recording but not the session.

    Args:
        folder: folder of the recordings.
        wanted: file name of the first recording, or None for one from the time.
    """

    def __init__(self, folder: Path, wanted: Path | None) -> None:
        self._folder, self._wanted = folder, wanted
        self._recorder: WorldRecorder | None = None
        self.news = ""
        """File of the latest recording, or why it ended."""

    @property
    def file(self) -> Path | None:
        """File being recorded to, or None."""
        return None if self._recorder is None else self._recorder.path

    def begin(self, arena: Arena) -> None:
        """Start recording; does nothing if a recording is running."""
        if self._recorder is None:
            path = free_name(self._folder, self._wanted)
            stage = arena.stage
            self._recorder = WorldRecorder(
                arena.world, path, rate=RATE, title=stage.title, lines=stage.lines
            )
            self.news = f"recording to {path}"

    def end(self) -> None:
        if self._recorder is None:
            return
        recorder, self._recorder = self._recorder, None
        self.news = f"recorded to {recorder.path}"
        try:
            recorder.close()
        except Exception as error:  # A full disk must not end the session.
            self._failed(recorder, error)

    def renew(self, arena: Arena) -> None:
        """Continue in a new file, after a change of stage or a restart of the clock."""
        if self._recorder is not None:
            self.end()
            self.begin(arena)

    def sample(self) -> bool:
        """Record the moment if it is due; returns False if the recording failed."""
        if self._recorder is None:
            return True
        try:
            self._recorder.sample()
        except Exception as error:  # A full disk must not end the session.
            self._failed(self._recorder, error)
            return False
        return True

    def settle(self) -> None:
        """Write what was sampled, before a change of the parameters that the rows depend on."""
        if self._recorder is not None:
            self._recorder.flush()

    def _failed(self, recorder: WorldRecorder, error: Exception) -> None:
        _log.warning("recording to %s failed: %s", recorder.path, error)
        self._recorder = None
        self.news = f"the recording to {recorder.path} ended: {error}"


def free_name(folder: Path, name: Path | None = None) -> Path:
    """A file name that does not exist: `name` or one from the time, numbered if needed."""
    first = name or folder / f"skidpad-{datetime.now():%Y%m%d-%H%M%S}.mcap"
    if not first.exists():
        return first
    numbered = (first.with_stem(f"{first.stem}-{k}") for k in range(2, 10_000))
    return next(path for path in numbered if not path.exists())


DEAD_MAN: s = 0.5
"""Time without input from the driver after which the vehicle brakes."""
_SLICE: s = 0.02
"""Longest run of steps before commands are handled."""
_STATUS: s = 0.5
"""Period of status messages."""
_NEWS: s = 0.1
"""Least time between two vehicle lists, however often a slider moves."""
_KEEP: s = 0.1
"""Time between snapshots, which are restored if the world diverges."""
_WAITING = 1000
"""Most queued commands."""

_log = logging.getLogger(__name__)


class LetGo(said.Message):
    """Command from the room, not from a client: the driver has left."""


class Session:
    """Thread that runs an arena in real time.

    Args:
        arena: the arena to run.
        rate: frame rate.
        factor: multiple of real time.
        folder: folder of the recordings.
        record: a file to record to from the start.
        clock: a monotonic clock in s.
    """

    def __init__(
        self,
        arena: Arena,
        *,
        rate: per_s = 60.0,
        factor: one = 1.0,
        folder: Path | None = None,
        record: Path | None = None,
        clock: Callable[[], s] = perf_counter,
    ) -> None:
        self.arena, self.rate = arena, rate
        self.outbox = Outbox()
        self._clock = clock
        self._recordings = Recordings(folder or Path(), record)
        self._commands: Queue[tuple[int, said.Message]] = Queue(_WAITING)
        self._wake, self._ending = Event(), False
        self._pace = Pace(arena.world.dt, clock(), factor)
        self._paused, self._diverged = False, False
        self._sequence, self._changed = 0, True
        self._moved = False  # since the last frame
        self._held_since: s | None = None
        self._unanswered: tuple[int, float] | None = None
        self._acted = False
        self._next_frame = self._next_status = self._next_keep = self._next_vehicles = clock()
        self._vehicles_changed = False
        self._kept: Any = arena.world.snapshot()
        if record is not None:
            self._recordings.begin(arena)
        self._thread = Thread(target=self._run, name="skidpad session", daemon=True)

    def start(self) -> None:
        self.outbox.say_stage(self.arena.stage)
        self._tell_vehicles(self._clock())
        self._report(self._clock())
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and close the recording."""
        self._ending = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)
        else:
            self._recordings.end()

    @property
    def news(self) -> str:
        """File of the latest recording or why it ended; empty if there was none."""
        return self._recordings.news

    def submit(self, client: int, message: said.Message) -> None:
        """Queue a client's message, to take effect before the next step; callable from any
        thread."""
        try:
            self._commands.put_nowait((client, message))
        except Full:
            raise InvalidValue("the simulation is busy; try again") from None
        self._wake.set()

    def _run(self) -> None:
        try:
            self._pace.restart(self._clock())
            while not self._ending:
                try:
                    self._turn()
                except Exception as error:  # of any kind: viewers stay connected
                    self._fail(error)
                    self._wake.wait(_STATUS)
        finally:
            self._recordings.end()

    def _turn(self) -> None:
        """One cycle of the session: apply commands, advance the world, publish what is due, and
        wait."""
        self._obey()
        now = self._clock()
        if self._held_since is not None and now - self._held_since > DEAD_MAN:
            self._held_since = None
            self.arena.let_go()
        if not self._paused:
            self._advance(now)
        now = self._clock()
        hurry = self._unanswered is not None and self._acted
        if self._changed or hurry or (self._moved and now >= self._next_frame):
            self._publish(now)
        if now >= self._next_status:
            self._report(now)
        if self._vehicles_changed and now >= self._next_vehicles:
            self._tell_vehicles(now)
        self._wake.wait(self._rest(self._clock()))
        self._wake.clear()

    def _rest(self, now: s) -> s:
        until = self._next_status - now
        if self._vehicles_changed:
            until = min(until, self._next_vehicles - now)
        if not self._paused:
            until = min(until, self._pace.wait(now))
        if self._moved:
            until = min(until, self._next_frame - now)
        return max(until, 0.0)

    def _advance(self, now: s) -> None:
        done = 0
        for _ in range(self._pace.due(now)):
            if not self._stepped():
                return
            done += 1
            if self._clock() - now > _SLICE:
                break
        if done:
            self._pace.done(done, self._clock())

    def _stepped(self) -> bool:
        """Advance by one step; returns False if the world failed."""
        now = self._clock()
        if now >= self._next_keep:
            self._next_keep = now + _KEEP
            self._kept = self.arena.world.snapshot()
        try:
            self.arena.step()
        except Exception as error:  # Report any error to the viewers and continue.
            self._fail(error)
            return False
        self._acted = self._moved = True
        for text in self.arena.stopped():
            self.outbox.say("note", text=text)
        if not self._recordings.sample():
            self._report(self._clock())
        return True

    def _fail(self, error: Exception) -> None:
        world = self.arena.world
        at = world.time
        if not isinstance(error, SkidpadError):
            _log.exception("a step failed")
        world.restore(self._kept)
        self._paused = self._diverged = self._changed = True
        why = self.arena.diagnosis(error) or _sentence(error)
        text = f"The world stopped at t = {at:.2f} s. {why} Reset to start again."
        _log.warning("%s", text)
        self.outbox.say("diverged", text=text)
        self._report(self._clock())

    def _obey(self) -> None:
        while True:
            try:
                client, message = self._commands.get_nowait()
            except Empty:
                return
            try:
                self._do(client, message)
            except SkidpadError as error:
                self.outbox.say("error", to=client, text=str(error))
            except Exception as error:  # An error in one command does not end the session.
                _log.exception("a command failed")
                self.outbox.say("error", to=client, text=f"that went wrong: {_sentence(error)}")

    def _do(self, client: int, message: said.Message) -> None:
        arena, now = self.arena, self._clock()
        match message:
            case said.Drive(vehicle, ahead, left, handbrake, sent):
                self._held_since = now
                # The driver gets a frame as soon as the input has acted.
                self._unanswered = (client, sent) if sent > 0.0 else None
                self._acted = False
                if arena.drive(vehicle, Axes(ahead, left, handbrake)):
                    self._vehicles_changed = True
            case LetGo():
                self._held_since = None
                arena.let_go()
            case said.Choose(vehicle, controller):
                arena.choose(vehicle, controller)
                self._vehicles_changed = True
            case said.Param(vehicle, name, value):
                self._recordings.settle()
                arena.tune(vehicle, name, value)
                self._vehicles_changed = True
            case said.Drop(x, y, kind):
                arena.drop(kind, x, y)
                self._kept = arena.world.snapshot()
                self.outbox.say_stage(self.arena.stage)
                self._changed = True
                self._recordings.renew(self.arena)
                self._report(self._clock())
            case said.Reset():
                self._reset()
            case said.Record(on):
                self._recordings.begin(arena) if on else self._recordings.end()
                self._report(now)
            case said.Factor(value):
                self._pace.restart(now, value)
                self._report(now)
            case _:
                self._run_or_pause(message, now)

    def _run_or_pause(self, message: said.Message, now: s) -> None:
        if isinstance(message, said.Pause):
            self._paused = True
        elif self._diverged:
            raise InvalidValue("the world has diverged; reset it first")
        elif isinstance(message, said.Resume):
            self._paused = False
            self._pace.restart(now)
            self._next_frame = now
        elif isinstance(message, said.Step):
            if not self._paused:
                raise InvalidValue("single steps need a paused simulation")
            if not all(self._stepped() for _ in range(message.count)):
                return
        self._changed = True
        self._report(now)

    def _reset(self) -> None:
        changed = self.arena.reset()
        self._kept = self.arena.world.snapshot()
        now = self._clock()
        self._paused = self._paused and not self._diverged
        self._diverged, self._held_since = False, None
        self._pace.restart(now)
        if changed:
            self.outbox.say_stage(self.arena.stage)
        self._tell_vehicles(now)
        self._changed = True
        self._recordings.renew(self.arena)
        self._report(now)

    def _publish(self, now: s) -> None:
        self._changed = self._moved = False
        period = 1.0 / self.rate
        if now >= self._next_frame:
            self._next_frame = max(self._next_frame + period, now)
        scans = list(self.arena.scans())
        flags = PAUSED * self._paused | RECORDING * (self._recordings.file is not None)
        flags |= DIVERGED * self._diverged
        self._sequence += 1
        every = tuple(one for one, _ in scans)
        moment = Moment(self._sequence, flags, self.arena.world.time, self.arena.row(), every)
        fresh = frozenset(one.scan for one, new in scans if new)
        heard = self._unanswered if self._acted else None
        if heard is not None:
            self._unanswered = None
        self.outbox.frame(Frame(moment, fresh, last=self._paused, heard=heard))

    def _tell_vehicles(self, now: s) -> None:
        self._vehicles_changed, self._next_vehicles = False, now + _NEWS
        self.outbox.say("vehicles", vehicles=self.arena.vehicles)

    def _report(self, now: s) -> None:
        self._next_status = now + _STATUS
        file = self._recordings.file
        self.outbox.say_status(
            paused=self._paused,
            factor=self._pace.factor,
            real_time_factor=0.0 if self._paused else round(self._pace.reached, 3),
            recording=file is not None,
            file=None if file is None else str(file),
            message=self.news,
        )


def _sentence(error: Exception) -> str:
    """Message of any error, as a sentence."""
    text = str(error) or type(error).__name__
    if not isinstance(error, SkidpadError):
        text = f"{type(error).__name__}: {text}"
    return text if text.endswith((".", "!", "?")) else f"{text}."
