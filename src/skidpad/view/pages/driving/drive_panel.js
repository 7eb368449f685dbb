// The controls of a page that drives: recordings to save, all parameters, no wheel to take.

import { byId, figure, make } from "skidpad/dom.js";
import { mcapParts } from "skidpad/mcap.js";

export class DrivePanel {
  constructor(live, world) {
    this.live = live;
    this.world = world;
    this.about = world.head.vehicle;
    const { panel } = live;
    panel.wheel.parentElement.hidden = true;
    for (const button of panel.places.values()) button.hidden = true;
    this.saved = make("p", { class: "saved", id: "saved", hidden: true });
    panel.tools.after(this.saved);
    panel.details.after(this.#allParameters());
    byId("link").title = "Times real time, load of a core, kind of the module";
  }

  /** Offer what was recorded as files. */
  offer(log) {
    const words = `${figure(log.duration)} s recorded: `;
    this.saved.replaceChildren(words, this.#button("MCAP", () => this.#saveMcap(log)), " ",
      this.#button("CSV", () => this.#saveCsv(log)));
    this.saved.hidden = log.count === 0;
  }

  #button(kind, click) {
    return make("button", { type: "button", class: "save", "data-save": kind.toLowerCase(), click }, `save ${kind}`);
  }

  #saveMcap(log) {
    const notes = log.notes.length ? { events: log.notes } : {};
    const parts = mcapParts(this.world.head.recording, log.count, this.world.rowOf(log), notes);
    save(new Blob(parts, { type: "application/octet-stream" }), `${this.#fileName()}.mcap`);
  }

  #saveCsv(log) {
    save(new Blob([log.csv(this.about.heads)], { type: "text/csv" }), `${this.#fileName()}.csv`);
  }

  #fileName() {
    const now = new Date();
    const two = (number) => String(number).padStart(2, "0");
    const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
    const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join("");
    return `${this.about.name.replace(/\W+/g, "_")}-${date}-${time}`;
  }

  /** All parameters as numbers, made when they are first looked at. */
  #allParameters() {
    const { fields } = this.about;
    const list = (this.list = make("div", { class: "all-params" }));
    const details = make("details", { class: "all", id: "all-params" },
      make("summary", {}, `All ${fields.length} parameters`), list);
    details.addEventListener("toggle", () => {
      if (!details.open) return;
      if (!list.childElementCount) list.append(...this.#rows());
      this.refresh();
    });
    details.hidden = !fields.length;
    return details;
  }

  #rows() {
    const search = make("input", { type: "search", placeholder: "name or meaning", "aria-label": "Look for a parameter" });
    const restore = () => this.world.restoreParams();
    const back = make("button", { type: "button", class: "save", click: restore }, "as at the start");
    const rows = this.about.fields.map((field) => this.#row(field));
    search.addEventListener("input", () => {
      const wanted = search.value.toLowerCase();
      rows.forEach((row, k) => {
        const { name, text } = this.about.fields[k];
        row.hidden = !`${name} ${text}`.toLowerCase().includes(wanted);
      });
    });
    return [make("p", { class: "find" }, search, back), ...rows];
  }

  #row(field) {
    const input = make("input", { type: "number", step: "any", "data-param": field.name, inputmode: "decimal" });
    input.addEventListener("change", () => {
      this.world.setParam(field.name, input.value === "" ? NaN : Number(input.value));
    });
    // Enter gives the keys back to the vehicle.
    input.addEventListener("keydown", (event) => event.key === "Enter" && input.blur());
    const unit = make("em", {}, field.unit === "1" ? "" : field.unit);
    const title = [field.text, field.allowed ? `Allowed: ${field.allowed}.` : ""].filter(Boolean).join(" ");
    return make("label", { title }, make("span", {}, field.name), input, unit);
  }

  /** Show the parameters as they are. */
  refresh() {
    const fields = new Map(this.about.fields.map((field) => [field.name, field]));
    for (const input of this.list.querySelectorAll("input[data-param]")) {
      const field = fields.get(input.dataset.param);
      input.value = String(this.world.vehicle.p[field.column]);
      input.classList.toggle("changed", this.world.vehicle.p[field.column] !== field.value);
    }
  }
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // Some browsers read it only after the click has been dealt with.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
