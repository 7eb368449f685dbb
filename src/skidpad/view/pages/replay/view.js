// The camera: which part of the world is seen, and how world and screen belong together.
//
// Screen coordinates are CSS pixels, y down; the world is in metres, y up. `angle` is the world
// direction that points to the right of the screen.

const LEAST_ZOOM = 0.02;
const MOST_ZOOM = 2000;
/** Time constant of the camera's glide to a new place, in s. */
const GLIDE = 0.12;
const TURN = 2 * Math.PI;

export class View {
  constructor() {
    this.x = 0;
    this.y = 0;
    this.zoom = 20;
    this.angle = 0;
    this.width = 1;
    this.height = 1;
    this.cos = 1;
    this.sin = 0;
    /** Where the camera glides to; null when it rests or is led by the hand. */
    this.goal = null;
    this.revision = 0;
  }

  resize(width, height) {
    this.width = Math.max(width, 1);
    this.height = Math.max(height, 1);
    this.revision++;
  }

  moved() {
    this.cos = Math.cos(this.angle);
    this.sin = Math.sin(this.angle);
    this.revision++;
  }

  screenX(x, y) { return this.width / 2 + this.zoom * (this.cos * (x - this.x) + this.sin * (y - this.y)); }
  screenY(x, y) { return this.height / 2 - this.zoom * (this.cos * (y - this.y) - this.sin * (x - this.x)); }
  screenOf(x, y) { return { x: this.screenX(x, y), y: this.screenY(x, y) }; }

  worldOf(sx, sy) {
    const right = (sx - this.width / 2) / this.zoom;
    const up = (this.height / 2 - sy) / this.zoom;
    return { x: this.x + this.cos * right - this.sin * up, y: this.y + this.sin * right + this.cos * up };
  }

  /** Let a context draw in metres of the world; `ratio` is device pixels per CSS pixel. */
  applyWorld(context, ratio) {
    const a = this.zoom * this.cos;
    const b = this.zoom * this.sin;
    const e = this.width / 2 - a * this.x - b * this.y;
    const f = this.height / 2 - b * this.x + a * this.y;
    context.setTransform(ratio * a, ratio * b, ratio * b, -ratio * a, ratio * e, ratio * f);
  }

  /** Radius in m around the centre beyond which nothing is seen. */
  get reach() { return Math.hypot(this.width, this.height) / 2 / this.zoom; }

  pan(dx, dy) {
    this.goal = null;
    this.x -= (this.cos * dx + this.sin * dy) / this.zoom;
    this.y -= (this.sin * dx - this.cos * dy) / this.zoom;
    this.moved();
  }

  /** Zoom by a factor and keep the world under a point of the screen where it is. */
  zoomAt(factor, sx, sy) {
    const before = this.worldOf(sx, sy);
    this.zoom = clamp(this.zoom * factor, LEAST_ZOOM, MOST_ZOOM);
    const after = this.worldOf(sx, sy);
    this.x += before.x - after.x;
    this.y += before.y - after.y;
    if (this.goal) this.goal.zoom = this.zoom;
    this.moved();
  }

  /** Glide so that a box of the world fills the screen, the margins of panels left free. */
  fit(box, margin = 56, glide = true) {
    const w = Math.max(box.right - box.left, 1e-3);
    const h = Math.max(box.top - box.bottom, 1e-3);
    const free = Math.min(margin, this.width / 10, this.height / 8);
    const zoom = clamp(Math.min((this.width - 2 * free) / w, (this.height - 2 * free) / h), LEAST_ZOOM, 400);
    this.goTo({ x: (box.left + box.right) / 2, y: (box.bottom + box.top) / 2, zoom, angle: 0 }, glide);
  }

  /** Go to a place; at once for those who asked their system for less motion. */
  goTo(goal, glide = true) {
    this.goal = { x: this.x, y: this.y, zoom: this.zoom, angle: this.angle, ...goal };
    if (!glide || matchMedia("(prefers-reduced-motion: reduce)").matches) this.glide(Infinity);
  }

  /** Move towards the goal for some seconds; says whether there is still way to go. */
  glide(seconds) {
    const goal = this.goal;
    if (!goal) return false;
    const share = 1 - Math.exp(-seconds / GLIDE);
    const turn = goal.angle - this.angle;
    const left = turn - TURN * Math.round(turn / TURN);
    this.x += share * (goal.x - this.x);
    this.y += share * (goal.y - this.y);
    this.angle += share * left;
    this.zoom *= Math.exp(share * Math.log(goal.zoom / this.zoom));
    const near = Math.hypot(goal.x - this.x, goal.y - this.y) * this.zoom < 0.3
      && Math.abs(Math.log(goal.zoom / this.zoom)) < 1e-3 && Math.abs(left * (1 - share)) < 1e-3;
    if (near) {
      Object.assign(this, { x: goal.x, y: goal.y, zoom: goal.zoom, angle: goal.angle });
      this.goal = null;
    }
    this.moved();
    return !near;
  }
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}
