// Scans of lidars: the field they see, and the points they hit.
//
// A scan is drawn from where its lidar was when it was taken, so that walls stand still while the
// vehicle moves on.

import { lineColour, theme } from "skidpad/colours.js";

/** Lidars up to which every seen field is filled; of more, that of the chosen vehicle is. */
const MOST_FANS = 1;

export class LidarPainter {
  constructor(stage, bodies) {
    this.lidars = stage.scans.map((scan) => {
      const angles = Float64Array.from({ length: scan.count }, (_, k) => scan.yaw + scan.first_angle + k * scan.step);
      return {
        ...scan, body: bodies.byName.get(scan.body) ?? -1, reach: scan.max_range ?? Infinity,
        cos: angles.map(Math.cos), sin: angles.map(Math.sin),
      };
    });
    this.bodies = bodies;
    this.origin = { x: 0, y: 0, cos: 1, sin: 0 };
  }

  draw(context, view, ratio, series, scans, time, chosen) {
    if (!scans.any) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const size = Math.max(1.5, Math.min(3, 0.06 * view.zoom));
    for (let k = 0; k < this.lidars.length; k++) {
      const lidar = this.lidars[k];
      const scan = scans.latest(k, time);
      if (scan < 0 || lidar.body < 0) continue;
      const store = scans.lidars[k];
      this.#place(lidar, series, store.times[scan]);
      const own = lidar.body === chosen;
      if (own || this.lidars.length <= MOST_FANS) this.#fan(context, view, lidar, store, scan, own);
      context.fillStyle = this.lidars.length <= MOST_FANS ? theme.echo : this.#colourOf(lidar.body);
      context.globalAlpha = own || this.lidars.length <= MOST_FANS ? 1 : 0.6;
      this.#points(context, view, lidar, store, scan, size);
      context.globalAlpha = 1;
    }
  }

  /** Of several lidars each has the colour of its vehicle. */
  #colourOf(body) {
    const { given, number } = this.bodies.colours[body];
    return given || lineColour(number);
  }

  /** Where the lidar was at a time. */
  #place(lidar, series, time) {
    const { row, share } = series;
    series.locate(time);
    const body = this.bodies.list[lidar.body];
    const yaw = series.angleAt(body.yaw);
    const c = Math.cos(yaw);
    const s = Math.sin(yaw);
    const { origin } = this;
    origin.x = series.at(body.x) + c * lidar.x - s * lidar.y;
    origin.y = series.at(body.y) + s * lidar.x + c * lidar.y;
    origin.cos = c;
    origin.sin = s;
    series.row = row;
    series.share = share;
  }

  #fan(context, view, lidar, store, scan, own) {
    const { origin } = this;
    const begin = scan * store.rays;
    const reach = Number.isFinite(lidar.reach) ? lidar.reach : view.reach;
    context.beginPath();
    context.moveTo(view.screenX(origin.x, origin.y), view.screenY(origin.x, origin.y));
    // Half the rays are enough for a shaded field.
    for (let i = 0; i < store.rays; i += 2) {
      const range = store.ranges[begin + i];
      const r = range >= 0 && range < reach ? range : range === range && range > 0 ? reach : 0;
      const dx = r * (origin.cos * lidar.cos[i] - origin.sin * lidar.sin[i]);
      const dy = r * (origin.sin * lidar.cos[i] + origin.cos * lidar.sin[i]);
      context.lineTo(view.screenX(origin.x + dx, origin.y + dy), view.screenY(origin.x + dx, origin.y + dy));
    }
    context.closePath();
    context.globalAlpha = own ? 0.1 : 0.045;
    context.fillStyle = theme.fan;
    context.fill();
    context.globalAlpha = 1;
  }

  #points(context, view, lidar, store, scan, size) {
    const { origin } = this;
    const begin = scan * store.rays;
    const half = size / 2;
    for (let i = 0; i < store.rays; i++) {
      const r = store.ranges[begin + i];
      if (!(r > 0 && r < lidar.reach)) continue;
      const wx = origin.x + r * (origin.cos * lidar.cos[i] - origin.sin * lidar.sin[i]);
      const wy = origin.y + r * (origin.sin * lidar.cos[i] + origin.cos * lidar.sin[i]);
      context.fillRect(view.screenX(wx, wy) - half, view.screenY(wx, wy) - half, size, size);
    }
  }
}
