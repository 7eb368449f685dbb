// The clock of a replay: where in time the picture is, and how fast it goes.

export const SPEEDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20];

export class Clock {
  constructor(begin, end) {
    this.begin = begin;
    this.end = end;
    this.time = begin;
    this.speed = 1;
    this.playing = false;
    this.loop = false;
  }

  play() {
    if (this.time >= this.end) this.time = this.begin;
    this.playing = this.end > this.begin;
  }

  pause() { this.playing = false; }

  toggle() { this.playing ? this.pause() : this.play(); }

  seek(time) { this.time = Math.min(Math.max(time, this.begin), this.end); }

  /** Pass some seconds of the wall clock. */
  advance(seconds) {
    if (!this.playing) return;
    this.time += seconds * this.speed;
    if (this.time < this.end) return;
    if (this.loop) this.time = this.begin + ((this.time - this.begin) % (this.end - this.begin));
    else {
      this.time = this.end;
      this.playing = false;
    }
  }

  /** Change the speed by some places of the list. */
  faster(places) {
    const here = SPEEDS.findIndex((speed) => speed >= this.speed - 1e-9);
    const next = Math.min(Math.max((here < 0 ? SPEEDS.length - 1 : here) + places, 0), SPEEDS.length - 1);
    this.speed = SPEEDS[next];
  }
}
