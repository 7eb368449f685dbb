// What was driven, row by row and to the bit: time, then the channels of the vehicle.
//
// Rows are those of a `Trajectory`: an input stands at the time from which it is commanded, outputs
// with the input that led there, in the first row with the coming one.

const BLOCK = 1024;
/** Bytes that a recording may take: a page that needs more is ended by the browser. */
export const MOST_BYTES = 256e6;

export class RunLog {
  /** `sources` are [view, place] of each number behind the time; those of inputs have `input`. */
  constructor(sources) {
    this.sources = sources;
    this.width = sources.length + 1;
    this.blocks = [];
    this.count = 0;
    this.notes = [];
    this.open = false;
    // Time of the recording at the start of the vehicle's clock, which a reset sets back.
    this.shift = 0;
  }

  get fresh() { return this.count === 0; }
  get full() { return 8 * this.width * (this.count + BLOCK) > MOST_BYTES; }
  get duration() { return this.count > 1 ? this.row(this.count - 1)[0] - this.row(0)[0] : 0; }

  row(k) {
    const block = this.blocks[Math.floor(k / BLOCK)];
    const at = (k % BLOCK) * this.width;
    return block.subarray(at, at + this.width);
  }

  /** A row of this moment, whose inputs are those that come next. */
  add(time) {
    if (this.count % BLOCK === 0) this.blocks.push(new Float64Array(BLOCK * this.width));
    const row = this.row(this.count++);
    row[0] = time + this.shift;
    this.sources.forEach(({ view, place }, k) => { row[k + 1] = view[place]; });
  }

  /** What is commanded at the time of the latest row. */
  command(inputs) {
    const row = this.row(this.count - 1);
    this.sources.forEach(({ input, place }, k) => { if (input) row[k + 1] = inputs[place]; });
  }

  note(time, what) { this.notes.push({ time: time + this.shift, ...what }); }

  /** The vehicle is about to go back to its start: time goes on from the latest row. */
  reset(time) {
    if (this.fresh) return;
    this.note(time, { reset: true });
    this.shift = this.row(this.count - 1)[0];
  }

  /** As text, with columns and headings of `Trajectory.to_csv`. */
  csv(heads) {
    const lines = [heads.join(",")];
    for (let k = 0; k < this.count; k++) lines.push(Array.from(this.row(k).subarray(0, heads.length), exactText).join(","));
    return `${lines.join("\n")}\n`;
  }
}

/** The shortest text that reads back as the same number; by itself JavaScript drops the sign of -0. */
function exactText(value) {
  return Object.is(value, -0) ? "-0.0" : String(value);
}
