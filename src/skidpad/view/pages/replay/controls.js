// The controls around the top view: vehicle, camera, layers, zoom, theme, tabs.

import { lineColour, readTheme, theme } from "skidpad/colours.js";
import { byId, icon, iconButton, make } from "skidpad/dom.js";
import { CAMERAS } from "skidpad/follow.js";
import { STRETCHES } from "skidpad/plots.js";

const LAYERS = [
  ["trails", "Trails coloured by speed"],
  ["forces", "Tyre forces and acceleration"],
  ["lidar", "Lidar"],
  ["labels", "Names"],
];

/** Buttons for the camera; returns a function that shows the mode in force. */
export function cameraControl(choose) {
  const buttons = CAMERAS.map(({ name, label, text }) => {
    const attributes = { type: "button", role: "radio", "aria-checked": "false", title: text, "data-camera": name };
    return make("button", { ...attributes, click: () => choose(name) }, label);
  });
  byId("camera").replaceChildren(...buttons);
  return (mode) => {
    for (const button of buttons) button.setAttribute("aria-checked", String(button.dataset.camera === mode));
  };
}

/** The list of vehicles; returns a function that fills it and one that shows the chosen. */
export function vehicleControl(choose) {
  const list = byId("vehicle");
  list.addEventListener("change", () => choose(Number(list.value)));
  const fill = (bodies) => {
    list.replaceChildren(...bodies.vehicles.map((k) => make("option", { value: k }, bodies.list[k].name)));
    byId("chooser").hidden = !bodies.vehicles.length;
    list.parentElement.hidden = bodies.vehicles.length < 2;
  };
  const show = (bodies, chosen) => {
    list.value = String(chosen);
    const { given, number } = bodies.colours[chosen] ?? { given: "", number: 0 };
    byId("swatch").style.background = given || lineColour(number);
  };
  return { fill, show };
}

/** Switches for what is drawn; returns a function that shows their state and hides idle ones. */
export function layerControl(scene, changed) {
  const buttons = new Map(LAYERS.map(([name, label]) => {
    const toggle = () => {
      scene.layers[name] = !scene.layers[name];
      changed();
    };
    return [name, iconButton(name, label, toggle, { "data-layer": name })];
  }));
  byId("layers").replaceChildren(...buttons.values());
  return (available) => {
    for (const [name, button] of buttons) {
      button.hidden = !available[name];
      button.setAttribute("aria-pressed", String(scene.layers[name]));
    }
  };
}

export function zoomControl({ fit, zoom }) {
  byId("zooming").replaceChildren(
    iconButton("fit", "See everything", fit, { id: "fit" }),
    iconButton("plus", "Zoom in", () => zoom(1.4)),
    iconButton("minus", "Zoom out", () => zoom(1 / 1.4)),
  );
}

/** Light or dark: as the system says, until the reader chooses. Returns a function that changes it. */
export function themeControl(changed) {
  const button = byId("theme");
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    readTheme();
    button.replaceChildren(icon(theme.dark ? "sun" : "moon"));
    changed();
  };
  const toggle = () => {
    set(theme.dark ? "light" : "dark");
    storedTheme(document.documentElement.dataset.theme);
  };
  button.addEventListener("click", toggle);
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", () => storedTheme() ?? set(system.matches ? "dark" : "light"));
  set(document.documentElement.dataset.theme);
  return toggle;
}

/** The reader's choice, kept or asked for. A page from disk may have no storage. */
function storedTheme(name) {
  try {
    if (name) localStorage.setItem("skidpad.theme", name);
    return localStorage.getItem("skidpad.theme");
  } catch {
    return null;
  }
}

/** Tabs of the side and the stretch of time of the plots. */
export function tabControl(plots, changed) {
  const tabs = [["plots", "Plots"], ["values", "Values"], ["laps", "Laps"]].map(([id, label]) => {
    const attributes = { type: "button", role: "tab", "aria-controls": id, "aria-selected": "false" };
    return make("button", { ...attributes, click: () => open(id) }, label);
  });
  const words = (seconds) => (Number.isFinite(seconds) ? `${seconds} s` : "all");
  const stretch = make("select", { id: "stretch", "aria-label": "Time shown in the plots" },
    ...STRETCHES.map((seconds) => make("option", { value: seconds }, words(seconds))));
  stretch.addEventListener("change", () => {
    plots.stretch = Number(stretch.value);
    changed();
  });
  const all = make("input", { type: "checkbox", id: "compare" });
  all.addEventListener("change", () => plots.compare(all.checked));
  const compare = make("label", { class: "stretch", title: "Curves of every vehicle in each plot" }, all, " all vehicles");
  byId("tabs").replaceChildren(...tabs, compare, make("label", { class: "stretch" }, "show ", stretch));
  function open(id) {
    for (const tab of tabs) {
      const own = tab.getAttribute("aria-controls");
      tab.setAttribute("aria-selected", String(own === id));
      byId(own).hidden = own !== id;
    }
    stretch.parentElement.hidden = compare.hidden = id !== "plots";
    compare.hidden ||= plots.vehicles.length < 2;
    changed();
  }
  open("plots");
  /** Offer what there is: laps to look at, vehicles to compare. */
  return (laps) => {
    const [, , own] = tabs;
    own.hidden = !laps;
    const shown = tabs.find((tab) => tab.getAttribute("aria-selected") === "true");
    open(shown === own && !laps ? "plots" : shown.getAttribute("aria-controls"));
  };
}

/** The scale of the trails' colours. */
export function showLegend(trails, shown) {
  const legend = byId("legend");
  legend.hidden = !shown || !trails.coloured;
  if (legend.hidden) return;
  const canvas = legend.querySelector("canvas");
  const context = canvas.getContext("2d");
  const width = canvas.width / theme.speeds.length;
  theme.speeds.forEach((colour, k) => {
    context.fillStyle = colour;
    context.fillRect(k * width, 0, width + 1, canvas.height);
  });
  const [low, high] = legend.querySelectorAll("span");
  low.textContent = String(trails.low);
  high.textContent = String(Number(trails.high.toPrecision(3)));
}
