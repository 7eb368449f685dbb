// Zooms charts over time: all charts of a group show the span of its form. Dragging across a chart
// chooses a span, a double click shows the whole log.
(function () {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";

  function add(parent, name, kind, attributes) {
    const made = parent.appendChild(document.createElementNS(SVG, name));
    made.setAttribute("class", kind);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function ticks(low, high) {
    const least = (high - low) / 7, power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= 0.9999 * least);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), found = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k += 1)
      found.push([k * step, (k * step + 0).toFixed(digits).replace("-", "\u2212")]);
    return found;
  }

  // The part of a chart between its axes, in the units of its drawing.
  class Plot {
    constructor(chart) {
      this.chart = chart;
      this.inner = chart.querySelector("svg.span");
      for (const name of ["x", "y", "width", "height"]) this[name] = this.inner[name].baseVal.value;
      this.units = this.inner.viewBox.baseVal.height;
      this.low = Number(this.inner.dataset.low);
      this.high = Number(this.inner.dataset.high);
    }

    share(event) {
      const area = this.chart.getBoundingClientRect();
      const at = ((event.clientX - area.left) / area.width) * this.chart.viewBox.baseVal.width;
      return Math.min(Math.max((at - this.x) / this.width, 0), 1);
    }

    show(low, high) {
      const scale = this.units / (this.high - this.low);
      const box = [(low - this.low) * scale, 0, (high - low) * scale, this.units];
      this.inner.setAttribute("viewBox", box.join(" "));
      const across = this.chart.querySelector("g.across"), bottom = this.y + this.height;
      across.replaceChildren();
      for (const [value, text] of ticks(low, high)) {
        const x = this.x + (this.width * (value - low)) / (high - low);
        add(across, "path", "grid", { d: `M${x} ${this.y}V${bottom}` });
        add(across, "text", "tick", { x, y: bottom + 16 }).textContent = text;
      }
    }
  }

  function group(node) {
    const form = node.querySelector("form.zoom"), fields = form.elements;
    const plots = [...node.querySelectorAll("svg.span")].map((one) => new Plot(one.closest(".chart")));
    const whole = [Number(fields.low.value), Number(fields.high.value)];
    let shown = whole;

    function show(low, high) {
      const enough = high - low > 1e-4 * (whole[1] - whole[0]);
      if (enough) shown = [Math.max(low, whole[0]), Math.min(high, whole[1])];
      [fields.low.value, fields.high.value] = shown.map((time) => time.toFixed(3));
      if (enough) for (const plot of plots) plot.show(...shown);
    }

    for (const plot of plots) {
      let begin = null, band = null;
      const end = () => { band?.remove(); begin = band = null; };
      plot.chart.addEventListener("pointerdown", (event) => {
        begin = plot.share(event);
        plot.chart.setPointerCapture(event.pointerId);
      });
      plot.chart.addEventListener("pointermove", (event) => {
        if (begin === null) return;
        const at = [begin, plot.share(event)].sort((a, b) => a - b);
        if (!band && at[1] - at[0] < 0.01) return;
        band ??= add(plot.chart, "rect", "selection", { y: plot.y, height: plot.height });
        band.setAttribute("x", plot.x + at[0] * plot.width);
        band.setAttribute("width", (at[1] - at[0]) * plot.width);
      });
      plot.chart.addEventListener("pointerup", (event) => {
        const at = [begin, plot.share(event)].sort((a, b) => a - b);
        if (band) show(...at.map((share) => shown[0] + share * (shown[1] - shown[0])));
        end();
      });
      plot.chart.addEventListener("pointercancel", end);
      plot.chart.addEventListener("dblclick", () => show(...whole));
    }
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      show(Number(fields.low.value), Number(fields.high.value));
    });
    form.addEventListener("reset", (event) => { event.preventDefault(); show(...whole); });
  }

  document.querySelectorAll(".zoomed").forEach(group);
})();
