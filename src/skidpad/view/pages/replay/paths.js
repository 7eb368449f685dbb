// The whole path of each vehicle of a film, faint, so that one sees where the trails will go.

import { lineColour } from "skidpad/colours.js";

/** Vehicles up to which there are paths: more would only be a carpet. */
const MOST = 12;
/** Points of a path are at least this far apart on screen, in px. */
const SPACING = 2;

/** Draw on the back, which is drawn again only when the camera moves. */
export function drawPaths(context, view, ratio, bodies, series) {
  if (series.count < 2 || bodies.vehicles.length > MOST) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.lineJoin = "round";
  context.lineWidth = 1.2;
  context.globalAlpha = 0.32;
  for (const k of bodies.vehicles) {
    const { given, number } = bodies.colours[k];
    context.strokeStyle = given || lineColour(number);
    context.beginPath();
    trace(context, view, bodies.list[k], series);
    context.stroke();
  }
  context.globalAlpha = 1;
}

function trace(context, view, { x: xs, y: ys }, series) {
  let x = NaN, y = NaN;
  for (let i = 0; i < series.count; i++) {
    const sx = view.screenX(series.get(xs, i), series.get(ys, i));
    const sy = view.screenY(series.get(xs, i), series.get(ys, i));
    if (!(sx === sx && sy === sy)) {
      x = y = NaN;
      continue;
    }
    if (x !== x) context.moveTo(sx, sy);
    else if (Math.abs(sx - x) + Math.abs(sy - y) >= SPACING || i === series.count - 1) context.lineTo(sx, sy);
    else continue;
    x = sx;
    y = sy;
  }
}
