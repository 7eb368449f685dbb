// When to show what arrived: a little late, so that there is always a frame on either side.

import { Clock } from "skidpad/clock.js";

/** Pictures lag behind the newest frame by at most this, in s: more would be felt when driving. */
const MOST_DELAY = 0.05;
/** Share of the error in time that is taken away per second. */
const PULL = 6;
/** An error in time beyond which the picture jumps, in s of the wall clock. */
const JUMP = 0.4;

export class LiveClock extends Clock {
  constructor() {
    super(0, 0);
    this.paused = false;
    /** Whether the reader looks at the past, and the picture stays there. */
    this.back = false;
    this.restart();
  }

  get playing() { return !this.paused; }
  set playing(_) { /* The server says whether the world runs. */ }

  restart() {
    this.latest = -Infinity;
    this.arrivedAt = 0;
    /** Mean time between frames and its spread, in s of the wall clock. */
    this.interval = 1 / 30;
    this.spread = 0.005;
    /** Seconds of the world per second of the wall clock. */
    this.pace = 1;
  }

  /** How far pictures lag behind, in s of the wall clock. */
  get delay() { return Math.min(this.interval + 2 * this.spread, MOST_DELAY); }

  /** A frame of a time of the world has arrived; `now` in s of the wall clock. */
  arrived(time, now) {
    const gap = now - this.arrivedAt;
    if (this.latest > -Infinity && gap > 0 && gap < 1 && time > this.latest) {
      this.spread += 0.1 * (Math.abs(gap - this.interval) - this.spread);
      this.interval += 0.1 * (gap - this.interval);
      // Frames that come in one bunch say nothing about the pace; the mean of many does.
      const pace = (time - this.latest) / Math.max(gap, this.interval);
      this.pace += 0.1 * Math.min(1, gap / this.interval) * (pace - this.pace);
    }
    this.latest = time;
    this.arrivedAt = now;
  }

  pass(seconds, now) {
    if (this.back || this.latest === -Infinity) return;
    if (this.paused) {
      this.time = this.latest;
      return;
    }
    const aim = this.latest + (now - this.arrivedAt - this.delay) * this.pace;
    const error = aim - (this.time + seconds * this.pace);
    if (Math.abs(error) > JUMP * Math.max(this.pace, 0.1)) this.time = Math.min(aim, this.latest);
    else this.time = Math.min(this.time + seconds * this.pace + Math.min(1, PULL * seconds) * error, this.latest);
  }

  advance() { /* `pass` does it, with the time of the wall clock. */ }

  seek(time) {
    super.seek(time);
    this.back = time < this.end - 0.3;
  }
}
