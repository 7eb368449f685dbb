// Opens a page, whatever is in it: lets people reach it from the console, and says what went wrong.

import { BrokenFilm } from "skidpad/decode.js";
import { fail, opened } from "skidpad/notice.js";

/** What tests and curious people reach from the console. */
function expose({ app, ...more }) {
  window.skidpad = {
    app,
    ...more,
    get film() { return { stage: app.stage, series: app.series, scans: app.scans }; },
    get view() { return app.view; },
    get time() { return app.clock.time; },
    seek: (time) => app.seek(time),
    play: () => { app.clock.play(); app.changed(); },
    pause: () => { app.clock.pause(); app.changed(); },
    poseOf: (name) => app.scene.bodies.poseOf(app.scene.bodies.byName.get(name)),
    screenOf: (x, y) => app.view.screenOf(x, y),
    fps: () => app.fps(),
  };
}

/**
 * `open()` gives {app} and what else is to be at hand, or raises BrokenFilm; `what` and `again` are
 * words for that case. A page that waits for others says itself when it is open.
 */
export async function start(open, { what, again, waits = false }) {
  if (document.documentElement.hasAttribute("data-failed")) return;
  try {
    expose(await open());
    if (!waits) opened();
  } catch (error) {
    if (error instanceof BrokenFilm) {
      fail(what, `${error.message} ${again}`);
      return;
    }
    fail("The page stopped", `${error.message ?? error}`);
    throw error;
  }
}
