// Colours: the theme's, those of vehicles and lines, and the scale of speeds.

/** Okabe and Ito's palette for colour-blind readers, a little darker on light ground, lighter on dark. */
const LINES = {
  light: ["#0072b2", "#d55e00", "#009e73", "#c0619a", "#c58800", "#3d9bd1", "#6b6f76", "#8a7a00"],
  dark: ["#4aa8e8", "#ff8a3d", "#2fc79a", "#e598c4", "#f0b43c", "#8fd0f7", "#a3abb5", "#cdbb3a"],
};

/** Viridis of matplotlib (van der Walt and Smith), every sixteenth colour. */
const VIRIDIS = [
  0x440154, 0x481a6c, 0x472f7d, 0x414487, 0x39568c, 0x31688e, 0x2a788e, 0x23888e, 0x1f988b,
  0x22a884, 0x35b779, 0x54c568, 0x7ad151, 0xa5db36, 0xd2e21b, 0xfde725,
];
export const SPEED_STEPS = 32;

/** The colours of the theme in force; `read` after a change of theme. */
export const theme = { dark: false, lines: LINES.light, revision: 0 };

const NAMES = [
  "ground", "grid", "grid-strong", "ink", "muted", "faint", "surface", "accent", "wall", "wall-edge",
  "block", "block-edge", "region", "lane", "boundary", "reference", "wheel", "wheel-edge", "glass",
  "shadow", "free", "unknown", "occupied", "echo", "fan", "force", "acceleration", "actor", "halo",
];

/** Take the colours over from the style sheet, where they are defined. */
export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of NAMES) theme[name.replace("-", "_")] = style.getPropertyValue(`--${name}`).trim();
  theme.dark = style.getPropertyValue("--dark").trim() === "1";
  theme.lines = theme.dark ? LINES.dark : LINES.light;
  theme.speeds = speedColours(theme.dark);
  theme.revision++;
}

/** Colour of a line or vehicle by its number. */
export function lineColour(k) {
  return theme.lines[k % theme.lines.length];
}

function speedColours(dark) {
  // The dark end of viridis vanishes on dark ground, its yellow end on light: each is left out.
  const [from, to] = dark ? [0.2, 1] : [0, 0.9];
  return Array.from({ length: SPEED_STEPS }, (_, k) => viridis(from + (to - from) * (k / (SPEED_STEPS - 1))));
}

function viridis(share) {
  const place = share * (VIRIDIS.length - 1);
  const k = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return mixed(VIRIDIS[k], VIRIDIS[k + 1], place - k);
}

function mixed(a, b, share) {
  const part = (shift) => {
    const low = (a >> shift) & 255;
    return Math.round(low + share * (((b >> shift) & 255) - low));
  };
  return `rgb(${part(16)},${part(8)},${part(0)})`;
}

/** Number of the speed colour of a value on a scale from low to high. */
export function speedStep(value, low, high) {
  const k = Math.floor((SPEED_STEPS * (value - low)) / (high - low));
  return k > 0 ? Math.min(k, SPEED_STEPS - 1) : 0;
}

/** A hex colour mixed with black (amount < 0) or white (amount > 0). */
export function shaded(hex, amount) {
  const given = parseInt(hex.slice(1, 7), 16);
  return mixed(Number.isNaN(given) ? 0x888888 : given, amount < 0 ? 0 : 0xffffff, Math.abs(amount));
}

/** The red, green and blue of a CSS hex colour. */
export function rgb(hex) {
  const n = parseInt(hex.slice(1, 7), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}
