// Whether a vehicle touches something: outlines against outlines, and against occupied cells.

const OCCUPIED = 255;

export class Surroundings {
  /** `solids` are {name, points, closed} in the world, `grids` those of a stage with cells as bytes. */
  constructor(solids, grids) {
    this.solids = solids.map(({ name, points, closed }) => ({ name, ring: Ring.through(points, closed) }));
    this.grids = grids;
    this.any = solids.length + grids.length > 0;
  }

  /** The name of what one of these rings touches; "" for nothing. */
  touched(rings) {
    for (const ring of rings) {
      for (const { name, ring: other } of this.solids) if (ring.meets(other)) return name;
      for (const grid of this.grids) if (inCells(ring, grid)) return "an occupied cell";
    }
    return "";
  }
}

/** Corners in order, closed or not, with the box around them. */
export class Ring {
  constructor(x, y, closed = true) {
    Object.assign(this, { x, y, closed });
    this.left = Math.min(...this.x);
    this.right = Math.max(...this.x);
    this.bottom = Math.min(...this.y);
    this.top = Math.max(...this.y);
  }

  static through(points, closed = true) {
    const coordinate = (k) => Float64Array.from(points, (point) => point[k]);
    return new Ring(coordinate(0), coordinate(1), closed);
  }

  /** The same corners seen from the world, of a body at a pose. */
  at(x, y, yaw) {
    const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
    return new Ring(
      this.x.map((a, k) => x + c * a - s * this.y[k]), this.y.map((b, k) => y + s * this.x[k] + c * b), this.closed);
  }

  meets(other) {
    if (this.left > other.right || other.left > this.right) return false;
    if (this.bottom > other.top || other.bottom > this.top) return false;
    return this.#crosses(other) || this.holds(other.x[0], other.y[0]) || other.holds(this.x[0], this.y[0]);
  }

  #crosses(other) {
    for (let i = this.closed ? 0 : 1; i < this.x.length; i++) {
      for (let j = other.closed ? 0 : 1; j < other.x.length; j++) {
        if (this.#edgeCrosses(i, other, j)) return true;
      }
    }
    return false;
  }

  /** Whether the edge that ends at corner i crosses the one of another ring that ends at j. */
  #edgeCrosses(i, other, j) {
    const h = (i || this.x.length) - 1;
    const g = (j || other.x.length) - 1;
    const side = (ring, a, b, x, y) =>
      Math.sign((ring.x[b] - ring.x[a]) * (y - ring.y[a]) - (ring.y[b] - ring.y[a]) * (x - ring.x[a]));
    return side(this, h, i, other.x[g], other.y[g]) !== side(this, h, i, other.x[j], other.y[j])
      && side(other, g, j, this.x[h], this.y[h]) !== side(other, g, j, this.x[i], this.y[i]);
  }

  /** Whether a point lies inside: a ray from it crosses the edges an odd number of times. */
  holds(x, y) {
    if (!this.closed) return false;
    let inside = false;
    for (let i = 0, h = this.x.length - 1; i < this.x.length; h = i++) {
      const spans = this.y[i] > y !== this.y[h] > y;
      if (spans && x < this.x[i] + ((y - this.y[i]) / (this.y[h] - this.y[i])) * (this.x[h] - this.x[i])) inside = !inside;
    }
    return inside;
  }
}

/** Whether a ring lies on an occupied cell. */
function inCells(ring, { x, y, resolution, width, height, cells }) {
  const column = (a) => Math.floor((a - x) / resolution);
  const row = (b) => Math.floor((b - y) / resolution);
  const last = Math.min(column(ring.right), width - 1);
  for (let j = Math.max(row(ring.bottom), 0); j <= Math.min(row(ring.top), height - 1); j++) {
    for (let i = Math.max(column(ring.left), 0); i <= last; i++) {
      if (cells[j * width + i] !== OCCUPIED) continue;
      const [a, b, r] = [x + i * resolution, y + j * resolution, resolution];
      if (ring.meets(Ring.through([[a, b], [a + r, b], [a + r, b + r], [a, b + r]]))) return true;
    }
  }
  return false;
}
