// Draws the bodies: finely where few are large, in batches where there are many.
//
// Every change of style or transform costs more than a corner of a path, so that a thousand cars
// are drawn as a few long paths, one per colour, and only a handful one by one with all details.

import { lineColour, shaded, theme } from "skidpad/colours.js";
import { groupsOf } from "skidpad/groups.js";
import { pathsOf } from "skidpad/shapes.js";

/** Length on screen in px below which a body is a dot, a dart, or has no wheels. */
const DOT = 3.5;
const DART = 13;
const FINE = 30;
const MOST_FINE = 60;
/** Length of the mark of the chosen vehicle where it is smaller than a dart, in px. */
const MARK = 16;
/** Blocks and walkers are at least this long on screen, in px. */
const THING = 5;
/** Wheels are drawn from these lengths on screen on, in px. */
const WHEEL = 3.5;
const WHEEL_IN_CROWD = 5;
/** Bodies per path: longer ones make scan conversion slower than the calls they save. */
const BATCH = 48;

export class BodyPainter {
  constructor(bodies) {
    this.bodies = bodies;
    /** How many bodies are seen: vehicles and trailers, and all others. */
    this.driven = this.others = 0;
    this.groups = groupsOf(bodies);
    this.colourRevision = -1;
  }

  draw(context, view, ratio, series, chosen) {
    if (this.colourRevision !== theme.revision) this.#recolour();
    this.#cull(view);
    for (const group of this.groups) {
      if (!group.visible) continue;
      const size = Math.max(group.shape.length, group.shape.width) * view.zoom;
      const few = group.driven ? this.driven <= MOST_FINE : this.others <= MOST_FINE;
      if (few && size >= FINE) this.#drawFine(context, view, ratio, series, group, chosen);
      else this.#drawMany(context, view, ratio, series, group, size);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (chosen >= 0) this.#mark(context, view, chosen);
  }

  /** A dart large enough to find the chosen vehicle by, where it is small. */
  #mark(context, view, chosen) {
    const { x, y, yaw, shape } = this.bodies;
    const length = Math.max(shape[chosen].length, 0.01);
    if (length * view.zoom >= DART || !Number.isFinite(x[chosen] + y[chosen])) return;
    const group = this.groups.find(({ members }) => members.includes(chosen));
    const zoom = MARK / length;
    const turn = yaw[chosen] - view.angle;
    context.beginPath();
    const sx = view.screenX(x[chosen], y[chosen]);
    const sy = view.screenY(x[chosen], y[chosen]);
    outline(context, group.dart, sx, sy, zoom * Math.cos(turn), zoom * Math.sin(turn));
    context.lineJoin = "round";
    context.lineWidth = 3;
    context.strokeStyle = theme.surface;
    context.stroke();
    context.fillStyle = group.fill;
    context.fill();
  }

  #recolour() {
    for (const group of this.groups) {
      const { shape } = group;
      const usual = { actor: theme.actor, block: theme.block }[shape.kind] ?? lineColour(group.number);
      const own = group.given || usual;
      group.fill = shape.kind === "trailer" && !group.given ? shaded(own, theme.dark ? -0.25 : 0.3) : own;
      group.edge = shaded(own, theme.dark ? 0.45 : -0.4);
      group.mark = shape.kind === "trailer" ? group.edge : "#ffffff";
    }
    this.colourRevision = theme.revision;
  }

  /** Lists what can be seen, and counts what drives and what does not. */
  #cull(view) {
    const { x, y } = this.bodies;
    this.driven = this.others = 0;
    for (const group of this.groups) {
      group.visible = 0;
      const radius = view.zoom * group.shape.radius;
      for (const k of group.members) {
        const sx = view.screenX(x[k], y[k]);
        const sy = view.screenY(x[k], y[k]);
        const inside = sx > -radius && sy > -radius && sx < view.width + radius && sy < view.height + radius;
        if (inside) group.list[group.visible++] = k;
      }
      if (group.driven) this.driven += group.visible;
      else this.others += group.visible;
    }
  }

  #drawFine(context, view, ratio, series, group, chosen) {
    const { bodies } = this;
    const { shape } = group;
    const paths = pathsOf(shape);
    const px = 1 / view.zoom;
    context.lineJoin = "round";
    context.lineCap = "round";
    for (let n = 0; n < group.visible; n++) {
      const k = group.list[n];
      const sx = view.screenX(bodies.x[k], bodies.y[k]);
      const sy = view.screenY(bodies.x[k], bodies.y[k]);
      const turn = bodies.yaw[k] - view.angle;
      const lift = Math.min(0.05 * shape.width * view.zoom, 5);
      if (k === chosen) this.#halo(context, view, ratio, paths, sx, sy, turn);
      frame(context, ratio, view.zoom, sx + 0.6 * lift, sy + lift, turn);
      context.fillStyle = theme.shadow;
      context.fill(paths.body);
      frame(context, ratio, view.zoom, sx, sy, turn);
      context.fillStyle = group.fill;
      context.fill(paths.body);
      context.strokeStyle = group.edge;
      context.lineWidth = 1.2 * px;
      context.stroke(paths.body);
      this.#details(context, paths, group, px);
      this.#wheels(context, ratio, view.zoom, series, k, sx, sy, turn, paths);
    }
  }

  #halo(context, view, ratio, paths, sx, sy, turn) {
    frame(context, ratio, view.zoom, sx, sy, turn);
    context.strokeStyle = theme.halo;
    context.lineWidth = 8 / view.zoom;
    context.stroke(paths.body);
  }

  #details(context, paths, group, px) {
    if (paths.glass) {
      context.fillStyle = theme.glass;
      context.fill(paths.glass);
    }
    if (paths.lights) {
      context.fillStyle = "#fff3c4";
      context.fill(paths.lights);
    }
    if (!paths.mark) return;
    if (group.shape.kind === "actor") {
      context.fillStyle = group.edge;
      context.fill(paths.mark);
      return;
    }
    context.strokeStyle = group.mark;
    context.lineWidth = Math.max(1.4 * px, group.shape.kind === "trailer" ? 0.03 : 0.05 * group.shape.width);
    context.stroke(paths.mark);
  }

  #wheels(context, ratio, zoom, series, k, sx, sy, turn, paths) {
    const { wheels } = this.bodies.shape[k];
    const steers = this.bodies.steers[k];
    const c = Math.cos(turn);
    const s = Math.sin(turn);
    context.fillStyle = theme.wheel;
    context.strokeStyle = theme.wheel_edge;
    context.lineWidth = 0.8 / zoom;
    for (let w = 0; w < wheels.length; w++) {
      const wheel = wheels[w];
      if (wheel.length * zoom < WHEEL) continue;
      const steer = steers[w] < 0 ? 0 : series.angleAt(steers[w]);
      const x = sx + zoom * (c * wheel.x - s * wheel.y);
      const y = sy - zoom * (s * wheel.x + c * wheel.y);
      frame(context, ratio, zoom, x, y, turn + wheel.yaw + steer);
      context.fill(paths.wheels[w]);
      context.stroke(paths.wheels[w]);
    }
  }

  #drawMany(context, view, ratio, series, group, size) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = group.fill;
    if (!group.driven) return this.#things(context, view, group, size);
    if (size < DOT) return this.#dots(context, view, group);
    if (size < DART) return this.#polygons(context, view, group, group.dart);
    for (const corners of group.shape.corners) this.#polygons(context, view, group, corners);
    if (group.screen) {
      context.fillStyle = theme.glass;
      this.#polygons(context, view, group, group.screen);
    } else if (group.shape.kind === "vehicle") {
      context.fillStyle = group.mark;
      this.#polygons(context, view, group, group.nose);
    }
    context.fillStyle = theme.wheel;
    const { wheels } = group.shape;
    for (let w = 0; w < wheels.length; w++) {
      if (wheels[w].length * view.zoom > WHEEL_IN_CROWD) this.#sameWheels(context, view, series, group, w);
    }
  }

  /** Blocks and walkers: as they are, but never so small that one would miss them. */
  #things(context, view, group, size) {
    const larger = Math.max(1, THING / size);
    for (const corners of group.shape.corners) this.#polygons(context, view, group, corners, larger);
  }

  #dots(context, view, group) {
    const { x, y } = this.bodies;
    const size = 3;
    for (let n = 0; n < group.visible; n++) {
      const k = group.list[n];
      const sx = Math.round(view.screenX(x[k], y[k]) - size / 2);
      const sy = Math.round(view.screenY(x[k], y[k]) - size / 2);
      context.fillRect(sx, sy, size, size);
    }
  }

  /** The same polygon, in the frame of the body, for all of a group. */
  #polygons(context, view, group, corners, larger = 1) {
    const { x, y, yaw } = this.bodies;
    const zoom = larger * view.zoom;
    context.beginPath();
    for (let n = 0; n < group.visible; n++) {
      const k = group.list[n];
      const turn = yaw[k] - view.angle;
      const sx = view.screenX(x[k], y[k]);
      const sy = view.screenY(x[k], y[k]);
      outline(context, corners, sx, sy, zoom * Math.cos(turn), zoom * Math.sin(turn));
      if (n % BATCH === BATCH - 1) {
        context.fill();
        context.beginPath();
      }
    }
    context.fill();
  }

  #sameWheels(context, view, series, group, w) {
    const { x, y, yaw, steers } = this.bodies;
    const wheel = group.shape.wheels[w];
    const corners = group.wheels[w];
    context.beginPath();
    for (let n = 0; n < group.visible; n++) {
      const k = group.list[n];
      const turn = yaw[k] - view.angle;
      const c = view.zoom * Math.cos(turn);
      const s = view.zoom * Math.sin(turn);
      const sx = view.screenX(x[k], y[k]) + c * wheel.x - s * wheel.y;
      const sy = view.screenY(x[k], y[k]) - s * wheel.x - c * wheel.y;
      const own = turn + wheel.yaw + (steers[k][w] < 0 ? 0 : series.angleAt(steers[k][w]));
      outline(context, corners, sx, sy, view.zoom * Math.cos(own), view.zoom * Math.sin(own));
      if (n % BATCH === BATCH - 1) {
        context.fill();
        context.beginPath();
      }
    }
    context.fill();
  }
}

/** Let a context draw in the frame of a body at a place of the screen. */
function frame(context, ratio, zoom, sx, sy, turn) {
  const a = ratio * zoom * Math.cos(turn);
  const b = ratio * zoom * Math.sin(turn);
  context.setTransform(a, -b, -b, -a, ratio * sx, ratio * sy);
}

function outline(context, corners, sx, sy, c, s) {
  context.moveTo(sx + c * corners[0] - s * corners[1], sy - s * corners[0] - c * corners[1]);
  for (let i = 2; i < corners.length; i += 2) {
    context.lineTo(sx + c * corners[i] - s * corners[i + 1], sy - s * corners[i] - c * corners[i + 1]);
  }
  context.closePath();
}
