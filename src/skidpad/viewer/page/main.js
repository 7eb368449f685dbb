// Where the page begins: a film or a vehicle inside the page, or a live server behind it.

import { App } from "skidpad/app.js";
import { BrokenFilm, inflated } from "skidpad/decode.js";
import { byId } from "skidpad/dom.js";
import { readFilm } from "skidpad/film.js";
import { fail, opened } from "skidpad/notice.js";

async function openFilm() {
  const element = byId("film");
  const film = readFilm(await inflated(element?.textContent ?? ""));
  element.remove();
  const app = new App();
  app.setStage(film);
  // Who asked their system for less motion starts the film themselves.
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) app.clock.play();
  app.changed();
  return app;
}

async function openLive() {
  const { LiveApp } = await import("skidpad/live.js");
  return new LiveApp(new App()).app;
}

/** {app, world} of a page that drives, whose modules only such pages have. */
async function openDrive() {
  const { openDrive: open } = await import("skidpad/drive_main.js");
  return open();
}

/** What tests and curious people reach from the console. */
function expose(app, world = null) {
  window.skidpad = {
    app,
    world,
    get film() { return { stage: app.stage, series: app.series, scans: app.scans }; },
    get view() { return app.view; },
    get time() { return app.clock.time; },
    seek: (time) => app.seek(time),
    play: () => { app.clock.play(); app.changed(); },
    pause: () => { app.clock.pause(); app.changed(); },
    poseOf: (name) => app.scene.bodies.poseOf(app.scene.bodies.byName.get(name)),
    screenOf: (x, y) => app.view.screenOf(x, y),
    fps: () => app.fps(),
  };
}

async function start() {
  if (document.documentElement.hasAttribute("data-failed")) return;
  const { mode } = document.documentElement.dataset;
  try {
    if (mode === "drive") {
      const { app, world } = await openDrive();
      expose(app, world);
    } else {
      expose(mode === "live" ? await openLive() : await openFilm());
    }
    if (mode !== "live") opened();
  } catch (error) {
    if (error instanceof BrokenFilm) {
      const again = mode === "drive" ? "Make the page again." : "Make the page again from the recording.";
      fail(mode === "drive" ? "This vehicle cannot be driven" : "This film cannot be shown", `${error.message} ${again}`);
      return;
    }
    fail("The page stopped", `${error.message ?? error}`);
    throw error;
  }
}

start();
