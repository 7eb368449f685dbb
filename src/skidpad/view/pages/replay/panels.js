// Which time plots a vehicle gets: only those whose channels it has.

import { accelerationsOf, frictionUse, hasObstacles, inMetres, quantity, speedOf, starting, targetOf } from "skidpad/channels.js";

/** Front left, front right, rear left, rear right always have the same colours. */
const WHEEL_COLOURS = { fl: 0, fr: 1, rl: 2, rr: 3, f: 0, r: 2, left: 0, right: 1, l: 0 };

/** [{title, unit, lines: [{quantity, colour, dashed}]}] of a body, those without lines left out. */
export function panelsOf(stage, body) {
  const make = (title, lines, extra = {}) => ({ title, unit: lines[0]?.quantity.unit ?? "", lines, ...extra });
  const found = [
    make("Speed", speeds(stage, body), { zero: true }),
    make("Acceleration", accelerations(stage, body)),
    make("Steering", steering(stage, body)),
    make("Yaw rate", named(stage, body, ["omega"])),
    make("Slip angle", [...byWheel(stage, body, "alpha", "rad"), ...named(stage, body, ["beta"], 6)]),
    make("Slip ratio", byWheel(stage, body, "kappa", "1")),
    make("Sliding", [...byWheel(stage, body, "slip_x", "m/s"), ...byWheel(stage, body, "slip_y", "m/s", true)]),
    make("Wheel load", byWheel(stage, body, "F_z", "N"), { zero: true }),
    make("Friction use", wheelLines(frictionUse(stage, body)), { zero: true, floor: 1 }),
    make("Wheel torque", byWheel(stage, body, "tau", "N·m")),
    make("Hitch angle", named(stage, body, ["hitch"])),
  ];
  return found.filter((panel) => panel.lines.length);
}

function solid(of, colour) {
  return { quantity: of, colour, dashed: false };
}

function dotted(of, colour) {
  return { quantity: of, colour, dashed: true };
}

/** The panels of one of several bodies with the first line of each of them, in its own colour. */
export function comparedPanels(stage, body, others) {
  return panelsOf(stage, body).flatMap((panel) => {
    const shown = panel.title === "Acceleration" ? panel.lines.filter((line) => !line.dashed) : panel.lines.slice(0, 1);
    return shown.map((line) => {
      const { label } = line.quantity;
      const lines = others.flatMap(({ body: other, colour }) => {
        const alike = panelsOf(stage, other).find(({ title }) => title === panel.title);
        const own = alike?.lines.find((one) => !one.dashed && one.quantity.label === label);
        return own ? [{ quantity: { ...own.quantity, label: other.name }, colour, dashed: false }] : [];
      });
      const same = panel.lines.length < 2 || label.toLowerCase() === panel.title.toLowerCase();
      return { ...panel, title: same ? panel.title : `${panel.title}, ${label}`, lines };
    });
  }).filter((panel) => panel.lines.length);
}

/** One channel as a panel of its own, chosen from the table of values. */
export function panelOf(stage, body, name) {
  const place = body.channels[name];
  if (place === undefined) return null;
  const q = quantity(stage, place);
  return { title: name, unit: q.unit, lines: [{ quantity: q, colour: 4, dashed: q.held }], own: name };
}

function speeds(stage, body) {
  const whole = speedOf(body);
  const parts = named(stage, body, ["v_x", "v_y", "v"]);
  const target = body.channels.u_velocity ?? body.channels.u_v;
  const lines = parts.length > 1 && whole ? [solid(whole, 6), ...parts] : parts;
  if (lines.length && target !== undefined && !parts.some((line) => line.dashed)) {
    lines.push(dotted(quantity(stage, target, "target"), 0));
  }
  return lines;
}

function accelerations(stage, body) {
  const own = hasObstacles(stage) && accelerationsOf(body, stage);
  if (!own) return named(stage, body, ["a_x", "a_y"]);
  return [own.x, own.y].map((one, k) => solid(inMetres(one), k));
}

function steering(stage, body) {
  const own = starting(body, "steer").filter(([place]) => stage.channels[place].unit === "rad");
  const whole = own.some(([, wheel]) => wheel === "");
  const shown = whole ? own.filter(([, wheel]) => wheel === "") : own;
  const lines = shown.map(([place, wheel], k) =>
    solid(quantity(stage, place, wheel || "steer"), WHEEL_COLOURS[wheel] ?? k));
  const target = body.channels.u_steer;
  if (target !== undefined) lines.push(dotted(quantity(stage, target, "target"), lines.length ? 0 : 1));
  return lines;
}

/** The named channels, each followed by its target in the same colour, dashed. */
function named(stage, body, names, first = 0) {
  const lines = [];
  names.filter((name) => body.channels[name] !== undefined).forEach((name, k) => {
    const place = body.channels[name];
    const target = targetOf(body, name);
    lines.push(solid(quantity(stage, place), first + k));
    if (target !== undefined) lines.push(dotted(quantity(stage, target, "target"), first + k));
  });
  return lines;
}

function byWheel(stage, body, stem, unit, dashed = false) {
  const own = starting(body, stem).filter(([place, wheel]) => wheel && stage.channels[place].unit === unit);
  return wheelLines(own.map(([place, wheel]) => quantity(stage, place, dashed ? `${wheel} across` : wheel)), dashed);
}

function wheelLines(quantities, dashed = false) {
  return quantities.map((q, k) => ({ quantity: q, colour: WHEEL_COLOURS[q.label.split(" ")[0]] ?? k, dashed }));
}
