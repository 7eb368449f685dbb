// Laps of a vehicle: where it crosses the line it started on, in the direction it started in.
//
// A lap has three sectors, of equal length along the first lap. Times are those of the crossings, on
// straight lines between samples.

const SECTORS = 3;
/** Half the width of the lines, and how far a vehicle must have been away, in m. */
const HALF_WIDTH = 8;
const AWAY = 10;

/** [{time, sectors, from, delta}] of the laps that were completed; the times in s. */
export function lapsOf(body, series) {
  const path = pathOf(body, series);
  if (!path) return [];
  const starts = crossings(path, gateAt(path, path.first), path.first);
  if (!starts.length) return [];
  const begins = [path.times[path.first], ...starts.map((start) => start.time)];
  const gates = sectorGates(path, path.first, starts[0].row);
  const laps = starts.map((start, k) => {
    const firstRow = k ? starts[k - 1].row : path.first;
    const splits = gates.map((gate) => crossings(path, gate, firstRow, start.row, 0)[0]?.time ?? NaN);
    const marks = [begins[k], ...splits, start.time];
    return { from: begins[k], time: start.time - begins[k], sectors: marks.slice(1).map((t, j) => t - marks[j]) };
  });
  const best = Math.min(...laps.map((lap) => lap.time));
  return laps.map((lap) => ({ ...lap, delta: lap.time - best }));
}

/** Places over time; null of what never moves. The first row is where it sets off. */
function pathOf(body, series) {
  const x = (i) => series.get(body.x, i);
  const y = (i) => series.get(body.y, i);
  for (let i = 1; i < series.count; i++) {
    if (Math.hypot(x(i) - x(0), y(i) - y(0)) > 0.5) {
      return { x, y, times: series.times, count: series.count, first: 0, ahead: i };
    }
  }
  return null;
}

/** The line across the path at a row. */
function gateAt(path, row) {
  let next = row;
  let dx = 0, dy = 0;
  while (next < path.count - 1 && Math.hypot(dx, dy) < 0.5) {
    next++;
    dx = path.x(next) - path.x(row);
    dy = path.y(next) - path.y(row);
  }
  const length = Math.hypot(dx, dy) || 1;
  return { x: path.x(row), y: path.y(row), cos: dx / length, sin: dy / length };
}

/** Where a path crosses a gate forwards between two rows, having been away from it since. */
function crossings(path, gate, first, last = path.count - 1, away = AWAY) {
  const found = [];
  let far = 0;
  let before = along(gate, path.x(first), path.y(first));
  for (let i = first + 1; i <= last; i++) {
    const x = path.x(i), y = path.y(i);
    const here = along(gate, x, y);
    far = Math.max(far, Math.hypot(x - gate.x, y - gate.y));
    if (before < 0 && here >= 0 && far >= away && Math.abs(across(gate, x, y)) < HALF_WIDTH) {
      const share = before / (before - here);
      found.push({ row: i, time: path.times[i - 1] + share * (path.times[i] - path.times[i - 1]) });
      far = 0;
    }
    before = here;
  }
  return found;
}

function along(gate, x, y) {
  return gate.cos * (x - gate.x) + gate.sin * (y - gate.y);
}

function across(gate, x, y) {
  return gate.cos * (y - gate.y) - gate.sin * (x - gate.x);
}

/** The lines between sectors, at equal parts of the way between two rows. */
function sectorGates(path, first, last) {
  const way = [0];
  for (let i = first + 1; i <= last; i++) {
    way.push(way.at(-1) + Math.hypot(path.x(i) - path.x(i - 1), path.y(i) - path.y(i - 1)));
  }
  return Array.from({ length: SECTORS - 1 }, (_, k) => {
    const goal = (way.at(-1) * (k + 1)) / SECTORS;
    return gateAt(path, first + way.findIndex((length) => length >= goal));
  });
}
