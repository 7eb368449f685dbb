// The controls of a live world: the wheel, controller, obstacles, recording, parameters.

import { byId, figure, icon, iconButton, make } from "skidpad/dom.js";

export class LivePanel {
  /** `on` is {wheel(), reset(), record(), place(kind), controller(name), param(name, value), now()}. */
  constructor(on) {
    this.on = on;
    this.wheelText = make("span");
    const wheel = { type: "button", class: "wheel", id: "wheel", click: on.wheel };
    this.wheel = make("button", wheel, icon("wheel"), this.wheelText);
    this.who = make("p", { class: "who", role: "status" });
    this.controller = make("select", { id: "controller", "aria-label": "Who drives this vehicle" });
    this.controller.addEventListener("change", () => on.controller(this.controller.value));
    this.record = iconButton("record", "Record", on.record, { id: "record", "aria-pressed": "false" });
    this.places = new Map(["cone", "box"].map((kind) => {
      const attributes = { "aria-pressed": "false", "data-drop": kind };
      const button = iconButton(kind, `Drop obstacles by clicking: ${kind}`, () => on.place(kind), attributes);
      return [kind, worded(button, kind)];
    }));
    this.params = make("div", { class: "params" });
    this.details = make("details", { open: window.innerWidth > 860 }, make("summary", {}, "Parameters"), this.params);
    this.tools = make("div", { class: "row" },
      make("label", { class: "controller" }, "driven by ", this.controller), make("span", { class: "space" }),
      ...this.places.values(), worded(this.record, "record"),
      worded(iconButton("reset", "Reset the world", on.reset, { id: "reset" }), "reset"));
    const now = { type: "button", class: "now", id: "now", hidden: true, click: on.now };
    this.now = make("button", now, "Back to now");
    byId("live").replaceChildren(
      make("div", { class: "row" }, this.wheel, this.who),
      this.tools,
      this.details,
    );
    byId("stage").append(this.now);
    byId("live").hidden = false;
    this.paramsOf = "";
  }

  /** Who has the wheel. */
  showDriver(you, driver, viewers) {
    const mine = driver !== null && driver === you;
    this.wheel.setAttribute("aria-pressed", String(mine));
    this.wheel.disabled = driver !== null && !mine;
    this.wheelText.textContent = mine ? "Release the wheel" : "Take the wheel";
    const who = mine ? "You drive" : driver === null ? "Nobody drives" : `Viewer ${driver} drives`;
    this.who.textContent = viewers > 1 ? `${who} · ${viewers} watching` : who;
  }

  /** A world that others run: what cannot be asked of it is not offered, and why is said. */
  showWatched(reason) {
    this.wheel.hidden = this.tools.hidden = true;
    this.who.textContent = reason;
  }

  showRecording(on, file) {
    this.record.setAttribute("aria-pressed", String(on));
    this.record.classList.toggle("recording", on);
    this.record.title = on ? `Recording${file ? ` to ${file}` : ""}: click to end` : "Record";
  }

  showPlacing(kind) {
    for (const [own, button] of this.places) button.setAttribute("aria-pressed", String(own === kind));
  }

  /** Controllers and parameters of a vehicle as the server describes it; undefined for none. */
  showVehicle(vehicle) {
    const options = vehicle?.controllers ?? [vehicle?.controller].filter(Boolean);
    const key = options.join();
    if (this.controller.dataset.options !== key) {
      this.controller.dataset.options = key;
      this.controller.replaceChildren(...options.map((name) => make("option", { value: name }, name)));
    }
    this.controller.value = vehicle?.controller ?? "";
    this.controller.parentElement.hidden = !options.length;
    this.details.hidden = !vehicle?.params?.length;
    const names = `${vehicle?.name} ${vehicle?.params?.map((param) => param.name).join()}`;
    if (names !== this.paramsOf) this.#buildParams(vehicle?.params ?? []);
    this.paramsOf = names;
    for (const param of vehicle?.params ?? []) this.#showParam(param);
  }

  #buildParams(params) {
    this.sliders = new Map();
    this.params.replaceChildren(...params.map((param) => {
      const value = make("b");
      const limits = { min: param.low, max: param.high, step: "any" };
      const slider = make("input", { type: "range", ...limits, "aria-label": param.label });
      slider.addEventListener("input", () => {
        value.textContent = figure(Number(slider.value));
        this.on.param(param.name, Number(slider.value));
      });
      // The keys belong to the car again once the slider is let go.
      slider.addEventListener("pointerup", () => slider.blur());
      this.sliders.set(param.name, { slider, value });
      const unit = make("em", {}, param.unit === "1" ? "" : param.unit);
      const shown = make("span", { class: "value" }, value, unit);
      return make("label", { title: param.label }, make("span", {}, param.label), slider, shown);
    }));
  }

  #showParam({ name, value: now }) {
    const { slider, value } = this.sliders.get(name);
    // Not while it is being moved: the server's news is older than the hand.
    if (slider.matches(":active")) return;
    slider.value = now;
    value.textContent = figure(now);
  }
}

/** A button with a word below its icon. */
function worded(button, word) {
  button.classList.add("worded");
  button.append(make("small", {}, word));
  return button;
}

/** The line at the top: connection, times real time, and ms from a key to its effect. */
export function showLink(state, text) {
  const element = byId("link");
  element.hidden = false;
  element.className = `link ${state}`;
  byId("link-text").textContent = text;
}
