// Commands that act late, as run/delay_line.py has them: a queue of stamps for each delayed input.
//
// A command has the stamp of the clock after the step it would act in if it were not delayed, so
// the clock alone says which commands count: a step that is not made leaves nothing to take back.

export class DelayLine {
  /** `channels` are [place of the input, age in steps from which a command acts]; `input` is at rest. */
  constructor(channels, input) {
    this.channels = channels;
    this.input = input;
    this.forget();
  }

  forget() {
    this.queues = this.channels.map(([field]) => [{ stamp: -Infinity, value: this.input[field] }]);
  }

  /** The inputs that act if these are commanded in a step that takes the clock to `after`. */
  acting(row, clock, after) {
    const out = Float64Array.from(row);
    this.channels.forEach(([field, age], k) => {
      const queue = this.queues[k];
      while (queue[queue.length - 1].stamp > clock) queue.pop();
      while (queue.length > 1 && clock - queue[1].stamp >= age) queue.shift();
      queue.push({ stamp: after, value: row[field] });
      for (const { stamp, value } of queue) {
        if (after - stamp < age) break;
        out[field] = value;
      }
    });
    return out;
  }
}
