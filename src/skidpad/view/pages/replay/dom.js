// Small helpers for building the page: elements and icons.

/** An element with attributes and children; a function as attribute listens to that event. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

/** Paths of icons on a field of 24 by 24, stroked. */
const ICONS = {
  play: "M8 5.5v13l10.5-6.5z",
  pause: "M8.5 5.5v13M15.5 5.5v13",
  back: "M18.5 6v12l-9-6zM6.5 6v12",
  forward: "M5.5 6v12l9-6zM17.5 6v12",
  start: "M19 6v12l-7.5-6zM11.5 6v12L4 12z",
  loop: "M17 4l3 3-3 3M4 12V10a3 3 0 0 1 3-3h13M7 20l-3-3 3-3M20 12v2a3 3 0 0 1-3 3H4",
  fit: "M4 9V5a1 1 0 0 1 1-1h4M15 4h4a1 1 0 0 1 1 1v4M20 15v4a1 1 0 0 1-1 1h-4M9 20H5a1 1 0 0 1-1-1v-4",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  trails: "M4 19c5 0 3-7 8-7s4-7 8-7",
  forces: "M5 19L18 6M18 6h-6.5M18 6v6.5",
  lidar: "M12 19v.01M8.5 15.5a5 5 0 0 1 7 0M5.5 12a9.5 9.5 0 0 1 13 0M3 8.5a13.5 13.5 0 0 1 18 0",
  labels: "M4 5h8l8 8-7 7-9-8zM8.5 9v.01",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4"
    + "M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4",
  moon: "M19.5 14A8 8 0 0 1 10 4.5a8 8 0 1 0 9.5 9.5z",
  help: "M9.2 9a2.9 2.9 0 1 1 4.3 2.6c-.9.5-1.5 1.1-1.5 2.2M12 17.4v.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  reset: "M4 5v5h5M5 10a7.5 7.5 0 1 1-.8 4",
  record: "M12 6a6 6 0 1 0 0 12 6 6 0 0 0 0-12z",
  wheel: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 10a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM3.2 11h6.9M13.9 11h6.9M12 14v6.8",
  cone: "M12 4l5.5 14h-11zM4 20.5h16M9.3 11h5.4",
  box: "M5 6h14v12H5zM5 6l14 12M19 6L5 18",
  close: "M6 6l12 12M18 6L6 18",
};

/** An icon as an inline drawing in the colour of the text. */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", ICONS[name]);
  drawing.append(path);
  return drawing;
}

/** A button with an icon and words for those who do not see it. */
export function iconButton(name, label, listener, attributes = {}) {
  const own = { type: "button", class: "icon", "aria-label": label, title: label, click: listener };
  return make("button", { ...own, ...attributes }, icon(name));
}

/** A number with a steady count of digits: small ones with more places. */
export function figure(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) {
    return size < 1e-9 ? "0" : value.toExponential(2).replace("e+", "e").replace("-", "−");
  }
  const places = Math.max(0, digits - 1 - Math.max(0, Math.floor(Math.log10(size || 1))));
  return value.toFixed(Math.min(places, 3)).replace("-", "−");
}

/** A number with so many decimal places, and a true minus. */
export function fixed(value, places) {
  if (!Number.isFinite(value)) return "–";
  const text = value.toFixed(places);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}
