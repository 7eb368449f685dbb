// The ground: squares whose size follows the zoom, and the scale bar.

import { theme } from "skidpad/colours.js";

/** Squares are at least this many px wide. */
const LEAST_SQUARE = 22;
const BAR = 110;

/** The smallest of 1, 2, 5 times a power of ten that is not below a value. */
export function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  const share = least / power;
  return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

/** Fine and strong lines over what is seen, in metres of the world. */
export function drawGround(context, view, ratio) {
  const step = roundStep(LEAST_SQUARE / view.zoom);
  // Strong lines on whole tens of the decade above, so that they stay put when squares change.
  const strong = roundStep(step * 4.9);
  view.applyWorld(context, ratio);
  drawLines(context, view, step, theme.grid, 1);
  drawLines(context, view, strong, theme.grid_strong, 1);
}

function drawLines(context, view, step, colour, width) {
  const reach = view.reach;
  const left = Math.floor((view.x - reach) / step);
  const right = Math.ceil((view.x + reach) / step);
  const bottom = Math.floor((view.y - reach) / step);
  const top = Math.ceil((view.y + reach) / step);
  context.beginPath();
  for (let k = left; k <= right; k++) {
    context.moveTo(k * step, bottom * step);
    context.lineTo(k * step, top * step);
  }
  for (let k = bottom; k <= top; k++) {
    context.moveTo(left * step, k * step);
    context.lineTo(right * step, k * step);
  }
  context.strokeStyle = colour;
  context.lineWidth = width / view.zoom;
  context.stroke();
}

/** Length and words of the bar under the picture, and how far apart contour lines are. */
export function updateScale(element, view, reliefs) {
  const metres = roundStep(BAR / 2.2 / view.zoom);
  element.firstElementChild.style.width = `${metres * view.zoom}px`;
  const intervals = [...new Set(reliefs.map(({ interval }) => interval).filter(Boolean))].map(lengthText);
  const words = lengthText(metres) + (intervals.length ? ` · contours ${intervals.join(", ")}` : "");
  if (element.lastElementChild.textContent !== words) element.lastElementChild.textContent = words;
}

function lengthText(metres) {
  if (metres >= 1000) return `${metres / 1000} km`;
  if (metres >= 1) return `${metres} m`;
  return metres >= 0.01 ? `${Math.round(metres * 100)} cm` : `${Math.round(metres * 1000)} mm`;
}
