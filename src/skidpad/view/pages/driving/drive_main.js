// A page that drives: the live page with its world inside.

import { App } from "skidpad/app.js";
import { byId, make } from "skidpad/dom.js";
import { DrivePanel } from "skidpad/drive_panel.js";
import { LiveApp } from "skidpad/live.js";
import { LiveClock } from "skidpad/live_clock.js";
import { LocalWorld } from "skidpad/local_world.js";
import { toast } from "skidpad/notice.js";
import { unpacked } from "skidpad/packed.js";
import { start } from "skidpad/start.js";
import { SimulatedVehicle } from "skidpad/vehicle.js";
import { loadModule } from "skidpad/vehicle_module.js";

/** Width of the world that is seen at the start, in lengths of the vehicle and at least in m. */
const LENGTHS_SEEN = 12;
const LEAST_SEEN = 12;

/** Shows the world at the time that it says. */
class LocalClock extends LiveClock {
  constructor(world) {
    super();
    this.world = world;
  }

  pass() {
    if (!this.back) this.time = Math.max(this.world().shownTime, this.begin);
  }
}

/** Which module the address asks for: `#exact` or `#fused`; null for the one that fits. */
function wantedModule() {
  return ["exact", "fused"].find((name) => location.hash === `#${name}`) ?? null;
}

async function openDrive() {
  const element = byId("film");
  const { head, blobs } = await unpacked(element?.textContent ?? "");
  element.remove();
  const module = await loadModule({ ...blobs, layout: head.layout, want: wantedModule() });
  const vehicle = new SimulatedVehicle(module, head.vehicle);
  const app = new App();
  let world = null;
  const live = new LiveApp(app, {
    clock: new LocalClock(() => world),
    connect: (on) => (world = new LocalWorld(vehicle, head, {
      ...on, recorded: (log) => panel.offer(log), tuned: () => panel.refresh(),
    })),
    local: { figures: () => words(world, module), note: noteOf(head.vehicle) },
  });
  const panel = new DrivePanel(live, world);
  await Promise.resolve();
  look(app, head);
  askForClick();
  if (matchMedia("(pointer: fine)").matches) toast("Arrow keys or W A S D drive, Space is the handbrake; ? shows all keys.");
  if (head.notes.length) toast(`On this page ${head.notes.join(", ")}.`);
  return { app, world };
}

/** How it goes, and which module does it. */
function words({ paused, failed, pace }, { fused }) {
  const kind = fused ? "fused" : "exact";
  if (paused) return `${failed ? "stopped" : "paused"} · ${kind}`;
  const load = 100 * pace.load;
  const core = matchMedia("(max-width: 600px)").matches ? "" : " of a core";
  return `${pace.reached.toFixed(2)}× · ${load.toFixed(load < 9.95 ? 1 : 0)} %${core} · ${kind}`;
}

/** The vehicle and its steps, for the line beside the title. */
function noteOf({ model, integrator, dt, substeps }) {
  const within = substeps > 1 ? ` in ${substeps} sub-steps` : "";
  return `${model} · ${integrator}, ${Number((1000 * dt).toPrecision(6))} ms${within}`;
}

/** Follow the vehicle from near by. */
function look(app, { stage }) {
  const across = stage.bodies[0].outlines.flat().map(([x]) => x);
  const length = Math.max(Math.max(...across) - Math.min(...across), 0.1);
  const seen = Math.max(LENGTHS_SEEN * length, Math.min(LEAST_SEEN, 40 * length));
  app.setCamera("follow");
  app.view.zoom = Math.min(app.view.width, app.view.height) / seen;
  app.view.moved();
  app.changed();
}

/** In a frame of another page keys go to that page until this one is clicked: say so. */
function askForClick() {
  if (window.self === window.top || !matchMedia("(pointer: fine)").matches) return;
  const hint = make("div", { class: "click-first", role: "status" }, "Click to drive");
  const update = () => { hint.hidden = document.hasFocus(); };
  byId("stage").append(hint);
  for (const type of ["focus", "blur"]) window.addEventListener(type, update);
  update();
}

start(openDrive, { what: "This vehicle cannot be driven", again: "Make the page again." });
