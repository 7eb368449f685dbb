// Steps in time with the wall clock: how many are due, how fast it went, what it cost.

/** Time that is caught up at most, in s: what is later than this is left out. */
const MOST_DEBT = 0.1;
/** Figures are those of about so long a time, in s. */
const WINDOW = 1;

export class Pace {
  constructor(dt) {
    this.dt = dt;
    this.factor = 1;
    /** Simulated time that is due and not yet made, in s. */
    this.owed = 0;
    this.before = null;
    /** Times real time that was reached, and the share of a core that it took. */
    this.reached = 0;
    this.load = 0;
    this.#begin();
  }

  #begin() {
    this.wall = 0;
    this.made = 0;
    this.busy = 0;
  }

  /** Count from the next picture on: after a pause, or when the page was out of sight. */
  restart() {
    this.before = null;
    this.owed = 0;
    this.#begin();
  }

  /** A picture at a time in s of the wall clock. */
  tick(now) {
    const seconds = this.before === null ? 0 : Math.max(now - this.before, 0);
    this.before = now;
    this.wall += seconds;
    this.owed += this.factor * Math.min(seconds, MOST_DEBT);
    if (this.wall < WINDOW) return;
    this.reached = this.made / this.wall;
    this.load = this.busy / this.wall;
    this.#begin();
  }

  get due() { return this.owed >= this.dt; }

  stepped() {
    this.owed -= this.dt;
    this.made += this.dt;
  }

  /** Steps have taken so many seconds. */
  worked(seconds) { this.busy += seconds; }
}
