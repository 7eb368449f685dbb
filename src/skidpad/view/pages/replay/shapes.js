// Paths of bodies in their own frame, in metres: outline, glass, lights, ribs, wheels.
//
// Made once for each shape. What they add to the plain outline is there to show at a glance which
// end is the front.

/** The parts of a shape as Path2D: {body, glass, lights, mark, wheels}. */
export function pathsOf(shape) {
  if (shape.paths) return shape.paths;
  const paths = { body: new Path2D(), glass: null, lights: null, mark: null, wheels: shape.wheels.map(wheelPath) };
  for (const outline of shape.outlines) rounded(paths.body, outline, 0.07 * Math.min(shape.length, shape.width));
  if (shape.kind === "vehicle") Object.assign(paths, isCar(shape) ? carParts(shape) : robotParts(shape));
  else if (shape.kind === "trailer") paths.mark = ribs(shape);
  else if (shape.kind === "actor") paths.mark = head(shape);
  shape.paths = paths;
  return paths;
}

/** Whether a shape is drawn with windows: long, on four wheels, of one piece. */
export function isCar(shape) {
  return shape.wheels.length >= 4 && shape.length > 1.35 * shape.width && shape.outlines.length === 1;
}

/** Corners of the windscreen, as a flat list, for drawing many cars in one path. */
export function windscreen({ front, length, left, right }) {
  const y = (left + right) / 2;
  const half = (left - right) / 2;
  const [a, b] = [front - 0.27 * length, front - 0.4 * length];
  return [a, y - 0.78 * half, a, y + 0.78 * half, b, y + 0.66 * half, b, y - 0.66 * half];
}

function carParts(shape) {
  const { front, rear, length, left, right } = shape;
  const y = (left + right) / 2;
  const half = (left - right) / 2;
  const glass = polygon(windscreen(shape));
  const [c, d] = [rear + 0.2 * length, rear + 0.12 * length];
  glass.addPath(polygon([c, y - 0.66 * half, c, y + 0.66 * half, d, y + 0.74 * half, d, y - 0.74 * half]));
  const lights = new Path2D();
  for (const side of [-1, 1]) {
    const outer = y + side * 0.72 * half;
    const inner = y + side * 0.42 * half;
    const x = [0.045, 0.012, 0.035, 0.075].map((share) => front - share * length);
    lights.addPath(polygon([x[0], outer, x[1], inner, x[2], inner, x[3], outer]));
  }
  return { glass, lights };
}

/** A chevron towards the front. */
function robotParts({ front, length, left, right }) {
  const y = (left + right) / 2;
  const half = (left - right) / 2;
  const mark = new Path2D();
  const size = Math.min(0.5 * half, 0.24 * length);
  const tip = front - 0.16 * length;
  mark.moveTo(tip - size, y + size);
  mark.lineTo(tip, y);
  mark.lineTo(tip - size, y - size);
  return { mark };
}

function ribs({ front, rear, left, right, length }) {
  const mark = new Path2D();
  const count = Math.max(2, Math.round(length / 1.6));
  for (let k = 1; k < count; k++) {
    const x = rear + (k * (front - rear)) / count;
    mark.moveTo(x, right);
    mark.lineTo(x, left);
  }
  return mark;
}

/** Somebody who walks, from above: a dot for the head, a little ahead of the middle. */
function head({ radius }) {
  const mark = new Path2D();
  mark.moveTo(0.75 * radius, 0);
  mark.arc(0.3 * radius, 0, 0.45 * radius, 0, 2 * Math.PI);
  return mark;
}

function wheelPath({ length, width }) {
  const path = new Path2D();
  path.roundRect(-length / 2, -width / 2, length, width, 0.3 * width);
  return path;
}

function polygon(flat) {
  const path = new Path2D();
  path.moveTo(flat[0], flat[1]);
  for (let k = 2; k < flat.length; k += 2) path.lineTo(flat[k], flat[k + 1]);
  path.closePath();
  return path;
}

function rounded(path, outline, radius) {
  const count = outline.length;
  const [lastX, lastY] = outline[count - 1];
  path.moveTo((lastX + outline[0][0]) / 2, (lastY + outline[0][1]) / 2);
  for (let k = 0; k < count; k++) {
    const [x, y] = outline[k];
    const [nextX, nextY] = outline[(k + 1) % count];
    path.arcTo(x, y, (x + nextX) / 2, (y + nextY) / 2, radius);
    path.lineTo((x + nextX) / 2, (y + nextY) / 2);
  }
  path.closePath();
}
