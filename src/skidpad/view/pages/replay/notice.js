// Words to the reader: a card in the middle, a banner on top, short notes that go by themselves.

import { byId, make } from "skidpad/dom.js";

/** How long a note stays, in ms. */
const STAY = 5000;
const MOST = 4;

/** Nothing can be shown, and why. */
export function fail(heading, text) {
  window.skidpadFailed(heading, text);
}

export function opened() {
  if (!document.documentElement.hasAttribute("data-failed")) byId("card").hidden = true;
}

/** A line that stays until it is cleared with an empty text. */
export function banner(text) {
  const element = byId("banner");
  element.hidden = !text;
  element.textContent = text;
}

/** A short note; `kind` is "note" or "error". */
export function toast(text, kind = "note") {
  const holder = byId("toasts");
  const latest = holder.lastElementChild;
  if (latest && latest.textContent === text) latest.remove();
  const element = make("div", { class: `toast ${kind}` }, text);
  holder.append(element);
  while (holder.children.length > MOST) holder.firstElementChild.remove();
  setTimeout(() => element.remove(), kind === "error" ? 2 * STAY : STAY);
}
