// What the channels of a body mean: speed, accelerations, and per wheel slip, load and use of grip.
//
// A quantity is {label, unit, held, get(series, row), at(series)}: `get` for plots, `at` for now.

const GRAVITY = 9.80665;
const DEGREES = 180 / Math.PI;

/** Angles are in radians everywhere but on screen. */
const ON_SCREEN = {
  "rad": ["°", DEGREES], "rad/s": ["°/s", DEGREES], "rad/s²": ["°/s²", DEGREES], "1": ["", 1],
};

/** Unit and factor with which numbers of a unit are shown. */
export function onScreen(unit) {
  return ON_SCREEN[unit] ?? [unit, 1];
}

/** One channel as a quantity. */
export function quantity(stage, place, label) {
  const channel = stage.channels[place];
  const [unit, factor] = onScreen(channel.unit);
  const held = channel.role === "input";
  const angle = channel.unit === "rad";
  return {
    label: label ?? channel.name, unit, held, role: channel.role,
    get: (series, row) => factor * series.get(place, row),
    at: (series) => factor * (held ? series.heldAt(place) : angle ? series.angleAt(place) : series.at(place)),
  };
}

/** A quantity computed from others of a body. */
function derived(label, unit, places, formula) {
  const [a, b, c] = places;
  return {
    label, unit, held: false, role: "derived",
    get: (s, i) => formula(s.get(a, i), b === undefined ? 0 : s.get(b, i), c === undefined ? 1 : s.get(c, i)),
    at: (s) => formula(s.at(a), b === undefined ? 0 : s.at(b), c === undefined ? 1 : s.at(c)),
  };
}

/** Speed over ground in m/s, or null where no velocity is known. */
export function speedOf(body) {
  const { v_x, v_y, v, speed } = body.channels;
  if (v_x !== undefined && v_y !== undefined) return derived("speed", "m/s", [v_x, v_y], (x, y) => Math.hypot(x, y));
  const one = v_x ?? v ?? speed;
  return one === undefined ? null : derived("speed", "m/s", [one], (x) => Math.abs(x));
}

/** Acceleration along and across the body in g, or null. */
export function accelerationsOf(body) {
  // Kinematic models give a_x, a_y of another frame beside a_long, a_lat; the latter are the body's.
  const ax = body.channels.a_long ?? body.channels.a_x;
  const ay = body.channels.a_lat ?? body.channels.a_y;
  if (ax === undefined || ay === undefined) return null;
  const inG = (a) => a / GRAVITY;
  return { x: derived("a_x", "g", [ax], inG), y: derived("a_y", "g", [ay], inG) };
}

/** Channels named `stem` or `stem_...`, as [place, what follows the stem]. */
export function starting(body, stem) {
  return Object.entries(body.channels)
    .filter(([name]) => name === stem || name.startsWith(`${stem}_`))
    .map(([name, place]) => [place, name.slice(stem.length + 1)]);
}

/** Share of the grip used per wheel: as recorded, else the force over the load. */
export function frictionUse(stage, body) {
  const given = starting(body, "use");
  if (given.length) return given.map(([place, wheel]) => quantity(stage, place, wheel));
  return starting(body, "F_z").flatMap(([load, wheel]) => {
    const along = body.channels[`F_x_${wheel}`];
    const across = body.channels[`F_y_${wheel}`];
    if (along === undefined && across === undefined) return [];
    const places = along === undefined ? [across, across, load] : [along, across ?? along, load];
    // One force alone stands for both places above; it is then taken once.
    const force = along === undefined || across === undefined ? (a) => Math.abs(a) : Math.hypot;
    return [derived(wheel, "F/F_z", places, (a, b, n) => (n > 1 ? force(a, b) / n : 0))];
  });
}

/** The name of a channel as it is read: u_steer is the target of steer. */
export function targetOf(body, name) {
  return body.channels[`u_${name}`];
}
