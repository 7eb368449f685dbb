// The page put together: one stage, its numbers, a clock, and everything that shows them.

import { towedBy } from "skidpad/bodies.js";
import { speedOf } from "skidpad/channels.js";
import { Clock } from "skidpad/clock.js";
import {
  cameraControl, layerControl, showLegend, tabControl, themeControl, vehicleControl, zoomControl,
} from "skidpad/controls.js";
import { theme } from "skidpad/colours.js";
import { byId, icon } from "skidpad/dom.js";
import { Figures } from "skidpad/figures.js";
import { CAMERAS, Follower } from "skidpad/follow.js";
import { listenToGestures } from "skidpad/gestures.js";
import { listenToKeys, showHelp } from "skidpad/keys.js";
import { LapTable } from "skidpad/lap_table.js";
import { Plots } from "skidpad/plots.js";
import { Scene } from "skidpad/scene.js";
import { Transport } from "skidpad/transport.js";
import { Values } from "skidpad/values.js";
import { View } from "skidpad/view.js";

/** Numbers beside the picture are renewed this often, in ms: faster than one reads. */
const SIDE_EVERY = 50;
/** Curves in one plot: more cannot be told apart. */
const MOST_COMPARED = 8;

export class App {
  constructor() {
    this.view = new View();
    this.scene = new Scene(byId("back"), byId("front"), byId("scale"), this.view);
    this.follower = new Follower(this.view);
    this.clock = new Clock(0, 0);
    this.chosen = -1;
    this.live = null;
    this.wanted = false;
    this.rested = true;
    this.before = 0;
    this.sideAt = -Infinity;
    this.sideOld = true;
    this.frameTime = 0;
    /** What is called before each picture, with the seconds since the last; live mode sets it. */
    this.beforeFrame = null;
    this.#build();
  }

  #build() {
    const wake = () => this.changed();
    this.figures = new Figures(byId("figures"), wake);
    this.plots = new Plots(byId("plots"), { seek: (time) => this.seek(time), changed: wake });
    this.values = new Values(byId("values"), (name) => this.plots.togglePanel(name));
    this.showCamera = cameraControl((mode) => this.setCamera(mode));
    this.vehicleList = vehicleControl((k) => this.choose(k));
    this.showLayers = layerControl(this.scene, wake);
    zoomControl({ fit: () => this.fit(), zoom: (factor) => this.zoom(factor) });
    this.transport = new Transport({
      toggle: () => this.toggle(), step: (rows) => this.step(rows), seek: (time) => this.seek(time),
      speed: (value) => this.setSpeed(value), start: () => this.seek(this.clock.begin),
      loop: () => { this.clock.loop = !this.clock.loop; this.changed(); }, changed: wake,
    });
    this.lapTable = new LapTable(byId("laps"), (time) => this.seek(time));
    this.offerTabs = tabControl(this.plots, wake);
    this.toggleTheme = themeControl(wake);
    byId("help-button").replaceChildren(icon("help"));
    byId("help-button").addEventListener("click", () => showHelp());
    this.#listen();
  }

  #listen() {
    listenToGestures(byId("front"), this.view, {
      changed: () => this.changed(),
      dragged: () => this.setCamera("free"),
      clicked: (x, y) => this.clicked(x, y),
      doubleClicked: (x, y) => this.#clickBody(x, y) && this.setCamera("follow"),
      hovered: (x, y) => this.#hovered(x, y),
    });
    new ResizeObserver(() => {
      if (!this.scene.bodies) return;
      this.scene.resize();
      this.changed();
    }).observe(byId("stage"));
    // A button that was clicked gives the keyboard back: Space means play, not the last button.
    document.addEventListener("click", (event) => event.detail > 0 && event.target.closest("button")?.blur());
    document.addEventListener("change", (event) => event.target.tagName === "SELECT" && event.target.blur());
    this.keys = {
      "f": () => this.fit(), "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8),
      "c": () => this.nextCamera(), "n": () => this.chooseNext(1), "p": () => this.chooseNext(-1),
      "t": () => this.toggleLayer("trails"), "v": () => this.toggleLayer("forces"),
      "l": () => this.toggleLayer("lidar"), "g": () => this.toggleLayer("labels"),
      "b": () => this.toggleTheme(), "?": () => showHelp(), "Escape": () => this.setCamera("free"),
      " ": () => this.toggle(), "k": () => this.toggle(), ",": () => this.step(-1), ".": () => this.step(1),
      "ArrowLeft": (event) => this.seek(this.clock.time - (event.shiftKey ? 5 : 1)),
      "ArrowRight": (event) => this.seek(this.clock.time + (event.shiftKey ? 5 : 1)),
      "ArrowUp": () => this.faster(1), "ArrowDown": () => this.faster(-1),
      "Home": () => this.seek(this.clock.begin), "End": () => this.seek(this.clock.end),
    };
    listenToKeys(this.keys);
  }

  /** Show a stage with its numbers. A stage that replaces one keeps the camera and the choice. */
  setStage({ stage, series, scans, note = "" }, keep = false) {
    const before = keep && this.chosen >= 0 ? this.scene.bodies.list[this.chosen].name : "";
    Object.assign(this, { stage, series, scans });
    this.scene.setStage(stage);
    this.scene.measure(series);
    this.clock.begin = series.begin;
    this.clock.end = series.end;
    if (!keep) this.clock.seek(series.begin);
    byId("title").textContent = document.title = stage.title;
    byId("note").textContent = note || (this.live ? "live" : this.#summary(stage, series));
    const { bodies } = this.scene;
    this.vehicleList.fill(bodies);
    if (!keep) this.#setDefaults(bodies, series);
    this.choose(bodies.byName.get(before) ?? bodies.vehicles[0] ?? -1);
  }

  /** How much there is to see, for the line beside the title. */
  #summary(stage, series) {
    const count = stage.bodies.filter((body) => body.kind === "vehicle").length;
    const models = [...new Set(stage.bodies.map((body) => body.model).filter(Boolean))];
    const what = count === 1 ? models[0] ?? "1 vehicle" : `${count} vehicles`;
    return series.count > 1 ? `${what} · ${Number((series.end - series.begin).toPrecision(3))} s` : what;
  }

  #setDefaults(bodies, series) {
    const many = bodies.vehicles.length;
    const long = this.live || many > 6 || series.end - series.begin > 120;
    this.scene.trailSeconds = many > 300 ? 2 : many > 50 ? 4 : long ? 15 : Infinity;
    this.scene.wholePaths = !this.live;
    this.scene.layers.labels = many > 1 && many <= 40;
    this.scene.resize();
    this.fit(false);
  }

  // What the reader asks for.

  choose(k) {
    this.chosen = k;
    const { bodies } = this.scene;
    const body = k < 0 ? null : bodies.list[k];
    this.vehicleList.show(bodies, k);
    this.plots.vehicles = comparable(bodies, k);
    this.figures.setBody(this.stage, body);
    this.plots.setBody(this.stage, body);
    this.values.setBody(this.stage, body, this.plots.own);
    this.offerTabs(!this.live && this.lapTable.setBody(body, this.series));
    this.transport.stripOf = k;
    this.speed = body && speedOf(body);
    if (this.follower.mode !== "free") this.setCamera(this.follower.mode);
    this.onChosen?.(body);
    this.changed();
  }

  chooseNext(by) {
    const { vehicles } = this.scene.bodies;
    if (!vehicles.length) return;
    const here = vehicles.indexOf(this.chosen);
    this.choose(vehicles[(here + by + vehicles.length) % vehicles.length]);
  }

  setCamera(mode) {
    this.follower.begin(mode, this.chosen < 0 ? null : this.scene.bodies.poseOf(this.chosen));
    this.showCamera(this.follower.mode);
    this.changed();
  }

  nextCamera() {
    const here = CAMERAS.findIndex(({ name }) => name === this.follower.mode);
    this.setCamera(CAMERAS[(here + 1) % CAMERAS.length].name);
  }

  fit(glide = true) {
    this.setCamera("free");
    this.view.fit(this.scene.box(this.series), 56, glide);
    this.changed();
  }

  zoom(factor) {
    this.view.zoomAt(factor, this.view.width / 2, this.view.height / 2);
    this.changed();
  }

  toggleLayer(name) {
    this.scene.layers[name] = !this.scene.layers[name];
    this.changed();
  }

  toggle() {
    if (this.live) return this.live.toggle();
    this.clock.toggle();
    this.changed();
  }

  setSpeed(value) {
    if (this.live) return this.live.setFactor(value);
    this.clock.speed = value;
  }

  faster(places) {
    this.clock.faster(places);
    this.changed();
  }

  seek(time) {
    this.clock.seek(time);
    this.changed();
  }

  /** Some samples on or back; playing stops. */
  step(rows) {
    if (this.live) return this.live.step(rows);
    this.clock.pause();
    const { series } = this;
    const here = series.rowAt(this.clock.time + 1e-9);
    const between = rows < 0 && this.clock.time > series.times[here] + 1e-9 ? 1 : 0;
    this.seek(series.times[Math.min(Math.max(here + rows + between, 0), series.count - 1)]);
  }

  clicked(x, y) {
    if (!this.live?.clicked(x, y)) this.#clickBody(x, y);
  }

  #hovered(x, y) {
    if (this.live?.placing || !this.series) return;
    byId("front").style.cursor = this.#bodyUnder(x, y) >= 0 ? "pointer" : "";
  }

  #bodyUnder(x, y) {
    const place = this.view.worldOf(x, y);
    return this.scene.bodies.under(place.x, place.y, 8 / this.view.zoom);
  }

  #clickBody(x, y) {
    const k = this.#bodyUnder(x, y);
    if (k < 0) return false;
    const { list, vehicles } = this.scene.bodies;
    const own = list[k].kind === "trailer" ? vehicles.find((v) => list[v].name === towedBy(list[k])) : k;
    this.choose(own ?? this.chosen);
    return true;
  }

  // Pictures.

  /** Something is to be drawn again. */
  changed() {
    this.sideOld = true;
    this.wake();
  }

  wake() {
    if (this.wanted || !this.series) return;
    this.wanted = true;
    requestAnimationFrame((now) => this.#frame(now));
  }

  #frame(now) {
    this.wanted = false;
    // After a rest the first picture has no time before it.
    const seconds = this.rested ? 0 : Math.min((now - this.before) / 1000, 0.25);
    if (seconds > 0) this.frameTime = this.frameTime ? 0.9 * this.frameTime + 0.1 * seconds : seconds;
    this.before = now;
    this.beforeFrame?.(seconds, now);
    this.clock.advance(seconds);
    this.series.locate(this.clock.time);
    this.scene.bodies.place(this.series);
    const gliding = this.view.glide(seconds);
    const catching = this.chosen >= 0 && this.follower.update(this.scene.bodies.poseOf(this.chosen), seconds);
    this.scene.draw(this.series, this.scans, this.clock.time, this.chosen);
    this.transport.update(this.clock);
    const again = this.clock.playing || gliding || catching || Boolean(this.live);
    this.#side(now, again);
    this.rested = !again;
    if (again) this.wake();
  }

  #side(now, again) {
    // What moved in the picture before this one is old as well, also in the last of a film.
    this.sideOld ||= !this.rested;
    if (!this.sideOld || (again && now - this.sideAt < SIDE_EVERY)) return;
    this.sideAt = now;
    this.sideOld = false;
    const live = Boolean(this.live);
    const { trails, arrows, layers } = this.scene;
    this.figures.update(this.series, this.clock.time, live);
    this.plots.update(this.series, this.clock.time, live);
    this.values.update(this.series);
    this.transport.drawStrip(this.series, this.speed, trails.low, trails.high);
    const count = this.scene.bodies.vehicles.length;
    this.showLayers({ trails: count > 0, forces: arrows.any, lidar: this.stage.scans.length > 0, labels: count > 1 });
    const legend = `${theme.revision} ${trails.high} ${layers.trails}`;
    if (legend !== this.legendOf) {
      this.legendOf = legend;
      showLegend(trails, layers.trails);
    }
  }

  /** Pictures per second while something moves. */
  fps() { return this.frameTime ? 1 / this.frameTime : 0; }
}

/** The vehicles whose curves can be shown together, the chosen one first. */
function comparable(bodies, chosen) {
  const others = bodies.vehicles.filter((k) => k !== chosen);
  const shown = (chosen < 0 ? others : [chosen, ...others]).slice(0, MOST_COMPARED);
  // Each in its colour on the ground; colours that a film gives may be shades of one.
  const given = shown.some((k) => bodies.colours[k].given);
  return shown.map((k, place) => ({ body: bodies.list[k], colour: given ? place : bodies.colours[k].number }));
}
