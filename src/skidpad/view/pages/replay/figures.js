// The few numbers that are read at a glance, beside the g-g diagram.

import { accelerationsOf, frictionUse, quantity, speedOf } from "skidpad/channels.js";
import { fixed, make } from "skidpad/dom.js";
import { GG } from "skidpad/gg.js";

export class Figures {
  constructor(holder, changed) {
    this.gg = new GG(changed);
    this.grid = make("dl", { class: "numbers" });
    holder.replaceChildren(this.grid, this.gg.element);
    this.holder = holder;
    this.tiles = [];
  }

  setBody(stage, body) {
    this.gg.setBody(body, stage);
    this.tiles = body ? tilesOf(stage, body) : [];
    this.grid.replaceChildren(...this.tiles.map((tile) => tile.element));
    this.holder.hidden = !this.tiles.length && !this.gg.own;
  }

  update(series, time, live) {
    if (!series.count) return;
    for (const tile of this.tiles) {
      const text = tile.text(series);
      if (tile.value.textContent !== text) tile.value.textContent = text;
    }
    this.gg.draw(series, time, live);
  }
}

function tilesOf(stage, body) {
  const tiles = [];
  const add = (label, unit, text, large = false) => {
    const value = make("b");
    const parts = [make("dt", {}, label), make("dd", {}, value, make("em", {}, unit))];
    tiles.push({ value, text, element: make("div", large ? { class: "large" } : {}, ...parts) });
  };
  const speed = speedOf(body);
  if (speed) {
    add("Speed", "m/s", (s) => fixed(speed.at(s), 1), true);
    add("", "km/h", (s) => fixed(3.6 * speed.at(s), 0));
  }
  const a = accelerationsOf(body, stage);
  if (a) {
    add("Along", "g", (s) => fixed(a.x.at(s), 2));
    add("Across", "g", (s) => fixed(a.y.at(s), 2));
  }
  const { steer, omega, hitch } = body.channels;
  if (steer !== undefined) one(stage, steer, "Steering", add);
  if (omega !== undefined) one(stage, omega, "Yaw rate", add);
  const use = frictionUse(stage, body);
  if (use.length) add("Friction use", use[0].unit, (s) => fixed(Math.max(...use.map((wheel) => wheel.at(s))), 2));
  if (hitch !== undefined) one(stage, hitch, "Hitch", add);
  return tiles;
}

function one(stage, place, label, add) {
  const q = quantity(stage, place);
  add(label, q.unit, (series) => fixed(q.at(series), 1));
}
