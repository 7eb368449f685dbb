// The connection to a live server: it is made again, with growing pauses, whenever it breaks.

const FIRST_PAUSE = 300;
const LONGEST_PAUSE = 5000;

export class Link {
  /** `on` is {message(object), frame(ArrayBuffer), down(pause in ms)}. */
  constructor(address, on) {
    this.address = address;
    this.on = on;
    this.socket = null;
    this.pause = FIRST_PAUSE;
    this.#open();
  }

  get up() { return this.socket !== null && this.socket.readyState === WebSocket.OPEN; }

  /** Send an object; false when there is no connection. */
  send(message) {
    if (!this.up) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  #open() {
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.addEventListener("message", ({ data }) => {
      if (typeof data !== "string") this.on.frame(data);
      else this.#hear(data);
    });
    socket.addEventListener("close", () => this.#retry());
  }

  #hear(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      return;
    }
    // Only a server that answers makes the next pause short again, not one that just lets us in.
    if (message.type === "hello") this.pause = FIRST_PAUSE;
    this.on.message(message);
  }

  #retry() {
    const pause = this.pause * (0.8 + 0.4 * Math.random());
    this.pause = Math.min(1.7 * this.pause, LONGEST_PAUSE);
    this.on.down(pause);
    setTimeout(() => this.#open(), pause);
  }
}
