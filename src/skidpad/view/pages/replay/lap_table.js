// The table of laps: time, how far behind the best, and the sectors. A click goes to where one began.

import { fixed, make } from "skidpad/dom.js";
import { lapsOf } from "skidpad/laps.js";

export class LapTable {
  /** `seek` is called with the time of a lap that was clicked. */
  constructor(holder, seek) {
    this.holder = holder;
    this.seek = seek;
    this.laps = [];
  }

  /** Fill it with the laps of a body; says whether there are any. */
  setBody(body, series) {
    this.laps = body ? lapsOf(body, series) : [];
    if (!this.laps.length) {
      this.holder.replaceChildren();
      return false;
    }
    const sectors = this.laps[0].sectors.map((_, k) => Math.min(...this.laps.map((lap) => lap.sectors[k])));
    const head = ["Lap", "Time, s", "To best", ...sectors.map((_, k) => `Sector ${k + 1}`)];
    const rows = this.laps.map((lap, k) => this.#row(lap, k, sectors));
    this.holder.replaceChildren(make("table", { class: "laps" },
      make("thead", {}, make("tr", {}, ...head.map((word) => make("th", { scope: "col" }, word)))),
      make("tbody", {}, ...rows)));
    return true;
  }

  #row(lap, k, best) {
    const cell = (text, good) => make("td", good ? { class: "best" } : {}, text);
    const number = make("button", { type: "button", click: () => this.seek(lap.from) }, String(k + 1));
    number.setAttribute("aria-label", `Go to lap ${k + 1}`);
    return make("tr", {}, make("td", {}, number),
      cell(fixed(lap.time, 3), lap.delta === 0),
      cell(lap.delta === 0 ? "best" : `+${fixed(lap.delta, 3)}`, lap.delta === 0),
      ...lap.sectors.map((time, s) => cell(fixed(time, 3), time === best[s])));
  }
}
