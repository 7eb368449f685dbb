// Names beside the vehicles.

import { theme } from "skidpad/colours.js";

/** No names in a crowd. */
const MOST = 40;
/** Vehicles smaller than this on screen, in px, have no name. */
const LEAST = 4;
/** Of a name, in px. */
const HEIGHT = 13;

/** Names that do not lie on each other; the chosen vehicle's is always there. Returns the names drawn. */
export function drawLabels(context, view, ratio, bodies, chosen) {
  const { vehicles } = bodies;
  const drawn = [];
  if (vehicles.length < 2) return drawn;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "500 11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.lineJoin = "round";
  context.lineWidth = 3;
  const taken = [];
  for (const k of [chosen, ...vehicles.filter((one) => one !== chosen)]) {
    if (k < 0) continue;
    const size = bodies.shape[k].length * view.zoom;
    if (k !== chosen && (vehicles.length > MOST || size < LEAST)) continue;
    const x = view.screenX(bodies.x[k], bodies.y[k]);
    const y = view.screenY(bodies.x[k], bodies.y[k]) - 0.5 * Math.max(size, 10) - 5;
    if (!(x > -50 && y > -10 && x < view.width + 50 && y < view.height + 50)) continue;
    const half = context.measureText(bodies.list[k].name).width / 2 + 2;
    const box = { left: x - half, right: x + half, top: y - HEIGHT, bottom: y };
    if (taken.some((other) => overlap(box, other))) continue;
    taken.push(box);
    drawn.push(bodies.list[k].name);
    context.strokeStyle = theme.ground;
    context.strokeText(bodies.list[k].name, x, y);
    context.fillStyle = k === chosen ? theme.ink : theme.muted;
    context.fillText(bodies.list[k].name, x, y);
  }
  return drawn;
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
