// One vehicle in the memory of its WebAssembly module, stepped as `Simulator` steps it.
//
// Everything that a vehicle computes is a Program of the module; here is only the order in which
// they are called, and what becomes of a step that fails.

import { DelayLine } from "skidpad/delay_line.js";

/** Share of the size at which equations end that a state before the last step may have. */
const AT_THE_END = 0.9;

/** Place of the speed among what the driver remembers. */
const SET_POINT = 2;

/** A step that was not made; `kind` is "input", "diverged" or "residual", the message a sentence. */
export class StepFailed extends Error {
  constructor(kind, text) {
    super(text);
    this.kind = kind;
  }
}

export class SimulatedVehicle {
  /** `module` as `loadModule` gives it, `about` as pages/drive.py describes it. */
  constructor(module, about) {
    this.module = module;
    this.about = about;
    for (const port of PORTS) this[port] = module.view(port);
    this.p.set(about.params);
    this.p_start.set(about.params);
    this.w.set(about.disturbance);
    this.dt[0] = about.dt / about.substeps;
    this.line = about.delays.length ? new DelayLine(about.delays, about.input) : null;
    /** What was commanded last, and what acted: with dead time, an older one. */
    this.commanded = new Float64Array(this.u.length);
    this.acted = new Float64Array(this.u.length);
    this.before = new Float64Array(this.x.length);
    this.older = new Float64Array(this.x.length);
    this.steering = about.steering.map((name) => about.state_names.indexOf(name));
    this.age = 0;
    this.changed = false;
    this.reset();
  }

  get time() { return this.steps * this.about.dt; }

  /** Start again; parameters stay as they are. */
  reset() {
    const { about } = this;
    this.x.set(this.changed ? about.start : about.settled);
    if (this.changed && about.settles) this.module.call("settle");
    this.#forgetInputs();
    this.memory.fill(0);
    this.steps = 0;
    this.line?.forget();
  }

  #forgetInputs() {
    this.start.set(this.x);
    for (const port of [this.u, this.acted, this.commanded]) port.fill(0);
  }

  /** Change a parameter by its place; it acts from the next step on. */
  setParam(column, value) {
    this.p[column] = value;
    this.changed = this.about.params.some((own, k) => own !== this.p[k]);
  }

  /** The input that keys ask for in the step that begins; `held` is false where nobody drives. */
  command({ ahead, left, handbrake }, held) {
    this.axes[0] = ahead;
    this.axes[1] = left;
    this.axes[2] = Number(handbrake);
    this.driver[0] = this.about.dt;
    this.driver[1] = Number(held);
    this.module.call("command");
    return Float64Array.from(this.commandPort);
  }

  get commandPort() { return (this.commandView ??= this.module.view("command")); }

  /** The inputs that act if these are commanded now. */
  acting(row) {
    if (!row.every(Number.isFinite)) throw new StepFailed("input", "An input is not a finite number.");
    return this.line ? this.line.acting(row, this.age, this.age + 1) : row;
  }

  /** One step of dt with these inputs commanded; all of it, or nothing and `StepFailed`. */
  step(row) {
    this.advance(row, this.acting(row));
  }

  /** The same where it is known what acts. */
  advance(row, acting) {
    this.before.set(this.x);
    this.older.set(this.start);
    this.start.set(this.x);
    this.u.set(acting);
    for (let k = 0; k < this.about.substeps; k++) {
      this.module.call("step");
      const failed = this.#failed();
      if (!failed) continue;
      const { residual } = this;
      this.x.set(this.before);
      this.start.set(this.older);
      this.u.set(this.acted);
      throw new StepFailed(failed, this.#words(failed, residual[0]));
    }
    this.acted.set(acting);
    this.commanded.set(row);
    this.age++;
    this.steps++;
  }

  #failed() {
    if (this.residual.length && !(this.residual[0] <= this.about.tolerance)) return "residual";
    return this.x.every(Number.isFinite) ? "" : "diverged";
  }

  /** Why a step failed, from the state before it. */
  #words(failed, residual) {
    const { ends, state_names: names, tolerance } = this.about;
    for (const [name, size, what] of ends) {
      const value = this.x[names.indexOf(name)];
      if (Math.abs(value) > AT_THE_END * size) return `The vehicle ${what}.`;
    }
    if (failed === "diverged") return "The state would no longer be finite.";
    return `A step could not be solved: a residual of ${residual.toPrecision(3)} is left, allowed is ${tolerance}.`;
  }

  /** Outputs at the present state, under the input that led there, into `y`. */
  outputs() { this.module.call("outputs"); }

  /** Outputs at the present state under an input that is about to act, as the first of a run. */
  comingOutputs(acting) {
    this.older.set(this.start);
    this.start.set(this.x);
    this.u.set(acting);
    this.module.call("outputs");
    this.start.set(this.older);
    this.u.set(this.acted);
  }

  /** Pose, velocity and what is towed, into the ports of these names. */
  motion() { this.module.call("motion"); }

  /**
   * Put the vehicle to rest in a state where it has been, or so many m ahead of it. Steering and what
   * the driver holds stay as they are: who is put to rest again and again could not steer away else.
   */
  rest(state, ahead = 0) {
    const turned = this.steering.map((place) => this.x[place]);
    this.x.set(state);
    this.steering.forEach((place, k) => { this.x[place] = turned[k]; });
    this.motion();
    this.pose[0] += ahead * Math.cos(this.pose[2]);
    this.pose[1] += ahead * Math.sin(this.pose[2]);
    this.module.call("rest");
    this.#forgetInputs();
    this.memory[SET_POINT] = 0;
  }
}

const PORTS = [
  "x", "u", "w", "p", "dt", "start", "residual", "y",
  "p_start", "axes", "memory", "driver", "pose", "velocity", "towed",
];
