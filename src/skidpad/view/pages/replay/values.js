// The table of all numbers of the chosen vehicle at the cursor. A click on one plots it.

import { quantity } from "skidpad/channels.js";
import { figure, make } from "skidpad/dom.js";

const ROLES = [["state", "States"], ["input", "Inputs"], ["measured", "Measured"], ["output", "Outputs"]];

export class Values {
  constructor(holder, toggled) {
    this.holder = holder;
    this.toggled = toggled;
    this.rows = [];
  }

  setBody(stage, body, plotted) {
    this.rows = [];
    const parts = ROLES.flatMap(([role, title]) => {
      const own = Object.entries(body?.channels ?? {}).filter(([, place]) => stage.channels[place].role === role);
      if (!own.length) return [];
      const rows = own.map(([name, place]) => this.#row(stage, name, place, plotted.includes(name)));
      return [make("h3", {}, title), make("div", { class: "table" }, ...rows)];
    });
    this.holder.replaceChildren(make("p", { class: "hint" }, "Click a number to plot it over time."), ...parts);
  }

  #row(stage, name, place, plotted) {
    const q = quantity(stage, place);
    const value = make("b");
    const label = q.role === "input" ? name.replace(/^u_/, "") : name;
    const attributes = { type: "button", "aria-pressed": String(plotted), "data-channel": name };
    const row = make("button", attributes, make("span", {}, label), value, make("em", {}, q.unit));
    row.addEventListener("click", () => row.setAttribute("aria-pressed", String(this.toggled(name))));
    this.rows.push({ value, q });
    return row;
  }

  update(series) {
    if (this.holder.hidden || !series.count) return;
    for (const { value, q } of this.rows) {
      const text = figure(q.at(series), 4);
      if (value.textContent !== text) value.textContent = text;
    }
  }
}
