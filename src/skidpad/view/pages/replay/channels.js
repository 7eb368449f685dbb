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

/** Least time over which velocities are compared, in s: the numbers of a film are rounded. */
const OVER = 0.03;

/** The acceleration of the body itself: the change of its velocity, walls and pushes included. */
function felt(label, { v_x, v_y, omega }, along) {
  const get = (s, i) => {
    let a = i, b = i;
    while (s.times[b] - s.times[a] < OVER && (a > 0 || b < s.count - 1)) {
      if (a > 0) a--;
      if (b < s.count - 1 && s.times[b] - s.times[a] < OVER) b++;
    }
    const dt = s.times[b] - s.times[a];
    if (!(dt > 0)) return 0;
    const change = (channel) => (s.get(channel, b) - s.get(channel, a)) / dt;
    const turn = s.get(omega, i);
    return (along ? change(v_x) - turn * s.get(v_y, i) : change(v_y) + turn * s.get(v_x, i)) / GRAVITY;
  };
  const at = (s) => {
    const here = get(s, s.row);
    return s.share === 0 || s.row + 1 >= s.count ? here : here + s.share * (get(s, s.row + 1) - here);
  };
  return { label, unit: "g", held: false, role: "derived", get, at };
}

/** Whether there is something to run into: then forces of tyres alone do not say how a body moves. */
export function hasObstacles(stage) {
  const walls = stage.polygons.some(({ kind }) => kind === "wall" || kind === "block");
  return walls || stage.bodies.some(({ kind }) => kind === "block" || kind === "actor");
}

/** Whether a_x and a_y of a body are the change of its velocity. */
function isMeasured(body, stage) {
  const place = body.channels.a_x;
  return Boolean(stage && place !== undefined && stage.channels[place].role === "measured");
}

/** Acceleration along and across the body in g, or null. */
export function accelerationsOf(body, stage) {
  // Kinematic models give a_x, a_y of another frame beside a_long, a_lat; the latter are the body's.
  const measured = isMeasured(body, stage);
  const ax = (measured ? undefined : body.channels.a_long) ?? body.channels.a_x;
  const ay = (measured ? undefined : body.channels.a_lat) ?? body.channels.a_y;
  if (ax === undefined || ay === undefined) return null;
  const { v_x, v_y, omega } = body.channels;
  // What worlds and their recordings have says it already; those of a model do not know of walls.
  const whole = v_x !== undefined && v_y !== undefined && omega !== undefined && !measured;
  if (whole && stage && hasObstacles(stage)) {
    return { x: felt("a_x", body.channels, true), y: felt("a_y", body.channels, false) };
  }
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
    return [derived(wheel, "× load", places, (a, b, n) => (n > 1 ? force(a, b) / n : 0))];
  });
}

/** The name of a channel as it is read: u_steer is the target of steer. */
export function targetOf(body, name) {
  return body.channels[`u_${name}`];
}

/** A quantity in g as one in m/s². */
export function inMetres(q) {
  return { ...q, unit: "m/s²", get: (s, i) => GRAVITY * q.get(s, i), at: (s) => GRAVITY * q.at(s) };
}
