// What stands still: maps, lanes, regions, walls, blocks, lines and cones.

import { grow } from "skidpad/bodies.js";
import { rgb, shaded, theme } from "skidpad/colours.js";
import { bytesOf, Relief } from "skidpad/relief.js";

const FULL = 2 * Math.PI;
/** A cone is drawn at least this large, in px. */
const LEAST_CONE = 2.6;
/** From this radius in px on a cone shows its rings. */
const RINGED = 5;

const ORDER = ["field", "lane", "region", "block", "wall"];

export class StillLife {
  constructor(stage) {
    this.grids = stage.grids.map((grid) => ({ ...grid, cells: bytesOf(grid.cells), image: null, revision: -1 }));
    this.polygons = gathered(stage.polygons, (p) => `${p.kind} ${p.colour}`, polygonPath)
      .sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
    this.lines = gathered(stage.lines, (l) => `${l.kind} ${l.colour}`, linePath);
    this.discs = gathered(stage.discs, (d) => `${d.kind} ${d.colour}`, () => null);
    /** Areas that are not what they look like have their names in them. */
    this.regions = stage.polygons.filter(({ kind, name }) => kind === "region" && name);
    this.reliefs = (stage.reliefs ?? []).map((relief) => new Relief(relief));
    this.box = boxOf(stage);
  }

  /** What lies under the lines of the ground. */
  drawReliefs(context, view, ratio) {
    view.applyWorld(context, ratio);
    for (const relief of this.reliefs) relief.draw(context, view);
  }

  draw(context, view, ratio) {
    view.applyWorld(context, ratio);
    for (const grid of this.grids) drawGrid(context, view, ratio, grid);
    for (const group of this.polygons) drawPolygons(context, view, group);
    for (const group of this.lines) drawLines(context, view, group);
    for (const group of this.discs) drawDiscs(context, view, group);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const region of this.regions) drawName(context, view, region);
  }
}

/** Things that look alike in one group each, with one path in metres. */
function gathered(things, keyOf, pathOf) {
  const groups = new Map();
  for (const thing of things) {
    const key = keyOf(thing);
    if (!groups.has(key)) groups.set(key, { kind: thing.kind, colour: thing.colour, all: [], path: new Path2D() });
    const group = groups.get(key);
    group.all.push(thing);
    pathOf(group.path, thing);
  }
  return [...groups.values()];
}

function linePath(path, { points }) {
  points.forEach(([x, y], k) => (k ? path.lineTo(x, y) : path.moveTo(x, y)));
}

function polygonPath(path, polygon) {
  linePath(path, polygon);
  path.closePath();
}

const POLYGONS = {
  wall: () => ({ fill: theme.wall, edge: theme.wall_edge, width: 1 }),
  block: (colour) => ({
    fill: colour || theme.block, edge: colour ? shaded(colour, -0.35) : theme.block_edge, width: 1,
  }),
  region: () => ({
    fill: theme.region, edge: theme.accent, width: 1.2, dash: [6, 4], fillAlpha: 0.12, edgeAlpha: 0.7,
  }),
  lane: () => ({ fill: theme.lane, edge: null, fillAlpha: 1 }),
  field: () => ({ fill: theme.region, edge: null, fillAlpha: 0.18 }),
};

function drawPolygons(context, view, { kind, colour, path }) {
  const look = (POLYGONS[kind] ?? POLYGONS.block)(colour);
  context.globalAlpha = look.fillAlpha ?? 1;
  context.fillStyle = colour && kind !== "block" ? colour : look.fill;
  context.fill(path);
  if (look.edge) {
    context.globalAlpha = look.edgeAlpha ?? 1;
    context.setLineDash((look.dash ?? []).map((length) => length / view.zoom));
    context.strokeStyle = look.edge;
    context.lineWidth = look.width / view.zoom;
    context.stroke(path);
    context.setLineDash([]);
  }
  context.globalAlpha = 1;
}

function drawName(context, view, { points, name }) {
  const middle = (k) => (Math.min(...points.map((p) => p[k])) + Math.max(...points.map((p) => p[k]))) / 2;
  const width = (Math.max(...points.map((p) => p[0])) - Math.min(...points.map((p) => p[0]))) * view.zoom;
  context.font = "500 11px system-ui, sans-serif";
  if (context.measureText(name).width > width) return;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = theme.muted;
  context.fillText(name, view.screenX(middle(0), middle(1)), view.screenY(middle(0), middle(1)));
}

const LINES = {
  boundary: { colour: "boundary", width: 2 },
  centre: { colour: "reference", width: 1.2, dash: [10, 8] },
  reference: { colour: "reference", width: 1.4, dash: [5, 5] },
  band: { colour: "accent", width: 1.2, alpha: 0.5 },
  line: { colour: "boundary", width: 1.4 },
};

function drawLines(context, view, { kind, colour, path }) {
  const look = LINES[kind] ?? LINES.line;
  context.globalAlpha = look.alpha ?? 1;
  context.strokeStyle = colour || theme[look.colour];
  context.lineWidth = look.width / view.zoom;
  context.lineJoin = "round";
  context.setLineDash((look.dash ?? []).map((length) => length / view.zoom));
  context.stroke(path);
  context.setLineDash([]);
  context.globalAlpha = 1;
}

function drawDiscs(context, view, { colour, all }) {
  const own = colour || "#f28c28";
  const least = LEAST_CONE / view.zoom;
  fillDiscs(context, all, least, 1, shaded(own, -0.25));
  fillDiscs(context, all, least, 0.86, own);
  if (all[0].radius * view.zoom < RINGED) return;
  fillDiscs(context, all, least, 0.56, "#ffffff");
  fillDiscs(context, all, least, 0.36, own);
}

function fillDiscs(context, all, least, share, colour) {
  context.fillStyle = colour;
  context.beginPath();
  for (const { x, y, radius } of all) {
    const r = share * Math.max(radius, least);
    context.moveTo(x + r, y);
    context.arc(x, y, r, 0, FULL);
  }
  context.fill();
}

function drawGrid(context, view, ratio, grid) {
  if (grid.revision !== theme.revision) {
    grid.image = gridImage(grid);
    grid.revision = theme.revision;
  }
  // Cells are sharp when they are large and blend when they are smaller than a pixel.
  context.imageSmoothingEnabled = grid.resolution * view.zoom * ratio < 1.5;
  context.drawImage(grid.image, grid.x, grid.y, grid.width * grid.resolution, grid.height * grid.resolution);
}

/** The cells as an image; its first row is that of least y, which the world's transform turns up. */
function gridImage({ width, height, cells }) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const [free, unknown, occupied] = [theme.free, theme.unknown, theme.occupied].map(packed);
  for (let k = 0; k < pixels.length; k++) pixels[k] = cells[k] === 255 ? occupied : cells[k] === 0 ? free : unknown;
  context.putImageData(image, 0, 0);
  return canvas;
}

function packed(hex) {
  const [r, g, b] = rgb(hex);
  return (255 << 24) | (b << 16) | (g << 8) | r;
}

function boxOf(stage) {
  const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
  for (const { points } of [...stage.polygons, ...stage.lines]) for (const [x, y] of points) grow(box, x, y);
  for (const { x, y, radius } of stage.discs) grow(box, x, y, radius);
  for (const g of stage.grids) {
    grow(box, g.x, g.y);
    grow(box, g.x + g.width * g.resolution, g.y + g.height * g.resolution);
  }
  return box.left <= box.right ? box : null;
}
