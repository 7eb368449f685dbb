// Live mode: the page shows what a server simulates, or the page itself, and drives it.

import { Hands } from "skidpad/drive.js";
import { FLAGS, readFrame } from "skidpad/frame.js";
import { Link } from "skidpad/link.js";
import { LiveClock } from "skidpad/live_clock.js";
import { LivePanel, showLink } from "skidpad/live_panel.js";
import { byId } from "skidpad/dom.js";
import { banner, fail, opened, toast } from "skidpad/notice.js";
import { ScanStore } from "skidpad/scans.js";
import { Series } from "skidpad/series.js";

const PROTOCOL = 1;
/** Seconds of the past that are kept, and the memory for them in bytes. */
const KEPT = 60;
const MEMORY = 96e6;
/** Held keys are said again this often, in ms: a server brakes for a driver who falls silent. */
const REPEAT = 100;
/** How long after the last key the zeros are still repeated, in ms: letting go is coasting. */
const LINGER = 5000;
/** Scales are fitted to new numbers this often, in ms. */
const MEASURE = 1000;

/** A link to the server that the page comes from. */
function connected(on) {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return new Link(`${scheme}//${location.host}/live${location.search}`, on);
}

export class LiveApp {
  /**
   * `connect(on)` makes the link to the world. A world within the page has `advance(now)`, which is
   * called before each picture, and hands over `on.moment(frame)`; `local` is {figures(), note}, words
   * on how it goes and on what it is.
   */
  constructor(app, { connect = connected, clock = new LiveClock(), local = null } = {}) {
    this.app = app;
    this.local = local;
    this.you = null;
    this.driver = null;
    this.vehicles = new Map();
    this.placing = null;
    this.latency = null;
    this.status = { factor: 1, real_time_factor: 1, viewers: 1 };
    this.clock = app.clock = clock;
    app.live = this;
    app.beforeFrame = (seconds, now) => this.#beforeFrame(seconds, now);
    app.onChosen = () => this.#showVehicle();
    this.hands = new Hands(() => this.#drive(true));
    this.panel = new LivePanel({
      wheel: () => this.toggleWheel(), reset: () => this.ask({ type: "reset" }), record: () => this.toggleRecording(),
      place: (kind) => this.setPlacing(kind), now: () => this.returnToNow(),
      controller: (name) => this.ask({ type: "choose", vehicle: this.#chosenName(), controller: name }),
      param: (name, value) => this.ask({ type: "param", vehicle: this.#chosenName(), name, value }),
    });
    this.#bindKeys();
    this.saidAt = 0;
    this.heldAt = -Infinity;
    this.measuredAt = 0;
    this.link = connect({
      down: (pause) => this.#lost(pause), message: (message) => this.#hear(message),
      frame: (buffer) => this.#read(buffer), moment: (frame) => this.#take(frame),
    });
  }

  #bindKeys() {
    const { keys } = this.app;
    for (const key of [" ", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) delete keys[key];
    Object.assign(keys, {
      "e": () => this.toggleWheel(), "r": () => this.ask({ type: "reset" }), "o": () => this.toggleRecording(),
      "End": () => this.returnToNow(),
      "Escape": () => (this.placing ? this.setPlacing(null) : this.app.setCamera("free")),
    });
  }

  // What the server says.

  #hear(message) {
    const answers = {
      hello: () => this.#welcome(message),
      stage: () => this.#setStage(message.stage, true),
      vehicles: () => this.#setVehicles(message.vehicles),
      status: () => this.#setStatus(message),
      heard: () => this.#setLatency(message.sent),
      error: () => toast(message.text, "error"),
      note: () => toast(message.text),
      diverged: () => banner(message.text),
    };
    answers[message.type]?.();
  }

  #welcome(message) {
    if (message.protocol > PROTOCOL) {
      const versions = `It speaks protocol ${message.protocol}, the page ${PROTOCOL}.`;
      fail("The server is newer than this page", `${versions} Reload the page.`);
      return;
    }
    const again = this.you !== null;
    const drove = again && this.driver === this.you;
    this.you = message.you;
    this.driver = message.driver;
    this.rate = message.rate;
    banner("");
    this.#setStage(message.stage, again);
    this.#setVehicles(message.vehicles);
    if (!again) this.app.choose(this.app.scene.bodies.byName.get(message.vehicles[0]?.name) ?? this.app.chosen);
    this.#setStatus({ ...message, viewers: this.status.viewers });
    if (again) toast("Connected again.");
    if (drove && this.driver === null) this.link.send({ type: "take" });
    opened();
  }

  /** Another stage; numbers of channels that both have stay, so that trails and plots go on. */
  #setStage(stage, keep) {
    if (!stage) return;
    const { app } = this;
    const before = keep ? { stage: app.stage, series: app.series } : null;
    // A table has room for twice what it keeps, four bytes a number.
    const room = Math.floor(MEMORY / 8 / Math.max(stage.channels.length, 1));
    const rows = Math.max(60, Math.min(Math.round(KEPT * (this.rate ?? 60)), room));
    const series = Series.forLive(stage.channels.length, rows);
    if (before?.series) carryOver(before, stage, series);
    app.setStage({ stage, series, scans: new ScanStore(stage.scans.length), note: this.local?.note ?? "" }, keep);
    this.#framed = keep && series.count > 0;
  }

  #framed = false;

  #setVehicles(vehicles) {
    this.vehicles = new Map(vehicles.map((vehicle) => [vehicle.name, vehicle]));
    this.#showVehicle();
  }

  #setStatus(status) {
    if (status.message && status.message !== this.status.message) toast(status.message);
    Object.assign(this.status, status);
    this.driver = status.driver ?? null;
    this.clock.paused = Boolean(status.paused);
    this.clock.speed = status.factor;
    this.panel.showDriver(this.you, this.driver, this.status.viewers);
    if (this.status.watched) this.panel.showWatched(this.status.watched);
    this.panel.showRecording(Boolean(status.recording), status.file);
    byId("sticks").hidden = !(this.driver === this.you && matchMedia("(pointer: coarse)").matches);
    this.#showLink();
    this.app.changed();
  }

  #setLatency(sent) {
    const now = performance.now() - sent;
    this.latency = this.latency === null ? now : 0.8 * this.latency + 0.2 * now;
  }

  #read(buffer) {
    const { stage } = this.app;
    const frame = stage && readFrame(buffer, stage.channels.length);
    if (frame) this.#take(frame);
  }

  #take(frame) {
    const { app } = this;
    const { series, scans } = app;
    if (series.count && frame.time < series.end) {
      // The world began again.
      series.clear();
      for (const lidar of scans.lidars) lidar.count = 0;
      this.clock.restart();
      this.clock.back = false;
    }
    // Single steps and pauses may show the same time twice; the later one holds.
    if (series.count && frame.time === series.end) series.count--;
    series.append(frame.time, frame.row);
    for (const { index, ranges } of frame.scans) scans.append(index, frame.time, ranges);
    this.clock.begin = series.begin;
    this.clock.end = series.end;
    this.clock.arrived(frame.time, performance.now() / 1000);
    if (!(frame.flags & FLAGS.diverged)) this.#clearDiverged();
    if (!this.#framed) {
      this.#framed = true;
      app.fit(false);
    }
    app.wake();
  }

  #clearDiverged() {
    if (this.link.up && !byId("banner").hidden) banner("");
  }

  #lost(pause) {
    showLink("off", "not connected");
    const words = this.you === null ? "The server does not answer" : "The server is gone";
    banner(`${words}; trying again in ${Math.max(1, Math.round(pause / 1000))} s …`);
    if (this.you === null) opened();
  }

  // What the reader wants.

  /** Send what only the driver may; the wheel is taken first when it is free. */
  ask(message) {
    if (this.driver !== null && this.driver !== this.you) {
      toast(`Viewer ${this.driver} has the wheel.`);
      return;
    }
    if (this.driver === null) this.#takeWheel();
    this.link.send(message);
  }

  #takeWheel() {
    // The server answers with its status; until then the page goes on as if it had said yes.
    if (this.link.send({ type: "take" })) this.driver = this.you;
  }

  toggleWheel() {
    if (this.driver === this.you) this.link.send({ type: "release" });
    else this.link.send({ type: "take" });
  }

  toggle() { this.ask({ type: this.clock.paused ? "resume" : "pause" }); }

  step(rows) {
    if (rows > 0 && this.clock.paused && !this.clock.back) this.ask({ type: "step", count: 1 });
    else this.lookBack(rows);
  }

  lookBack(rows) {
    const { series, clock } = this.app;
    const row = series.rowAt(clock.time) + rows;
    this.app.seek(series.times[Math.min(Math.max(row, 0), series.count - 1)]);
    clock.back = row < series.count - 1;
  }

  setFactor(value) { this.ask({ type: "factor", value }); }

  toggleRecording() { this.ask({ type: "record", on: !this.status.recording }); }

  setPlacing(kind) {
    this.placing = this.placing === kind ? null : kind;
    this.panel.showPlacing(this.placing);
    byId("front").style.cursor = this.placing ? "crosshair" : "";
  }

  /** A click on the ground; true when it was used. */
  clicked(x, y) {
    if (!this.placing) return false;
    const place = this.app.view.worldOf(x, y);
    this.ask({ type: "drop", kind: this.placing, x: place.x, y: place.y });
    return true;
  }

  returnToNow() {
    this.clock.back = false;
    this.app.changed();
  }

  #chosenName() {
    return this.app.chosen < 0 ? "" : this.app.scene.bodies.list[this.app.chosen].name;
  }

  #showVehicle() { this.panel.showVehicle(this.vehicles.get(this.#chosenName())); }

  // Driving.

  /** Say how the hands are: at once when they moved, else again and again while they hold. */
  #drive(moved) {
    const vehicle = this.#chosenName();
    if (!vehicle || !this.link.up) return;
    if (this.driver !== this.you) {
      if (!moved || this.hands.idle) return;
      if (this.driver !== null) {
        toast(`Viewer ${this.driver} has the wheel.`);
        return;
      }
      this.#takeWheel();
    }
    if (moved) this.returnToNow();
    const { ahead, left, handbrake } = this.hands;
    this.saidAt = performance.now();
    if (!this.hands.idle) this.heldAt = this.saidAt;
    this.link.send({ type: "drive", vehicle, ahead, left, handbrake, sent: this.saidAt });
  }

  #beforeFrame(seconds, now) {
    this.hands.poll();
    const wall = performance.now();
    const mine = this.driver !== null && this.driver === this.you;
    if (mine && wall - this.saidAt >= REPEAT && wall - this.heldAt < LINGER) this.#drive(false);
    this.link.advance?.(now);
    this.clock.pass(seconds, now / 1000);
    this.panel.now.hidden = !this.clock.back;
    if (wall - this.measuredAt > MEASURE) {
      this.measuredAt = wall;
      this.app.scene.measure(this.app.series, true);
      this.#showLink();
    }
  }

  #showLink() {
    if (!this.link?.up) return;
    const pace = this.clock.paused ? "paused" : `${(this.status.real_time_factor ?? 0).toFixed(2)}×`;
    const latency = this.latency === null ? "" : ` · ${Math.round(this.latency)} ms`;
    showLink("on", this.local ? this.local.figures() : pace + latency);
  }
}

/** Copy the rows of a series to one of another stage, channel by channel of the same name. */
function carryOver(before, stage, series) {
  const key = (channel) => `${channel.body}\n${channel.name}`;
  const old = new Map(before.stage.channels.map((channel, k) => [key(channel), k]));
  const places = stage.channels.map((channel) => old.get(key(channel)) ?? -1);
  const row = new Float32Array(places.length);
  const first = Math.max(0, before.series.count - (series.times.length >> 1));
  for (let i = first; i < before.series.count; i++) {
    for (let c = 0; c < row.length; c++) row[c] = places[c] < 0 ? NaN : before.series.get(places[c], i);
    series.append(before.series.times[i], row);
  }
}
