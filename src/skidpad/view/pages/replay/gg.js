// The g-g diagram: how the vehicle was accelerated so far, and where the vehicle is now.
//
// As seen from above the vehicle: driving up, braking down, to the left left.

import { accelerationsOf } from "skidpad/channels.js";
import { theme } from "skidpad/colours.js";
import { make } from "skidpad/dom.js";
import { roundStep } from "skidpad/ground.js";
import { tickText } from "skidpad/axis.js";

const MARGIN = 13;
/** The bright part of the trail, in s. */
const TRAIL = 2;
const MOST_DOTS = 6000;
/** End of the scale in g: no tyres and wings of vehicles on the ground give more. */
const MOST = 6;

export class GG {
  constructor(changed) {
    this.canvas = make("canvas", { role: "img", "aria-label": "Acceleration along over acceleration across, in g" });
    this.element = make("div", { class: "gg" }, this.canvas);
    this.cloud = document.createElement("canvas");
    this.cloudOf = "";
    this.own = null;
    this.most = 0;
    this.size = 0;
    new ResizeObserver(([{ contentRect }]) => {
      this.size = Math.min(contentRect.width, contentRect.height);
      changed();
    }).observe(this.element);
  }

  setBody(body, stage) {
    this.own = body && accelerationsOf(body, stage);
    this.element.hidden = !this.own;
    this.cloudOf = "";
    this.most = 0;
  }

  draw(series, time, live) {
    if (!this.own || !series.count) return;
    if (this.size < 10) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.#fit(series, live);
    const pixels = Math.round(this.size * ratio);
    if (this.canvas.width !== pixels) this.canvas.width = this.canvas.height = pixels;
    this.#drawCloud(series, ratio, pixels, live);
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, pixels, pixels);
    context.drawImage(this.cloud, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#drawTrail(context, series, time);
  }

  /** The scale: half the axes in g. */
  #fit(series, live) {
    if (!live && this.most) return;
    const from = live ? Math.max(0, series.count - 600) : 0;
    const stride = live ? 5 : Math.max(1, Math.floor(series.count / MOST_DOTS));
    let most = live ? this.most : 0.1;
    for (let i = from; i < series.count; i += stride) {
      most = Math.max(most, Math.abs(this.own.x.get(series, i)) || 0, Math.abs(this.own.y.get(series, i)) || 0);
    }
    // A crash is off the scale: all that came before and comes after would be a dot.
    this.most = most = Math.min(most, MOST);
    this.step = roundStep(Math.max(most, 0.1) / 4);
    this.half = Math.max(this.step, Math.ceil((most * 1.02) / this.step) * this.step);
  }

  #place(series, row) {
    this.sx = this.size / 2 - (this.own.y.get(series, row) / this.half) * (this.size / 2 - MARGIN);
    this.sy = this.size / 2 - (this.own.x.get(series, row) / this.half) * (this.size / 2 - MARGIN);
  }

  /** Circles, axes and all samples, kept as an image. */
  #drawCloud(series, ratio, pixels, live) {
    const key = `${pixels} ${theme.revision} ${this.half} ${live ? "" : series.revision}`;
    if (key === this.cloudOf) return;
    this.cloudOf = key;
    this.cloud.width = this.cloud.height = pixels;
    const context = this.cloud.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#drawAxes(context);
    if (live) return;
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.22;
    const stride = Math.max(1, Math.floor(series.count / MOST_DOTS));
    for (let i = 0; i < series.count; i += stride) {
      this.#place(series, i);
      context.fillRect(this.sx - 0.75, this.sy - 0.75, 1.5, 1.5);
    }
    context.globalAlpha = 1;
  }

  #drawAxes(context) {
    const middle = this.size / 2;
    const scale = (middle - MARGIN) / this.half;
    context.strokeStyle = theme.grid_strong;
    context.lineWidth = 1;
    for (let g = this.step; g <= this.half * 1.001; g += this.step) {
      context.beginPath();
      context.arc(middle, middle, g * scale, 0, 2 * Math.PI);
      context.stroke();
    }
    context.beginPath();
    context.moveTo(MARGIN, middle);
    context.lineTo(this.size - MARGIN, middle);
    context.moveTo(middle, MARGIN);
    context.lineTo(middle, this.size - MARGIN);
    context.stroke();
    context.fillStyle = theme.muted;
    context.font = "9.5px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText("drive", middle, 5.5);
    context.fillText("brake", middle, this.size - 5.5);
    context.save();
    context.translate(5.5, middle);
    context.rotate(-Math.PI / 2);
    context.fillText("left", 0, 0);
    context.restore();
    context.save();
    context.translate(this.size - 5.5, middle);
    context.rotate(Math.PI / 2);
    context.fillText("right", 0, 0);
    context.restore();
    context.textAlign = "left";
    const diagonal = this.half * scale * Math.SQRT1_2;
    context.fillText(`${tickText(this.half, this.step)} g`, middle + diagonal + 2, middle + diagonal + 6);
  }

  #drawTrail(context, series, time) {
    const first = series.rowAt(time - TRAIL);
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    context.lineJoin = "round";
    context.beginPath();
    for (let i = first; i <= series.row; i++) {
      this.#place(series, i);
      if (i === first) context.moveTo(this.sx, this.sy);
      else context.lineTo(this.sx, this.sy);
    }
    const scale = (this.size / 2 - MARGIN) / this.half;
    const x = this.size / 2 - this.own.y.at(series) * scale;
    const y = this.size / 2 - this.own.x.at(series) * scale;
    context.lineTo(x, y);
    context.stroke();
    context.beginPath();
    context.arc(x, y, 5, 0, 2 * Math.PI);
    context.fillStyle = theme.acceleration;
    context.fill();
    context.strokeStyle = theme.surface;
    context.lineWidth = 2;
    context.stroke();
  }
}
