// Where a replay and a live page begin: a film inside the page, or a live server behind it.

import { App } from "skidpad/app.js";
import { inflated } from "skidpad/decode.js";
import { byId } from "skidpad/dom.js";
import { readFilm } from "skidpad/film.js";
import { start } from "skidpad/start.js";

async function openFilm() {
  const element = byId("film");
  const film = readFilm(await inflated(element?.textContent ?? ""));
  element.remove();
  const app = new App();
  app.setStage(film);
  // Who asked their system for less motion starts the film themselves.
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) app.clock.play();
  app.changed();
  return { app };
}

async function openLive() {
  const { LiveApp } = await import("skidpad/live.js");
  return { app: new LiveApp(new App()).app };
}

const waits = document.documentElement.dataset.mode === "live";
const words = { what: "This film cannot be shown", again: "Make the page again from the recording." };
start(waits ? openLive : openFilm, { ...words, waits });
