// Arrows: the force of the road on each tyre, and the acceleration of the vehicle.

import { accelerationsOf } from "skidpad/channels.js";
import { theme } from "skidpad/colours.js";

/** A vehicle has an arrow of its acceleration, and arrows at its tyres, from these lengths on, in px. */
const LEAST = 36;
const LEAST_AT_TYRES = 70;
/** Length of an arrow of 1 g, in lengths of the vehicle. */
const PER_G = 0.9;

export class ArrowPainter {
  constructor(stage, bodies) {
    this.bodies = bodies;
    this.own = bodies.vehicles.map((k) => {
      const body = stage.bodies[k];
      const wheels = body.wheels.filter((w) => w.F_x !== null || w.F_y !== null);
      return { k, wheels, acceleration: accelerationsOf(body, stage), scale: 0 };
    }).filter((one) => one.wheels.length || one.acceleration);
    this.any = this.own.length > 0;
  }

  /** Metres per newton, so that the largest tyre force is as long as half the vehicle. */
  measure(series) {
    const stride = Math.max(1, Math.floor(series.count / 300));
    for (const one of this.own) {
      let most = 0;
      for (const { F_x, F_y } of one.wheels) {
        for (let i = 0; i < series.count; i += stride) {
          const force = Math.hypot(F_x === null ? 0 : series.get(F_x, i), F_y === null ? 0 : series.get(F_y, i));
          if (force > most) most = force;
        }
      }
      const scale = most > 0 ? (0.55 * this.bodies.shape[one.k].length) / most : 0;
      // A live scale only shrinks: arrows that grow because others went away would mislead.
      one.scale = one.scale ? Math.min(one.scale, scale || one.scale) : scale;
    }
  }

  draw(context, view, ratio, series) {
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.lineCap = "butt";
    for (const one of this.own) {
      const shape = this.bodies.shape[one.k];
      if (shape.length * view.zoom < LEAST) continue;
      const sx = view.screenX(this.bodies.x[one.k], this.bodies.y[one.k]);
      const sy = view.screenY(this.bodies.x[one.k], this.bodies.y[one.k]);
      if (!(sx > -400 && sy > -400 && sx < view.width + 400 && sy < view.height + 400)) continue;
      const turn = this.bodies.yaw[one.k] - view.angle;
      if (shape.length * view.zoom >= LEAST_AT_TYRES) this.#forces(context, view, series, one, sx, sy, turn);
      this.#acceleration(context, view, series, one, shape, sx, sy, turn);
    }
  }

  #forces(context, view, series, one, sx, sy, turn) {
    const c = Math.cos(turn);
    const s = Math.sin(turn);
    for (const wheel of one.wheels) {
      const x = sx + view.zoom * (c * wheel.x - s * wheel.y);
      const y = sy - view.zoom * (s * wheel.x + c * wheel.y);
      // Forces are given in the frame of the wheel.
      const own = turn + wheel.yaw + (wheel.steer === null ? 0 : series.angleAt(wheel.steer));
      const along = one.scale * view.zoom * (wheel.F_x === null ? 0 : series.at(wheel.F_x));
      const across = one.scale * view.zoom * (wheel.F_y === null ? 0 : series.at(wheel.F_y));
      const dx = Math.cos(own) * along - Math.sin(own) * across;
      const dy = -Math.sin(own) * along - Math.cos(own) * across;
      arrow(context, x, y, dx, dy, 2.4, theme.force);
    }
  }

  #acceleration(context, view, series, one, shape, sx, sy, turn) {
    if (!one.acceleration) return;
    const scale = PER_G * shape.length * view.zoom;
    const ax = scale * one.acceleration.x.at(series);
    const ay = scale * one.acceleration.y.at(series);
    const dx = Math.cos(turn) * ax - Math.sin(turn) * ay;
    const dy = -Math.sin(turn) * ax - Math.cos(turn) * ay;
    arrow(context, sx, sy, dx, dy, 4, theme.acceleration);
  }
}

/** An arrow with a pale edge, so that it is seen on any ground. */
function arrow(context, x, y, dx, dy, width, colour) {
  const length = Math.hypot(dx, dy);
  if (!(length > 2.5)) return;
  const ux = dx / length;
  const uy = dy / length;
  const head = Math.min(3.6 * width, 0.7 * length);
  const half = 0.42 * head;
  const bx = x + dx - ux * head;
  const by = y + dy - uy * head;
  context.beginPath();
  context.moveTo(x - (uy * width) / 2, y + (ux * width) / 2);
  context.lineTo(bx - (uy * width) / 2, by + (ux * width) / 2);
  context.lineTo(bx - uy * half, by + ux * half);
  context.lineTo(x + dx, y + dy);
  context.lineTo(bx + uy * half, by - ux * half);
  context.lineTo(bx + (uy * width) / 2, by - (ux * width) / 2);
  context.lineTo(x + (uy * width) / 2, y - (ux * width) / 2);
  context.closePath();
  context.strokeStyle = theme.surface;
  context.lineWidth = 1.6;
  context.stroke();
  context.fillStyle = colour;
  context.fill();
}
