// One time plot: a canvas with curves, a legend with the values at the cursor.

import { extent, niceRange, tickText } from "skidpad/axis.js";
import { lineColour, theme } from "skidpad/colours.js";
import { fixed, make } from "skidpad/dom.js";
import { roundStep } from "skidpad/ground.js";

export const LEFT = 42;
export const RIGHT = 10;
const TOP = 5;
const BOTTOM = 5;

export class TimePlot {
  constructor(panel, remove = null) {
    this.panel = panel;
    this.canvas = make("canvas");
    this.cursor = make("i", { class: "cursor" });
    this.hover = make("i", { class: "hover" });
    this.area = make("div", { class: "area" }, this.canvas, this.cursor, this.hover);
    this.values = panel.lines.map(() => make("b"));
    this.keys = panel.lines.map((line) => make("i", { class: line.dashed ? "key dashed" : "key" }));
    const legend = make("div", { class: "legend-row" }, ...panel.lines.map(({ quantity }, k) => {
      const name = !panel.unnamed && (panel.lines.length > 1 || quantity.label === "target") ? quantity.label : "";
      return make("span", { title: quantity.label }, this.keys[k], name, this.values[k]);
    }));
    const heading = make("h3", {}, panel.title, panel.unit ? make("em", {}, panel.unit) : null);
    const attributes = { type: "button", class: "remove", "aria-label": `Remove ${panel.title}`, click: remove };
    const close = remove && make("button", attributes, "×");
    this.element = make("figure", { class: "plot" }, make("header", {}, heading, legend, close), this.area);
    this.drawn = "";
    this.range = null;
    this.rangeOf = "";
    this.places = 2;
    /** Of the area in px; told, because asking the browser after each change is slow. */
    this.width = 0;
    this.height = 0;
    /** Whether any of it is on screen; those that are not are not drawn. */
    this.shown = true;
  }

  /** Draw the curves between two times, if anything has changed since. */
  draw(series, begin, end, moving) {
    const state = `${series.revision} ${begin} ${end} ${theme.revision} ${this.width} ${this.height}`;
    if (state === this.drawn || this.width < 2) return;
    this.drawn = state;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.#resize(ratio);
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    if (!series.count) return;
    const first = series.rowAt(begin);
    const last = Math.min(series.rowAt(end) + 1, series.count - 1);
    this.#fitRange(series, moving ? first : 0, moving ? last : series.count - 1);
    this.#drawAxes(context, begin, end);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, this.width - LEFT - RIGHT, this.height);
    context.clip();
    this.panel.lines.forEach((line, k) => {
      this.keys[k].style.setProperty("--key", colourOf(line.colour));
      this.#drawLine(context, series, line, first, last, begin, end);
    });
    context.restore();
  }

  #resize(ratio) {
    const width = Math.round(this.width * ratio);
    const height = Math.round(this.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
  }

  #fitRange(series, first, last) {
    const key = `${series.revision} ${first} ${last}`;
    if (key === this.rangeOf) return;
    this.rangeOf = key;
    const found = { low: Infinity, high: -Infinity };
    for (const line of this.panel.lines) extent(line.quantity, series, first, last, found);
    this.range = niceRange(found.low, found.high, 3, this.panel);
    // Values in the legend have one place more than the ticks, as far as that says something.
    const { step } = this.range;
    this.places = step >= 50 ? 0 : step >= 1 ? 1 : Math.min(5, 1 - Math.floor(Math.log10(step) + 1e-9));
  }

  #drawAxes(context, begin, end) {
    const { low, high, step } = this.range;
    context.lineWidth = 1;
    context.font = "10px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    const seconds = roundStep((end - begin) / Math.max(2, (this.width - LEFT) / 90));
    context.strokeStyle = theme.grid;
    context.beginPath();
    for (let t = Math.ceil(begin / seconds) * seconds; t <= end; t += seconds) {
      const x = crisp(this.#x(t, begin, end));
      context.moveTo(x, TOP);
      context.lineTo(x, this.height - BOTTOM);
    }
    context.stroke();
    for (let v = low; v <= high + 0.01 * step; v += step) {
      const y = crisp(this.#y(v));
      context.strokeStyle = Math.abs(v) < 0.01 * step ? theme.grid_strong : theme.grid;
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(this.width - RIGHT, y);
      context.stroke();
      context.fillStyle = theme.muted;
      context.fillText(tickText(v, step), LEFT - 6, Math.min(Math.max(y, 6), this.height - 6));
    }
  }

  #x(time, begin, end) { return LEFT + ((time - begin) / (end - begin)) * (this.width - LEFT - RIGHT); }

  #y(value) {
    const { low, high } = this.range;
    return TOP + ((high - value) / (high - low)) * (this.height - TOP - BOTTOM);
  }

  #drawLine(context, series, { quantity, colour, dashed }, first, last, begin, end) {
    context.strokeStyle = colourOf(colour);
    context.lineWidth = dashed ? 1 : 1.4;
    context.globalAlpha = dashed ? 0.85 : 1;
    context.lineJoin = "round";
    context.setLineDash(dashed ? [3, 2] : []);
    context.beginPath();
    const columns = this.width - LEFT - RIGHT;
    if (last - first > 2.5 * columns) this.#envelope(context, series, quantity, first, last, begin, end);
    else this.#every(context, series, quantity, first, last, begin, end);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  #every(context, series, quantity, first, last, begin, end) {
    let y = NaN;
    for (let i = first; i <= last; i++) {
      const x = this.#x(series.times[i], begin, end);
      const next = this.#y(quantity.get(series, i));
      if (y !== y) context.moveTo(x, next);
      else if (quantity.held) {
        context.lineTo(x, y);
        context.lineTo(x, next);
      } else context.lineTo(x, next);
      y = next;
    }
  }

  /** Least and largest of all samples in each column of pixels: no peak gets lost. */
  #envelope(context, series, quantity, first, last, begin, end) {
    let column = -1, low = 0, high = 0, previous = NaN;
    for (let i = first; i <= last; i++) {
      const x = Math.floor(this.#x(series.times[i], begin, end));
      const y = this.#y(quantity.get(series, i));
      if (x !== column) {
        if (column >= 0) previous = bar(context, column, low, high, previous);
        column = x;
        low = high = y;
      } else if (y < low) low = y;
      else if (y > high) high = y;
    }
    if (column >= 0) bar(context, column, low, high, previous);
  }

  /** Move the cursor and show the values there; `hover` is null or the time under the pointer. */
  mark(series, time, hover, begin, end) {
    this.#put(this.cursor, time, begin, end);
    this.#put(this.hover, hover, begin, end);
    if (!series.count) return;
    if (hover !== null) series.locate(hover);
    this.panel.lines.forEach((line, k) => {
      const text = fixed(line.quantity.at(series), this.places);
      if (this.values[k].textContent !== text) this.values[k].textContent = text;
    });
    if (hover !== null) series.locate(time);
  }

  #put(element, time, begin, end) {
    const seen = time !== null && time >= begin && time <= end;
    element.style.opacity = seen ? "" : "0";
    if (seen) element.style.transform = `translateX(${this.#x(time, begin, end).toFixed(1)}px)`;
  }

  /** The time under a place of the screen. */
  timeAt(clientX, begin, end) {
    const box = this.area.getBoundingClientRect();
    const share = (clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    return begin + Math.min(Math.max(share, 0), 1) * (end - begin);
  }
}

/** A colour by its number, or as it is. */
function colourOf(colour) {
  return typeof colour === "string" ? colour : lineColour(colour);
}

function bar(context, x, low, high, previous) {
  // From the end that is nearer to where the column before ended.
  const [from, to] = Math.abs(previous - low) <= Math.abs(previous - high) ? [low, high] : [high, low];
  if (previous !== previous) context.moveTo(x + 0.5, from);
  else context.lineTo(x + 0.5, from);
  context.lineTo(x + 0.5, to);
  return to;
}

function crisp(value) {
  return Math.round(value) + 0.5;
}
