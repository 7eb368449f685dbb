// Trails behind the vehicles, coloured by speed.

import { SPEED_STEPS, speedStep, theme } from "skidpad/colours.js";
import { speedOf } from "skidpad/channels.js";

/** A trail's points are at least this far apart on screen, in px. */
const SPACING = 2.5;
/** Points of one trail, and of all trails of a crowd together, in one picture. */
const MOST_POINTS = 24000;
const MOST_IN_CROWD = 3000;
const MOST_PIECES = 16384;
/** Pieces stroked together. */
const BATCH = 48;
/** Vehicles up to which each trail is drawn in the order of time, and not colour by colour. */
const FEW = 8;

export class TrailPainter {
  constructor(stage, bodies) {
    this.bodies = bodies;
    this.speeds = bodies.vehicles.map((k) => speedOf(stage.bodies[k]));
    /** Ends of the scale of colours in m/s. */
    this.low = 0;
    this.high = 1;
    this.inOrder = new InOrder();
    this.byColour = new ByColour();
  }

  get coloured() { return this.speeds.some((speed) => speed !== null); }

  /** Fit the scale to the speeds of a series; only ever wider where `grow` is set. */
  measure(series, grow = false) {
    let high = grow ? this.high : 0;
    const rows = Math.max(1, Math.floor(series.count / 300));
    const every = Math.max(1, Math.floor(this.speeds.length / 40));
    for (let v = 0; v < this.speeds.length; v += every) {
      const speed = this.speeds[v];
      if (speed) for (let i = 0; i < series.count; i += rows) high = Math.max(high, speed.get(series, i) || 0);
    }
    this.high = niceTop(Math.max(high, 0.1));
  }

  /** `seconds` back from `time`; the chosen vehicle's trail is drawn last. */
  draw(context, view, ratio, series, time, seconds, chosen) {
    const { vehicles } = this.bodies;
    if (!vehicles.length || series.count < 2) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const crowd = vehicles.length > FEW;
    // Round joins take most of the time that a crowd's trails need.
    context.lineJoin = crowd ? "bevel" : "round";
    context.lineCap = crowd ? "butt" : "round";
    const first = series.rowAt(time - seconds);
    const room = (crowd ? MOST_IN_CROWD : MOST_POINTS) / vehicles.length;
    const stride = this.#stride(series, first, view, Math.max(3, room));
    context.lineWidth = crowd ? 1.4 : 3;
    const sink = crowd ? this.byColour : this.inOrder;
    for (let v = 0; v < vehicles.length; v++) {
      if (vehicles[v] !== chosen) this.#walk(context, view, series, v, first, stride, sink);
    }
    if (crowd) this.byColour.finish(context);
    const own = vehicles.indexOf(chosen);
    if (own < 0) return;
    context.lineJoin = context.lineCap = "round";
    context.lineWidth = 3;
    this.#walk(context, view, series, own, first, this.#stride(series, first, view, MOST_POINTS), this.inOrder);
  }

  /** Rows to step over, a power of two so that the same points are taken in the next picture. */
  #stride(series, first, view, room) {
    const rows = series.row - first;
    const dt = (series.times[series.row] - series.times[first]) / Math.max(rows, 1);
    const step = this.coloured ? 0.5 * this.high * dt * view.zoom : Infinity;
    let stride = 1;
    while (stride * step < SPACING && stride < 64) stride *= 2;
    while (rows / stride > room) stride *= 2;
    return stride;
  }

  /** Give the pieces of a trail that can be seen to a sink, from the oldest to the drawn pose. */
  #walk(context, view, series, v, first, stride, sink) {
    const k = this.bodies.vehicles[v];
    const { x: xs, y: ys } = this.bodies.list[k];
    const speed = this.speeds[v];
    const last = series.row;
    let x = NaN, y = NaN, step = -1, seen = false;
    for (let i = Math.ceil(first / stride) * stride; ; i += stride) {
      const end = i > last;
      const wx = end ? this.bodies.x[k] : series.get(xs, i);
      const wy = end ? this.bodies.y[k] : series.get(ys, i);
      const sx = view.screenX(wx, wy);
      const sy = view.screenY(wx, wy);
      const here = inside(view, sx, sy);
      if (x === x && (here || seen)) {
        const own = speed ? speedStep(speed.get(series, end ? last : i), this.low, this.high) : SPEED_STEPS >> 1;
        sink.piece(context, own, own === step, x, y, sx, sy);
        step = own;
      } else step = -1;
      x = sx;
      y = sy;
      seen = here;
      if (end) break;
    }
    sink.end(context);
  }
}

/** Strokes pieces as they come, so that the newest lies on top. */
class InOrder {
  constructor() { this.open = false; }

  piece(context, step, joined, x0, y0, x1, y1) {
    if (!joined) {
      if (this.open) context.stroke();
      context.strokeStyle = theme.speeds[step];
      context.beginPath();
      context.moveTo(x0, y0);
      this.open = true;
    }
    context.lineTo(x1, y1);
  }

  end(context) {
    if (this.open) context.stroke();
    this.open = false;
  }
}

/** Keeps the pieces of all vehicles in lists by colour, so that each colour is set once. */
class ByColour {
  constructor() {
    this.ends = new Float32Array(4 * MOST_PIECES);
    this.before = new Int32Array(MOST_PIECES);
    this.latest = new Int32Array(SPEED_STEPS).fill(-1);
    this.count = 0;
  }

  piece(_context, step, _joined, x0, y0, x1, y1) {
    if (this.count === MOST_PIECES) return;
    const k = this.count++;
    this.ends[4 * k] = x0;
    this.ends[4 * k + 1] = y0;
    this.ends[4 * k + 2] = x1;
    this.ends[4 * k + 3] = y1;
    this.before[k] = this.latest[step];
    this.latest[step] = k;
  }

  end() {}

  finish(context) {
    const { ends, before } = this;
    for (let step = 0; step < SPEED_STEPS; step++) {
      if (this.latest[step] < 0) continue;
      context.strokeStyle = theme.speeds[step];
      context.beginPath();
      for (let k = this.latest[step], n = 1; k >= 0; k = before[k], n++) {
        context.moveTo(ends[4 * k], ends[4 * k + 1]);
        context.lineTo(ends[4 * k + 2], ends[4 * k + 3]);
        // Very long paths are slow: their cost grows faster than their length.
        if (n % BATCH) continue;
        context.stroke();
        context.beginPath();
      }
      context.stroke();
    }
    this.latest.fill(-1);
    this.count = 0;
  }
}

/** Within the screen, or so near that a line to there may be seen. */
function inside(view, sx, sy) {
  return sx > -60 && sy > -60 && sx < view.width + 60 && sy < view.height + 60;
}

/** A round number a little above a value. */
function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  for (const top of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]) if (top * power >= value * 0.999) return top * power;
  return 10 * power;
}
