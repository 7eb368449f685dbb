// The stack of time plots: which there are, the stretch of time they show, scrubbing on them.

import { tickText } from "skidpad/axis.js";
import { make } from "skidpad/dom.js";
import { roundStep } from "skidpad/ground.js";
import { LEFT, RIGHT, TimePlot } from "skidpad/plot.js";
import { comparedPanels, panelOf, panelsOf } from "skidpad/panels.js";

/** Stretches of time that can be chosen, in s. */
export const STRETCHES = [Infinity, 60, 20, 5];
/** Without a choice a live world shows this much of its past, in s. */
const LIVE_STRETCH = 20;
/** When the cursor leaves a stretch, the next one begins this share before it. */
const LEAD = 0.1;

export class Plots {
  constructor(holder, { seek, changed }) {
    this.holder = holder;
    this.seek = seek;
    this.changed = changed;
    this.plots = [];
    /** Channels that were picked from the table of values, for every vehicle that has them. */
    this.own = [];
    /** Whether curves of all vehicles are shown, and those that there are: [{body, colour}]. */
    this.comparing = false;
    this.vehicles = [];
    this.stretch = Infinity;
    this.begin = 0;
    this.end = 1;
    this.hover = null;
    this.axisWidth = 0;
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) entry.target.plot.shown = entry.isIntersecting;
      changed();
    }, { root: null, rootMargin: "80px" });
    this.sizes = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries) {
        if (target === this.axis) this.axisWidth = contentRect.width;
        else Object.assign(target.parentElement.plot, { width: contentRect.width, height: contentRect.height });
      }
      changed();
    });
    this.#listen();
  }

  /** The plots of a body; null for none. */
  setBody(stage, body) {
    this.stage = stage;
    this.body = body;
    this.observer.disconnect();
    this.sizes.disconnect();
    const own = body ? this.own.map((name) => panelOf(stage, body, name)).filter(Boolean) : [];
    const many = this.comparing && this.vehicles.length > 1;
    const usual = !body ? [] : many ? comparedPanels(stage, body, this.vehicles) : panelsOf(stage, body);
    // The names of all vehicles stand once; a colour means the same vehicle everywhere.
    if (many) for (const panel of usual.slice(1)) panel.unnamed = true;
    const panels = [...own, ...usual];
    this.plots = panels.map((panel) => new TimePlot(panel, panel.own ? () => this.togglePanel(panel.own) : null));
    this.axis = make("div", { class: "axis", "aria-hidden": "true" });
    const empty = panels.length ? null : make("p", { class: "empty" }, "Nothing of this vehicle to plot.");
    this.holder.replaceChildren(...this.plots.map((plot) => plot.element), ...(empty ? [empty] : [this.axis]));
    for (const plot of this.plots) {
      plot.element.plot = plot;
      this.observer.observe(plot.element);
      this.sizes.observe(plot.area);
    }
    this.sizes.observe(this.axis);
    this.axisOf = "";
  }

  /** Show the curves of all vehicles on top of each other, or of the chosen one alone. */
  compare(on) {
    this.comparing = on;
    this.setBody(this.stage, this.body);
    this.changed();
  }

  /** Add a channel as a plot of its own, or take it away; says whether it is there now. */
  togglePanel(name) {
    const here = this.own.includes(name);
    this.own = here ? this.own.filter((one) => one !== name) : [name, ...this.own];
    this.setBody(this.stage, this.body);
    this.changed();
    return !here;
  }

  /** Draw what changed and move the cursors. `live` shows the last stretch instead of a page. */
  update(series, time, live) {
    this.#fitStretch(series, time, live);
    const { begin, end } = this;
    for (const plot of this.plots) {
      if (!plot.shown) continue;
      plot.draw(series, begin, end, live);
      plot.mark(series, time, this.hover, begin, end);
    }
    this.#drawAxis();
  }

  #fitStretch(series, time, live) {
    const whole = Math.max(series.end - series.begin, 1e-3);
    const wanted = live && !Number.isFinite(this.stretch) ? LIVE_STRETCH : this.stretch;
    const length = live ? wanted : Math.min(wanted, whole);
    if (live && time >= series.end - 0.5) {
      this.end = series.end;
      this.begin = this.end - Math.min(length, Math.max(whole, 2));
      return;
    }
    if (length >= whole) {
      this.begin = series.begin;
      this.end = series.begin + whole;
      return;
    }
    // Like the pages of a chart recorder: curves that stand still are easier to read.
    const fits = Math.abs(this.end - this.begin - length) < 1e-6 && time >= this.begin && time <= this.end;
    if (fits) return;
    this.begin = Math.min(Math.max(time - LEAD * length, series.begin), series.end - length);
    this.end = this.begin + length;
  }

  #drawAxis() {
    const width = this.axisWidth;
    const state = `${this.begin} ${this.end} ${width}`;
    if (!this.plots.length || state === this.axisOf || !width) return;
    this.axisOf = state;
    const span = width - LEFT - RIGHT;
    const step = roundStep((this.end - this.begin) / Math.max(2, (width - LEFT) / 90));
    const ticks = [];
    for (let t = Math.ceil(this.begin / step) * step; t <= this.end + 1e-9; t += step) {
      const x = LEFT + ((t - this.begin) / (this.end - this.begin)) * span;
      ticks.push(make("span", { style: `left:${x.toFixed(1)}px` }, tickText(t, step)));
    }
    this.axis.replaceChildren(make("em", {}, "time, s"), ...ticks);
  }

  #listen() {
    const plotUnder = (event) => event.target.closest?.(".area")?.parentElement.plot;
    const timeUnder = (event, plot) => plot.timeAt(event.clientX, this.begin, this.end);
    let held = null;
    this.holder.addEventListener("pointerdown", (event) => {
      const plot = plotUnder(event);
      if (!plot || event.button) return;
      held = plot;
      this.holder.setPointerCapture(event.pointerId);
      this.seek(timeUnder(event, plot));
    });
    this.holder.addEventListener("pointermove", (event) => {
      const plot = held ?? plotUnder(event);
      const time = plot ? timeUnder(event, plot) : null;
      if (held) this.seek(time);
      this.#setHover(held || event.pointerType === "touch" ? null : time);
    });
    const release = () => { held = null; };
    this.holder.addEventListener("pointerup", release);
    this.holder.addEventListener("pointercancel", release);
    this.holder.addEventListener("pointerleave", () => this.#setHover(null));
  }

  #setHover(time) {
    if (time === this.hover) return;
    this.hover = time;
    this.changed();
  }
}
