/* A chart of curves over the steps, in SVG: axes with round numbers, smoothing, a read-out. */
"use strict";

const Chart = (() => {
  const { element, svg, number } = TT;
  const MARGIN = { left: 64, right: 14, top: 10, bottom: 34 };
  const HEIGHT = 250;
  const FAR_APART = 1e3; // largest / smallest, from which an axis is logarithmic unasked
  const FEW = 40; // points of a curve, up to which each has a dot
  const DASHES = ["", "7 3", "2 3"]; // told apart without colour too

  /* From values to pixels; ticks at round values. */
  class Axis {
    constructor(low, high, from, to, logarithmic) {
      this.logarithmic = logarithmic;
      this.low = this.scaled(low);
      this.high = this.scaled(high);
      if (this.high - this.low < 1e-9 * Math.max(1, Math.abs(this.high))) { // one value: around it
        const half = Math.max(0.5 * Math.abs(this.high), 0.5);
        this.low -= half;
        this.high += half;
      }
      this.from = from;
      this.to = to;
    }

    scaled(value) {
      return this.logarithmic ? Math.log10(value) : value;
    }

    pixel(value) {
      const share = (this.scaled(value) - this.low) / (this.high - this.low);
      return this.from + share * (this.to - this.from);
    }

    /* The value at a pixel. */
    value(pixel) {
      const share = (pixel - this.from) / (this.to - this.from);
      const scaled = this.low + share * (this.high - this.low);
      return this.logarithmic ? 10 ** scaled : scaled;
    }

    ticks(about) {
      if (this.logarithmic) return this.powers();
      const rough = (this.high - this.low) / about;
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
      const first = Math.ceil(this.low / step - 1e-9);
      const last = Math.floor(this.high / step + 1e-9);
      return Array.from({ length: last - first + 1 }, (_, n) => (first + n) * step);
    }

    powers() {
      const digits = this.high - this.low < 2 ? [1, 2, 5] : [1];
      const all = [];
      for (let exponent = Math.floor(this.low); exponent <= this.high; exponent++) {
        all.push(...digits.map((digit) => digit * 10 ** exponent));
      }
      return all.filter((v) => this.scaled(v) >= this.low && this.scaled(v) <= this.high);
    }
  }

  /* Each value as the mean of those before it, with weights that fade by `amount`, 0 … 1. */
  function smoothed(values, amount) {
    let [mean, weight] = [0, 0];
    return values.map((value) => {
      mean = amount * mean + (1 - amount) * value;
      weight = amount * weight + (1 - amount);
      return mean / weight;
    });
  }

  function path(xs, ys, xAxis, yAxis) {
    const place = (x, y) => `${xAxis.pixel(x).toFixed(1)} ${yAxis.pixel(y).toFixed(1)}`;
    return `M${xs.map((x, n) => place(x, ys[n])).join("L")}`;
  }

  function dashes(n) {
    return DASHES[n % DASHES.length] || null;
  }

  /* curves: [{name, x, y, noisy}], noisy ones to be smoothed. The element's method
     `draw({smoothing, logarithmic})` draws it. */
  function chart(title, curves) {
    const picture = svg("svg", { role: "img", height: HEIGHT, class: "chart" });
    const legend = element("div", { class: "legend" });
    const caption = element("figcaption", {}, element("h2", {}, title), legend);
    const root = element("figure", { class: "panel" }, caption, picture);
    const all = curves.flatMap((curve) => curve.y);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const steps = curves.flatMap((curve) => [curve.x[0], curve.x.at(-1)]);
    const [first, last] = [Math.min(...steps), Math.max(...steps)];
    let axes = null;
    let shown = {};

    root.draw = (settings) => {
      shown = settings;
      const width = Math.max(root.clientWidth - 34, 240);
      const logarithmic = low > 0 && (settings.logarithmic || high / low > FAR_APART);
      axes = {
        x: new Axis(first, last, MARGIN.left, width - MARGIN.right, false),
        y: new Axis(low, high, HEIGHT - MARGIN.bottom, MARGIN.top, logarithmic),
      };
      picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      picture.setAttribute("width", width);
      picture.setAttribute("aria-label", describe());
      picture.replaceChildren(...grid(width), ...curves.flatMap(line), cross);
      showValues(null);
    };

    function describe() {
      const ends = curves.map((c) => `${c.name} from ${number(c.y[0])} to ${number(c.y.at(-1))}`);
      return `${title} over ${number(curves[0].x.at(-1))} steps: ${ends.join(", ")}`;
    }

    function grid(width) {
      const [bottom, right] = [HEIGHT - MARGIN.bottom, width - MARGIN.right];
      const parts = [];
      for (const value of axes.x.ticks(6)) {
        const x = axes.x.pixel(value);
        parts.push(svg("path", { class: "grid", d: `M${x} ${MARGIN.top}V${bottom}` }),
          svg("text", { x, y: bottom + 16, "text-anchor": "middle" }, number(value, 6)));
      }
      for (const value of axes.y.ticks(5)) {
        const y = axes.y.pixel(value);
        parts.push(svg("path", { class: "grid", d: `M${MARGIN.left} ${y}H${right}` }),
          svg("text", { x: MARGIN.left - 7, y: y + 4, "text-anchor": "end" }, number(value, 4)));
      }
      const middle = { x: (MARGIN.left + right) / 2, y: HEIGHT - 3, "text-anchor": "middle" };
      const frame = `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}`;
      return [...parts, svg("path", { class: "frame", d: frame }), svg("text", middle, "step")];
    }

    function line(curve, n) {
      const { x, y } = curve;
      const stroke = TT.curveColour(n);
      const look = { stroke, fill: "none", "stroke-width": 2, "stroke-dasharray": dashes(n) };
      const noisy = curve.noisy && shown.smoothing > 0 && x.length > 30;
      const ys = noisy ? smoothed(y, shown.smoothing) : y;
      const parts = [svg("path", { ...look, d: path(x, ys, axes.x, axes.y) })];
      if (noisy) {
        const raw = { stroke, fill: "none", class: "raw", d: path(x, y, axes.x, axes.y) };
        parts.unshift(svg("path", raw));
      }
      return x.length > FEW ? parts : [...parts, ...dots(curve, stroke)];
    }

    function dots({ x, y }, fill) {
      const r = x.length === 1 ? 4 : 2.5;
      const dot = (step, value) =>
        svg("circle", { cx: axes.x.pixel(step), cy: axes.y.pixel(value), r, fill });
      return x.map((step, i) => dot(step, y[i]));
    }

    const cross = svg("path", { class: "cross" });

    /* The legend, with the values at a step; with the last ones if there is none. */
    function showValues(step) {
      legend.replaceChildren(...curves.map((curve, n) => {
        const at = step === null ? curve.x.length - 1 : nearest(curve.x, step);
        const place = step === null ? "" : ` at ${number(curve.x[at], 6)}`;
        return element("span", {}, key(n), ` ${curve.name} `,
          element("b", { class: "number" }, number(curve.y[at], 4)),
          element("span", { class: "quiet" }, place));
      }));
    }

    function key(n) {
      const look = { stroke: TT.curveColour(n), "stroke-width": 3, "stroke-dasharray": dashes(n) };
      return svg("svg", { width: 26, height: 10, "aria-hidden": "true" },
        svg("path", { d: "M0 5H26", ...look }));
    }

    picture.onpointermove = (event) => {
      const x = event.clientX - picture.getBoundingClientRect().left;
      const step = Math.min(Math.max(axes.x.value(x), axes.x.low), axes.x.high);
      cross.setAttribute("d", `M${axes.x.pixel(step)} ${MARGIN.top}V${HEIGHT - MARGIN.bottom}`);
      showValues(step);
    };
    picture.onpointerleave = () => {
      cross.setAttribute("d", "");
      showValues(null);
    };
    return root;
  }

  /* The index of the step that is nearest to one. */
  function nearest(steps, wanted) {
    let [low, high] = [0, steps.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (steps[middle] < wanted) low = middle;
      else high = middle;
    }
    return Math.abs(steps[low] - wanted) <= Math.abs(steps[high] - wanted) ? low : high;
  }

  return Object.freeze({ chart });
})();
