// Pointer, wheel and pinch on the top view.

/** How far a pointer may move in px and still be a click. */
const CLICK = 5;

/**
 * @param {HTMLElement} element that is touched
 * @param {View} view that is moved
 * @param {object} on {changed(), dragged(), clicked(x, y), doubleClicked(x, y), hovered(x, y)}
 */
export function listenToGestures(element, view, on) {
  const pointers = new Map();
  let begin = null;
  let spread = 0;

  const place = (event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  element.addEventListener("pointerdown", (event) => {
    if (event.button > 1) return;
    element.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    begin = pointers.size === 1 ? { ...place(event), moved: false } : null;
    spread = distance(pointers);
  });

  element.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      on.hovered(now.x, now.y);
      return;
    }
    pointers.set(event.pointerId, now);
    if (begin && !begin.moved && Math.hypot(now.x - begin.x, now.y - begin.y) < CLICK) return;
    if (begin && !begin.moved) {
      begin.moved = true;
      on.dragged();
    }
    // Each of two fingers moves the middle between them by half its own way.
    view.pan((now.x - before.x) / pointers.size, (now.y - before.y) / pointers.size);
    if (pointers.size === 2) pinch();
    on.changed();
  });

  function pinch() {
    const [a, b] = pointers.values();
    const apart = distance(pointers);
    if (spread > 0) view.zoomAt(apart / spread, (a.x + b.x) / 2, (a.y + b.y) / 2);
    spread = apart;
  }

  const release = (event) => {
    const here = pointers.get(event.pointerId);
    pointers.delete(event.pointerId);
    spread = 0;
    if (here && begin && !begin.moved && event.type === "pointerup") on.clicked(here.x, here.y);
    begin = null;
  };
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);

  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { x, y } = place(event);
    // Lines and pages of old wheels in px; a pinch on a touchpad comes as ctrl and small steps.
    const unit = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 300 : 1;
    const rate = event.ctrlKey ? 0.01 : 0.0016;
    view.zoomAt(Math.exp(-event.deltaY * unit * rate), x, y);
    on.changed();
  }, { passive: false });

  element.addEventListener("dblclick", (event) => {
    const { x, y } = place(event);
    on.doubleClicked(x, y);
  });
}

function distance(pointers) {
  if (pointers.size !== 2) return 0;
  const [a, b] = pointers.values();
  return Math.hypot(a.x - b.x, a.y - b.y);
}
