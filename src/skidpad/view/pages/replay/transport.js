// The bar below: play, step, time, and a strip of the whole film to scrub on.

import { SPEEDS } from "skidpad/clock.js";
import { speedStep, theme } from "skidpad/colours.js";
import { byId, icon, iconButton, make } from "skidpad/dom.js";

export class Transport {
  /** `on` is {toggle(), step(rows), seek(time), speed(value), loop(), start(), changed()}. */
  constructor(on) {
    this.on = on;
    this.play = iconButton("play", "Play", on.toggle, { class: "icon primary", id: "play" });
    const loop = { "aria-pressed": "false", id: "loop" };
    this.loop = iconButton("loop", "Play again from the start at the end", on.loop, loop);
    byId("buttons").replaceChildren(
      iconButton("start", "To the start", on.start, { id: "to-start" }),
      iconButton("back", "One sample back", () => on.step(-1), { id: "step-back" }),
      this.play,
      iconButton("forward", "One sample on", () => on.step(1), { id: "step-forward" }),
      this.loop,
    );
    this.time = byId("time");
    this.strip = byId("scrub").querySelector("canvas");
    this.thumb = byId("scrub").querySelector("i");
    this.slider = byId("scrub").querySelector("input");
    this.slider.addEventListener("input", () => on.seek(Number(this.slider.value)));
    this.speed = byId("speed");
    this.speed.replaceChildren(...SPEEDS.map((speed) => make("option", { value: speed }, `${speed}×`)));
    this.speed.addEventListener("change", () => on.speed(Number(this.speed.value)));
    /** A live world has neither a start to go to nor an end to begin again from. */
    this.live = document.documentElement.dataset.mode === "live";
    this.loop.hidden = byId("to-start").hidden = this.live;
    this.drawn = "";
    this.wasPlaying = null;
    this.size = { width: 0, height: 0 };
    new ResizeObserver(([{ contentRect }]) => {
      this.size = contentRect;
      on.changed();
    }).observe(this.strip);
  }

  update(clock) {
    if (this.wasPlaying !== clock.playing) {
      this.wasPlaying = clock.playing;
      this.play.replaceChildren(icon(clock.playing ? "pause" : "play"));
      const label = clock.playing ? "Pause" : "Play";
      this.play.setAttribute("aria-label", label);
      this.play.title = label;
    }
    this.loop.setAttribute("aria-pressed", String(clock.loop));
    if (this.speed.value !== String(clock.speed)) this.speed.value = String(clock.speed);
    if (Number(this.slider.max) !== clock.end || Number(this.slider.min) !== clock.begin) {
      this.slider.min = clock.begin;
      this.slider.max = clock.end;
    }
    this.slider.value = clock.time;
    const share = (clock.time - clock.begin) / Math.max(clock.end - clock.begin, 1e-9);
    this.thumb.style.left = `${(100 * share).toFixed(3)}%`;
    const [now, end] = [clockText(clock.time, clock.end), clockText(clock.end, clock.end)];
    const text = this.live ? `${now} s` : `${now} / ${end}`;
    if (this.time.textContent !== text) {
      this.time.textContent = text;
      this.slider.setAttribute("aria-valuetext", `${clock.time.toFixed(2)} s`);
    }
  }

  /** The strip: the speed of the chosen vehicle over the whole film. */
  drawStrip(series, speed, low, high) {
    const { size } = this;
    const state = `${series.revision} ${theme.revision} ${size.width} ${low} ${high} ${speed?.label} ${this.stripOf}`;
    if (state === this.drawn || size.width < 2) return;
    this.drawn = state;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = (this.strip.width = Math.round(size.width * ratio));
    const height = (this.strip.height = Math.round(size.height * ratio));
    const context = this.strip.getContext("2d");
    context.fillStyle = theme.faint;
    context.fillRect(0, 0, width, height);
    if (!speed || series.count < 2) return;
    const span = series.end - series.begin;
    for (let x = 0; x < width; x++) {
      const value = speed.get(series, series.rowAt(series.begin + ((x + 0.5) / width) * span));
      context.fillStyle = theme.speeds[speedStep(value, low, high)];
      context.fillRect(x, 0, 1, height);
    }
  }
}

/** Seconds, or minutes and seconds in a long film. */
function clockText(time, end) {
  if (end < 60) return time.toFixed(2);
  const minutes = Math.floor(time / 60 + 1e-9);
  return `${minutes}:${(time - 60 * minutes).toFixed(2).padStart(5, "0")}`;
}
