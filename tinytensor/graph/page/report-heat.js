/* A heat map of layer by step, on canvas, with the curve of the layer that is chosen below it. */
"use strict";

const Heat = (() => {
  const { element, number } = TT;
  const AXIS = 26; // pixels below the map, for the steps
  const USUAL = -3; // log₁₀ of the usual update-to-weight ratio
  const FAR = 3; // powers of ten on either side of it, at most, that the colours tell apart

  /* How the values of a figure become shares of a ramp. */
  function scaleOf(heat) {
    const logs = heat.values.flat().filter((v) => v !== null && v > 0).map(Math.log10);
    if (heat.scale === "share") {
      return { ramp: "sequential", text: percent, share: (v) => v, low: "0 %", high: "100 %" };
    }
    const [low, high] = logs.length ? [Math.min(...logs), Math.max(...logs)] : [-1, 0];
    if (heat.scale === "log") {
      const span = Math.max(high - low, 1e-9);
      return {
        ramp: "sequential", text: logText, share: (v) => (v > 0 ? (Math.log10(v) - low) / span : 0),
        low: `10^${number(low, 3)}`, high: `10^${number(high, 3)}`,
      };
    }
    const far = Math.min(Math.max(Math.abs(low - USUAL), Math.abs(high - USUAL), 1), FAR);
    return {
      ramp: "diverging", text: logText, share: (v) => (v > 0 ? 0.5 + (Math.log10(v) - USUAL) / (2 * far) : 0),
      low: `10^${number(USUAL - far, 3)}`, middle: "10^−3", high: `10^${number(USUAL + far, 3)}`,
    };
  }

  function percent(value) {
    return `${number(100 * value, 3)} %`;
  }

  function logText(value) {
    return value > 0 ? `${number(value)} (log₁₀ ${number(Math.log10(value), 3)})` : "0";
  }

  function heatMap(heat) {
    const scale = scaleOf(heat);
    const canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": describe() });
    const legend = element("div", { class: "legend" });
    const readout = element("p", { class: "readout code" });
    const chosen = { layer: 0, column: heat.steps.length - 1 };
    const names = shortNames(heat.layers);
    let box = null;

    const root = element("figure", { class: "panel heat" },
      element("figcaption", {}, element("h2", {}, heat.title), element("p", { class: "quiet" }, heat.meaning), legend),
      element("div", { class: "scroll" }, canvas), readout, numbers());

    function describe() {
      const last = heat.values.map((row, n) => `${heat.layers[n]} ${number(row.at(-1), 3)}`);
      return `${heat.title}: ${heat.layers.length} layers over ${heat.steps.length} steps. At the end ${last.slice(0, 40).join(", ")}. Arrow keys go from cell to cell.`;
    }

    root.draw = () => {
      const style = `12px ${getComputedStyle(document.body).fontFamily}`;
      const measure = canvas.getContext("2d");
      measure.font = style;
      const left = Math.min(Math.max(...names.map((n) => measure.measureText(n).width)), 230) + 12;
      const width = Math.max(root.clientWidth - 36, 260);
      const h = Math.min(Math.max(360 / heat.layers.length, 15), 30);
      box = { left, width: width - left - 2, h, w: (width - left - 2) / heat.steps.length, height: h * heat.layers.length };
      canvas.style.width = `${width}px`;
      canvas.style.height = `${box.height + AXIS}px`;
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round((box.height + AXIS) * ratio);
      const context = canvas.getContext("2d");
      context.scale(ratio, ratio);
      context.font = style;
      paint(context);
      showLegend();
    };

    function paint(context) {
      heat.values.forEach((row, n) => {
        row.forEach((value, m) => {
          const x = box.left + m * box.w;
          context.fillStyle = value === null ? TT.css("--line") : TT.colour(scale.ramp, scale.share(value));
          context.fillRect(x, n * box.h, Math.ceil(box.w * 4 + 1) / 4, box.h - 1);
        });
      });
      context.fillStyle = TT.css("--ink");
      context.textBaseline = "middle";
      context.textAlign = "right";
      names.forEach((name, n) => context.fillText(name, box.left - 7, (n + 0.5) * box.h, 230));
      context.fillStyle = TT.css("--quiet");
      context.textAlign = "center";
      const every = Math.max(1, Math.ceil(70 / box.w));
      for (let m = 0; m < heat.steps.length; m += every) {
        context.fillText(number(heat.steps[m], 6), Math.min(box.left + (m + 0.5) * box.w, box.left + box.width - 14), box.height + 14);
      }
      context.strokeStyle = TT.css("--gradient");
      context.lineWidth = 2;
      const { layer, column } = chosen;
      context.strokeRect(box.left + column * box.w - 1, layer * box.h - 0.5, Math.max(box.w, 2) + 2, box.h);
      showReadout(readout, layer, column);
    }

    function words(layer, column) {
      const value = heat.values[layer][column];
      return `${heat.layers[layer]}, step ${number(heat.steps[column], 6)}: ${value === null ? "no figure" : scale.text(value)}`;
    }

    function showReadout(where, layer, column) {
      where.textContent = words(layer, column);
    }

    function showLegend() {
      const bar = element("span", { class: "bar" });
      const stops = Array.from({ length: 17 }, (_, n) => TT.colour(scale.ramp, n / 16)).join(", ");
      bar.style.background = `linear-gradient(to right, ${stops})`;
      const middle = scale.middle ? element("span", { class: "quiet" }, `middle ${scale.middle}`) : "";
      legend.replaceChildren(element("span", { class: "number" }, scale.low), bar,
        element("span", { class: "number" }, scale.high), middle);
    }

    /* The same as a table, for those who do not see it and for paper. */
    function numbers() {
      const columns = [...new Set([0, Math.floor((heat.steps.length - 1) / 2), heat.steps.length - 1])];
      return element("details", {}, element("summary", {}, "Numbers"),
        element("div", { class: "scroll" }, element("table", { class: "matrix" },
          element("thead", {}, element("tr", {}, element("th", {}, "layer"),
            columns.map((m) => element("th", { scope: "col" }, `step ${number(heat.steps[m], 6)}`)))),
          element("tbody", {}, heat.layers.map((name, n) => element("tr", {}, element("th", { scope: "row" }, name),
            columns.map((m) => element("td", {}, number(heat.values[n][m], 4)))))))));
    }

    function under(event) {
      const area = canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - area.left - box.left) / box.w);
      const layer = Math.floor((event.clientY - area.top) / box.h);
      return column >= 0 && layer >= 0 && column < heat.steps.length && layer < heat.layers.length ? { layer, column } : null;
    }

    function choose(layer, column) {
      chosen.layer = Math.min(Math.max(layer, 0), heat.layers.length - 1);
      chosen.column = Math.min(Math.max(column, 0), heat.steps.length - 1);
      root.draw();
      TT.announce(words(chosen.layer, chosen.column));
    }

    canvas.onpointermove = (event) => {
      const found = under(event);
      if (found) TT.point(event, words(found.layer, found.column));
      else TT.point(event);
    };
    canvas.onpointerleave = (event) => TT.point(event);
    canvas.onclick = (event) => {
      const found = under(event);
      if (found) choose(found.layer, found.column);
    };
    canvas.onkeydown = (event) => {
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      if (!(event.key in steps)) return;
      const [rows, columns] = steps[event.key];
      choose(chosen.layer + rows, chosen.column + columns);
      event.preventDefault();
    };
    return root;
  }

  /* Without the parts that all names begin with. */
  function shortNames(names) {
    const split = names.map((name) => name.split("."));
    let shared = 0;
    while (split.length > 1 && split.every((parts) => parts.length > shared + 1 && parts[shared] === split[0][shared])) shared++;
    return split.map((parts) => parts.slice(shared).join("."));
  }

  return Object.freeze({ heatMap });
})();
