// Ranges and ticks of axes.

import { roundStep } from "skidpad/ground.js";

/** Numbers so small, in the unit of the screen, are the rounding of 0. */
const FLAT = 1e-4;

/** Round ends and a step for values from low to high, about `parts` steps apart. */
export function niceRange(low, high, parts, { zero = false, floor = -Infinity } = {}) {
  let a = Number.isFinite(low) ? low : 0;
  let b = Number.isFinite(high) ? Math.max(high, floor) : Math.max(1, floor);
  if (zero) {
    a = Math.min(a, 0);
    b = Math.max(b, 0);
  }
  // A constant gets a span that does not blow up its rounding, and nothing at all one of 1.
  const size = Math.max(Math.abs(a), Math.abs(b));
  const least = size < FLAT ? 1 : 0.05 * size;
  if (b - a < (size < FLAT ? FLAT : least)) [a, b] = [zero && a === 0 ? 0 : a - least, b + least];
  const step = roundStep((b - a) / parts);
  return { low: Math.floor(a / step + 1e-6) * step, high: Math.ceil(b / step - 1e-6) * step, step };
}

/** A tick's words, with as many places as its step needs. */
export function tickText(value, step) {
  const places = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const shown = Math.abs(value) < step * 1e-6 ? 0 : value;
  const text = Math.abs(shown) < 10000 ? shown.toFixed(places) : `${(shown / 1000).toFixed(step < 1000 ? 1 : 0)}k`;
  return text.replace("-", "−");
}

/** Least and largest of a quantity over some rows. */
export function extent(quantity, series, first, last, into) {
  for (let i = first; i <= last; i++) {
    const value = quantity.get(series, i);
    if (value < into.low) into.low = value;
    if (value > into.high) into.high = value;
  }
  return into;
}
