// The world behind a page that drives: what a live server is to its pages, in the page itself.
//
// It takes the messages that docs/live.md describes and answers with the same ones, so that the page
// is the live page; rows of numbers are handed over as they are.

import { FLAGS } from "skidpad/frame.js";
import { MOST_BYTES, RunLog } from "skidpad/run_log.js";
import { Pace } from "skidpad/pace.js";
import { Ring, Surroundings } from "skidpad/touching.js";
import { StepFailed } from "skidpad/vehicle.js";

/** After so long without word from the driver the vehicle brakes to a stop, in ms. */
const DEAD_MAN = 500;
/** A touch of the same thing after so long without one is another touch, in s. */
const APART = 1;
/** Who goes on touching is told again after so long, in s. */
const SAID = 5;
/** Room that a vehicle is given to steer away from what it touches, in lengths of it. */
const ROOM = 0.15;
/** Time that steps may take for one picture, in ms: what does not fit is left out. */
const BUDGET = 40;
const YOU = 1;

export class LocalWorld {
  /** `head` is that of the block, `on` as a Link has it, with `moment(frame)` in place of frames. */
  constructor(vehicle, head, on) {
    this.vehicle = vehicle;
    this.head = head;
    this.on = on;
    this.up = true;
    this.pace = new Pace(head.vehicle.dt);
    this.surroundings = new Surroundings(head.solids, decodedGrids(head.stage.grids));
    this.parts = head.vehicle.parts.map(([unit, points]) => ({ unit, ring: Ring.through(points) }));
    this.room = ROOM * lengthOf(this.parts);
    this.row = Float64Array.from(head.row);
    this.sources = head.sources.map(([port, place]) => ({ view: this.#viewOf(port), place, input: port === "u" }));
    this.computed = head.sources.some(([port]) => port === "pose" || port === "velocity" || port === "towed");
    this.axes = { ahead: 0, left: 0, handbrake: false };
    this.heard = -Infinity;
    this.paused = this.failed = false;
    this.log = null;
    this.free = null;
    document.addEventListener("visibilitychange", () => this.pace.restart());
    queueMicrotask(() => this.#begin());
  }

  /** Inputs are shown as they are commanded; the port has those that act. */
  #viewOf(port) { return port === "u" ? this.vehicle.commanded : this.vehicle[port]; }

  #begin() {
    const { stage, vehicle } = this.head;
    const rate = 1 / (vehicle.dt * vehicle.shown_every);
    this.on.message({ type: "hello", protocol: 1, you: YOU, stage, rate, vehicles: this.#vehicles(), ...this.#status() });
    this.#standFree();
    this.show();
  }

  #vehicles() {
    const { name, tunables } = this.head.vehicle;
    const params = tunables.map((one) => ({ ...one, value: this.vehicle.p[one.column] }));
    return [{ name, controller: "", controllers: [], inputs: [], params }];
  }

  #status() {
    const { pace } = this;
    const reached = this.paused ? 0 : pace.reached;
    return {
      driver: YOU, viewers: 1, paused: this.paused, factor: pace.factor, real_time_factor: reached,
      recording: Boolean(this.log?.open), file: null, message: "",
    };
  }

  #tell() { this.on.message({ type: "status", ...this.#status() }); }

  // What the page asks for.

  send(message) {
    const answers = {
      drive: () => this.#drive(message), reset: () => this.reset(), record: () => this.#record(message.on),
      param: () => this.setParam(message.name, message.value), step: () => this.#single(message.count),
      pause: () => this.#pause(true), resume: () => this.#pause(false), factor: () => this.#setFactor(message.value),
    };
    answers[message.type]?.();
    return true;
  }

  #drive({ ahead, left, handbrake }) {
    this.axes = { ahead, left, handbrake };
    this.heard = performance.now();
  }

  #pause(on) {
    if (this.failed) return this.#refuse("The vehicle has stopped; reset it first.");
    this.paused = on;
    this.pace.restart();
    this.show();
    this.#tell();
  }

  #single(count) {
    if (this.failed) return this.#refuse("The vehicle has stopped; reset it first.");
    for (let k = 0; k < count; k++) if (!this.#stepped()) return;
    this.show();
  }

  #setFactor(value) {
    this.pace.factor = value;
    this.pace.restart();
    this.#tell();
  }

  #refuse(text) { this.on.message({ type: "error", text }); }

  /** Change a parameter, if it is in its range. */
  setParam(name, value) {
    const { fields } = this.head.vehicle;
    const field = fields.find((one) => one.name === name);
    if (!field || !fits(field, value)) {
      const range = field?.allowed ? `must be ${field.allowed}` : "cannot be used";
      this.#refuse(`${name} = ${value} ${range}`);
    } else {
      this.vehicle.setParam(field.column, value);
      if (this.log?.open) this.log.note(this.vehicle.time, { parameter: name, value });
    }
    this.on.message({ type: "vehicles", vehicles: this.#vehicles() });
    this.on.tuned?.();
  }

  /** Parameters as they were at the start. */
  restoreParams() {
    for (const { name, value, column } of this.head.vehicle.fields) {
      if (this.vehicle.p[column] !== value) this.setParam(name, value);
    }
  }

  reset() {
    if (this.log?.open) {
      this.log.reset(this.vehicle.time);
      this.on.message({ type: "note", text: "The recording goes on: the reset is a jump in it." });
    }
    this.vehicle.reset();
    this.paused &&= !this.failed;
    this.failed = false;
    this.pace.restart();
    this.#standFree();
    this.show();
    this.#tell();
  }

  #record(on) {
    if (on) {
      this.log = new RunLog(this.sources);
      this.log.open = true;
    } else if (this.log?.open) {
      this.log.open = false;
      if (!this.log.fresh) this.log.command(this.vehicle.commanded);
      this.on.recorded?.(this.log);
    }
    this.#tell();
  }

  // Steps.

  /** Make the steps that are due at a time in ms of the wall clock. */
  advance(now) {
    this.pace.tick(now / 1000);
    if (this.paused) {
      this.pace.owed = 0;
      return;
    }
    const begin = performance.now();
    while (this.pace.due) {
      if (!this.#stepped()) break;
      this.pace.stepped();
      if (performance.now() - begin > BUDGET) this.pace.owed = Math.min(this.pace.owed, 0);
    }
    this.pace.worked((performance.now() - begin) / 1000);
  }

  /** The time that is to be seen: so far back that there are rows on either side. */
  get shownTime() {
    const { dt, shown_every: every } = this.head.vehicle;
    if (this.paused) return this.latest;
    return Math.min(this.vehicle.time + this.pace.owed - every * dt, this.latest);
  }

  get held() { return performance.now() - this.heard < DEAD_MAN; }

  /** One step by the keys; whether it was made. */
  #stepped() { return this.stepWith(this.vehicle.command(this.axes, this.held)); }

  /** One step with these inputs; whether it was made. */
  stepWith(command) {
    const { vehicle, log } = this;
    try {
      const acting = vehicle.acting(command);
      if (log?.open) this.#logCommand(log, command, acting);
      vehicle.advance(command, acting);
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      this.#fail(error);
      return false;
    }
    const seen = vehicle.steps % this.head.vehicle.shown_every === 0;
    if (seen) this.#watch();
    if (log?.open) this.#logMoment(log);
    if (seen) this.show();
    return true;
  }

  #logCommand(log, command, acting) {
    if (log.fresh) {
      this.vehicle.comingOutputs(acting);
      if (this.computed) this.vehicle.motion();
      log.add(this.vehicle.time);
    }
    log.command(command);
  }

  #logMoment(log) {
    this.vehicle.outputs();
    if (this.computed) this.vehicle.motion();
    log.add(this.vehicle.time);
    if (!log.full) return;
    this.#refuse(`The recording has ${MOST_BYTES / 1e6} MB, which is all that a page can keep; it has ended.`);
    this.#record(false);
  }

  #fail(error) {
    this.failed = this.paused = true;
    const at = this.vehicle.time.toFixed(2);
    if (this.log?.open) this.log.note(this.vehicle.time, { error: error.message });
    this.on.message({ type: "diverged", text: `The vehicle stopped at t = ${at} s. ${error.message} Reset to start again.` });
    this.show();
    this.#tell();
  }

  /** Look whether something is touched, and come to rest where nothing was. */
  #watch() {
    const name = this.#touched();
    if (!name) {
      (this.free ??= new Float64Array(this.vehicle.x.length)).set(this.vehicle.x);
      return;
    }
    // Who starts within something has to get out of it first.
    if (!this.free) return;
    this.#standBack();
    const { time } = this.vehicle;
    const again = name === this.touch.name && time - this.touch.time < APART;
    const said = again ? this.touch.said : -Infinity;
    this.touch = { name, time, said };
    if (!again && this.log?.open) this.log.note(time, { touched: name });
    if (time - said < SAID) return;
    this.touch.said = time;
    this.on.message({ type: "note", text: `Touched ${name}: reverse, or R to reset.` });
  }

  /** Come to rest where nothing was touched; who steers gets some room for it, if there is any. */
  #standBack() {
    const { vehicle, free, room } = this;
    const way = Math.sign(vehicle.velocity[0]);
    if (this.held && this.axes.left && way) {
      vehicle.rest(free, -way * room);
      if (!this.#touched()) return;
    }
    vehicle.rest(free);
  }

  #standFree() {
    this.free = null;
    this.touch = { name: "", time: 0, said: -Infinity };
    this.#watch();
  }

  #touched() {
    const { vehicle } = this;
    if (!this.surroundings.any) return "";
    vehicle.motion();
    const poseOf = (unit) => (unit ? vehicle.towed.subarray(3 * unit - 3, 3 * unit) : vehicle.pose);
    return this.surroundings.touched(this.parts.map(({ unit, ring }) => ring.at(...poseOf(unit))));
  }

  // What is seen.

  /** Hand over the numbers of this moment. */
  show() {
    const { vehicle } = this;
    vehicle.outputs();
    if (this.computed) vehicle.motion();
    this.sources.forEach(({ view, place }, k) => { this.row[k] = view[place]; });
    this.latest = vehicle.time;
    const flags = (this.failed ? FLAGS.diverged : 0) | (this.paused ? FLAGS.paused : 0);
    this.on.moment({ flags, time: this.latest, row: this.row, scans: [] });
  }

  /** Row k of a recording with all channels of the stage, for `mcapParts`. */
  rowOf(log) {
    const row = Float64Array.from(this.head.row);
    return (k) => {
      const logged = log.row(k);
      row.set(logged.subarray(1));
      return [logged[0], row];
    };
  }
}

/** Of the vehicle without what it tows, in m. */
function lengthOf(parts) {
  const rings = parts.filter(({ unit }) => !unit).map(({ ring }) => ring);
  if (!rings.length) return 0;
  return Math.max(...rings.map(({ right }) => right)) - Math.min(...rings.map(({ left }) => left));
}

function fits({ low = null, high = null, above, whole }, value) {
  if (!Number.isFinite(value) || (whole && !Number.isInteger(value))) return false;
  return (low === null || (above ? value > low : value >= low)) && (high === null || value <= high);
}

function decodedGrids(grids) {
  return grids.map((grid) => ({ ...grid, cells: Uint8Array.from(atob(grid.cells), (c) => c.charCodeAt(0)) }));
}
