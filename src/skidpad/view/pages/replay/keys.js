// Keyboard: shortcuts, and the page that explains them.

import { byId, iconButton, make } from "skidpad/dom.js";

/** [keys as shown, what they do] for both modes. */
const SHARED = [
  ["F", "see everything"],
  ["+  −", "zoom in, zoom out"],
  ["C", "camera: free, follow, heading up"],
  ["N  P", "next or previous vehicle"],
  ["T  V  L  G", "trails, force vectors, lidar, names"],
  ["B", "bright or dark"],
  ["?", "this help"],
];
const REPLAY = [
  ["Space  K", "play, pause"],
  ["←  →", "one second back or on; with Shift five"],
  [",  .", "one sample back or on"],
  ["↑  ↓", "faster, slower"],
  ["Home  End", "to the start, to the end"],
];
const LIVE = [
  ["E", "take or release the wheel"],
  ["↑ ↓ ← →  W A S D", "drive"],
  ["Space", "handbrake"],
  ["K", "pause or resume the world"],
  [".", "one step while paused"],
  ["R", "reset"],
  ["O", "record"],
  ["End", "back to now after looking back"],
];
/** As on a live page, but for the wheel, which nobody else wants. */
const DRIVE = LIVE.slice(1);
const POINTER = [
  ["drag", "move the picture; on a plot or the strip: scrub"],
  ["wheel, pinch", "zoom"],
  ["click", "choose a vehicle; double click: follow it"],
];

/** Let keys call actions by name; `actions` maps KeyboardEvent.key (lower case) to functions. */
export function listenToKeys(actions) {
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    // An open dialog has the keys to itself: Escape closes it.
    if (byId("help").open && event.key !== "?") return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}

/** Keys belong to a field that is being filled in, and Space to a button in focus. */
function isTyping(target) {
  if (target.tagName === "INPUT") return target.type !== "range" && target.type !== "checkbox";
  return target.tagName === "SELECT" || target.tagName === "TEXTAREA";
}

/** `mode` is that of the page: "replay", "live" or "drive". */
export function showHelp(mode = document.documentElement.dataset.mode) {
  const dialog = byId("help");
  if (dialog.open) {
    dialog.close();
    return;
  }
  dialog.replaceChildren(
    make("header", {}, make("h2", {}, "Keys and pointer"), iconButton("close", "Close", () => dialog.close())),
    make("div", { class: "columns" },
      mode === "replay" ? keyList("Playing", REPLAY) : keyList("Driving", mode === "live" ? LIVE : DRIVE),
      keyList("Looking", SHARED), keyList("Pointer", POINTER)),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close(), { once: true });
  dialog.showModal();
}

function keyList(title, rows) {
  const entries = rows.flatMap(([keys, text]) => {
    const caps = keys.split("  ").map((key) => make("kbd", {}, key));
    return [make("dt", {}, ...caps), make("dd", {}, text)];
  });
  return make("section", {}, make("h3", {}, title), make("dl", {}, ...entries));
}
