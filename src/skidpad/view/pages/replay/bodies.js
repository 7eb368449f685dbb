// The bodies of a stage, ready for drawing: shared shapes, and poses in typed arrays.

/** Outline with its extents; many bodies share one. */
function shapeOf(body) {
  const outlines = body.outlines.filter((one) => one.length > 2);
  let front = -Infinity, rear = Infinity, left = -Infinity, right = Infinity;
  for (const [x, y] of outlines.flat()) {
    front = Math.max(front, x);
    rear = Math.min(rear, x);
    left = Math.max(left, y);
    right = Math.min(right, y);
  }
  if (!outlines.length) [front, rear, left, right] = [0.2, -0.2, 0.2, -0.2];
  const corners = outlines.map((one) => Float64Array.from(one.flat()));
  const wheels = body.wheels.map(({ x, y, length, width, yaw }) => ({ x, y, length, width, yaw }));
  const length = front - rear;
  const width = left - right;
  const radius = Math.hypot(Math.max(front, -rear), Math.max(left, -right));
  return { corners, outlines, wheels, front, rear, left, right, length, width, radius, kind: body.kind };
}

export class Bodies {
  constructor(stage) {
    const count = stage.bodies.length;
    this.count = count;
    this.list = stage.bodies;
    /** Drawn pose of every body at the time last asked for; NaN where it has none. */
    this.x = new Float64Array(count);
    this.y = new Float64Array(count);
    this.yaw = new Float64Array(count);
    this.poseChannels = Int32Array.from(stage.bodies.flatMap((b) => [b.x, b.y, b.yaw]));
    this.shapes = [];
    this.shape = new Array(count);
    /** Channels of the steering angles, wheel by wheel of each body; -1 for a fixed wheel. */
    this.steers = stage.bodies.map((b) => Int32Array.from(b.wheels, (w) => w.steer ?? -1));
    /** Numbers of the bodies that are vehicles, in order. */
    this.vehicles = [];
    this.byName = new Map();
    this.#share(stage);
    this.colours = stage.bodies.map((b, k) => ({ given: b.colour, number: this.#colourNumber(b, k) }));
  }

  #share(stage) {
    const known = new Map();
    stage.bodies.forEach((body, k) => {
      const wheels = body.wheels.map((w) => [w.x, w.y, w.length, w.width, w.yaw]);
      const key = JSON.stringify([body.kind, body.outlines, wheels]);
      if (!known.has(key)) {
        known.set(key, shapeOf(body));
        this.shapes.push(known.get(key));
      }
      this.shape[k] = known.get(key);
      this.byName.set(body.name, k);
      if (body.kind === "vehicle") this.vehicles.push(k);
    });
  }

  /** A trailer has the colour of the vehicle that tows it, by whose name it is called. */
  #colourNumber(body, k) {
    const before = this.vehicles.filter((v) => v <= k).length - 1;
    if (body.kind !== "trailer") return Math.max(before, 0);
    const own = this.vehicles.findIndex((v) => this.list[v].name === towedBy(body));
    return own < 0 ? Math.max(before, 0) : own;
  }

  /** The poses at the time at which a series is located. */
  place(series) {
    const { poseChannels: at, x, y, yaw } = this;
    for (let k = 0, c = 0; k < this.count; k++, c += 3) {
      x[k] = series.at(at[c]);
      y[k] = series.at(at[c + 1]);
      yaw[k] = series.angleAt(at[c + 2]);
    }
  }

  poseOf(k) {
    return { x: this.x[k], y: this.y[k], yaw: this.yaw[k] };
  }

  /** The box that holds all places where bodies are at some rows of a series, or null. */
  box(series) {
    const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
    const stride = Math.max(1, Math.floor(series.count / 400));
    for (let k = 0; k < this.count; k++) {
      const { x, y } = this.list[k];
      const { radius } = this.shape[k];
      for (let i = 0; i < series.count; i += stride) grow(box, series.get(x, i), series.get(y, i), radius);
    }
    return box.left <= box.right ? box : null;
  }

  /** The topmost body under a point of the world, vehicles first; -1 for none. `slack` in m. */
  under(x, y, slack) {
    let best = -1;
    let nearest = Infinity;
    for (let k = 0; k < this.count; k++) {
      if (this.list[k].kind !== "vehicle" && this.list[k].kind !== "trailer") continue;
      const away = Math.hypot(x - this.x[k], y - this.y[k]) - 0.6 * this.shape[k].radius;
      if (away < slack && away < nearest) {
        nearest = away;
        best = k;
      }
    }
    return best;
  }
}

/** Name of the vehicle that tows a trailer, which may be one of several. */
export function towedBy(trailer) {
  return trailer.name.replace(/ trailer( \d+)?$/, "");
}

/** Widen a box so that a disc lies in it. */
export function grow(box, x, y, radius = 0) {
  if (!Number.isFinite(x + y)) return;
  box.left = Math.min(box.left, x - radius);
  box.right = Math.max(box.right, x + radius);
  box.bottom = Math.min(box.bottom, y - radius);
  box.top = Math.max(box.top, y + radius);
}
