// Bodies that look alike, gathered for drawing in batches.

import { isCar, windscreen } from "skidpad/shapes.js";

/** Drawn in this order, the last on top. */
const ORDER = ["block", "actor", "trailer", "vehicle"];

/** Groups of bodies of one shape and colour, with simple stand-ins for when they are small. */
export function groupsOf(bodies) {
  const groups = new Map();
  for (let k = 0; k < bodies.count; k++) {
    const shape = bodies.shape[k];
    const { given, number } = bodies.colours[k];
    const key = `${bodies.shapes.indexOf(shape)} ${given || number % 8}`;
    if (!groups.has(key)) groups.set(key, { shape, given, number, members: [] });
    groups.get(key).members.push(k);
  }
  const all = [...groups.values()].sort((a, b) => ORDER.indexOf(a.shape.kind) - ORDER.indexOf(b.shape.kind));
  return all.map((group) => ({
    ...group,
    /** Those that are seen, as many as `visible` says. */
    list: new Int32Array(group.members.length),
    visible: 0,
    driven: group.shape.kind === "vehicle" || group.shape.kind === "trailer",
    ...standIns(group.shape),
  }));
}

/** Polygons as flat lists of corners in the frame of the body. */
function standIns(shape) {
  const { front, rear, left, right, length } = shape;
  const y = (left + right) / 2;
  const side = 0.3 * (left - right);
  const [tip, base] = [front - 0.08 * length, front - 0.32 * length];
  return {
    dart: Float64Array.of(front, y, rear, left, rear + 0.25 * length, y, rear, right),
    nose: Float64Array.of(tip, y, base, y + side, base, y - side),
    screen: isCar(shape) ? Float64Array.from(windscreen(shape)) : null,
    wheels: shape.wheels.map(({ length: l, width: w }) =>
      Float64Array.of(-l, -w, l, -w, l, w, -l, w).map((corner) => corner / 2)),
  };
}
