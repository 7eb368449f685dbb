// What the driver's hands do: keys, a gamepad, or a stick on the screen.
//
// `ahead` is 1 for full drive and -1 for full brake or reverse, `left` is 1 as far left as it goes.

import { byId, make } from "skidpad/dom.js";

const KEYS = {
  ArrowUp: ["ahead", 1], KeyW: ["ahead", 1], ArrowDown: ["ahead", -1], KeyS: ["ahead", -1],
  ArrowLeft: ["left", 1], KeyA: ["left", 1], ArrowRight: ["left", -1], KeyD: ["left", -1], Space: ["handbrake", 1],
};
/** Play of sticks around their middle. */
const DEAD_ZONE = 0.08;
/** How far the knob of the stick on the screen goes, in widths of the stick. */
const REACH = 0.42;

export class Hands {
  /** `changed` is called at once when something is pressed, moved or released. */
  constructor(changed) {
    this.changed = changed;
    this.keys = new Map();
    this.stick = { ahead: 0, left: 0, handbrake: false };
    this.pad = { ahead: 0, left: 0, handbrake: false };
    this.ahead = 0;
    this.left = 0;
    this.handbrake = false;
    this.#listenToKeys();
    this.#buildStick();
  }

  get idle() { return this.ahead === 0 && this.left === 0 && !this.handbrake; }

  #listenToKeys() {
    const set = (event, value) => {
      const meaning = KEYS[event.code];
      if (!meaning || event.ctrlKey || event.metaKey || event.altKey) return;
      if (value && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      if (value && byId("help").open) return;
      event.preventDefault();
      if (event.repeat) return;
      if (value) this.keys.set(event.code, meaning);
      else this.keys.delete(event.code);
      this.#sum();
    };
    window.addEventListener("keydown", (event) => set(event, true));
    window.addEventListener("keyup", (event) => set(event, false));
    // A window that loses the keyboard does not hear keys go up.
    const drop = () => {
      this.keys.clear();
      this.#sum();
    };
    window.addEventListener("blur", drop);
    document.addEventListener("visibilitychange", drop);
  }

  #held(name) {
    let sum = 0;
    for (const [axis, way] of this.keys.values()) if (axis === name) sum += way;
    return Math.sign(sum);
  }

  #sum() {
    const ahead = clip(this.#held("ahead") + this.stick.ahead + this.pad.ahead);
    const left = clip(this.#held("left") + this.stick.left + this.pad.left);
    const handbrake = this.#held("handbrake") > 0 || this.stick.handbrake || this.pad.handbrake;
    if (ahead === this.ahead && left === this.left && handbrake === this.handbrake) return;
    Object.assign(this, { ahead, left, handbrake });
    this.changed();
  }

  /** Look at the gamepads, which do not speak by themselves. Standard mapping of the browser. */
  poll() {
    const pad = navigator.getGamepads?.().find((one) => one?.connected && one.mapping === "standard");
    if (!pad) return;
    const trigger = (k) => pad.buttons[k]?.value ?? 0;
    this.pad.left = -quiet(pad.axes[0] ?? 0);
    this.pad.ahead = trigger(7) - trigger(6);
    this.pad.handbrake = Boolean(pad.buttons[0]?.pressed);
    this.#sum();
  }

  #buildStick() {
    const knob = make("i");
    const words = "Drive: up and down for speed, sideways to steer";
    const base = make("div", { class: "stick", role: "application", "aria-label": words }, knob);
    const brake = make("button", { type: "button", class: "handbrake" }, "Handbrake");
    let held = null;
    const move = (event) => {
      const box = base.getBoundingClientRect();
      const reach = REACH * box.width;
      const x = clip((event.clientX - box.left - box.width / 2) / reach);
      const y = clip((box.top + box.height / 2 - event.clientY) / reach);
      knob.style.transform = `translate(${x * reach}px, ${-y * reach}px)`;
      Object.assign(this.stick, { ahead: quiet(y), left: -quiet(x) });
      this.#sum();
    };
    const release = () => {
      held = null;
      knob.style.transform = "";
      Object.assign(this.stick, { ahead: 0, left: 0 });
      this.#sum();
    };
    base.addEventListener("pointerdown", (event) => {
      held = event.pointerId;
      base.setPointerCapture(held);
      move(event);
    });
    base.addEventListener("pointermove", (event) => event.pointerId === held && move(event));
    base.addEventListener("pointerup", release);
    base.addEventListener("pointercancel", release);
    const pull = (on) => (event) => {
      event.preventDefault();
      this.stick.handbrake = on;
      this.#sum();
    };
    brake.addEventListener("pointerdown", pull(true));
    for (const type of ["pointerup", "pointercancel", "pointerleave"]) brake.addEventListener(type, pull(false));
    byId("sticks").replaceChildren(base, brake);
  }
}

function clip(value) {
  return Math.min(Math.max(value, -1), 1);
}

/** An axis without the play around its middle. */
function quiet(value) {
  const size = Math.max(Math.abs(value) - DEAD_ZONE, 0) / (1 - DEAD_ZONE);
  return Math.sign(value) * Math.min(size, 1);
}
