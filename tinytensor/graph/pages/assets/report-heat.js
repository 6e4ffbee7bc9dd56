/* A heat map of layer by step, on canvas, with the curve of the layer that is chosen below it. */
"use strict";

const Heat = (() => {
  const { element, number } = TT;
  const AXIS = 26; // pixels below the map, for the steps
  const LONGEST = 230; // pixels for the name of a layer
  const MOST_SPOKEN = 40; // layers that are read out to those who do not see the map
  const USUAL = -3; // log₁₀ of the usual update-to-weight ratio
  const FAR = 3; // powers of ten on either side of it, at most, that the colours tell apart

  /* How the values of a figure become shares of a ramp, and what its ends are called. */
  function scaleOf(heat) {
    if (heat.scale === "share") {
      return { ramp: "sequential", text: percent, share: (v) => v, low: "0 %", high: "100 %" };
    }
    const logs = heat.values.flat().filter((v) => v > 0).map(Math.log10);
    const [low, high] = logs.length ? [Math.min(...logs), Math.max(...logs)] : [-1, 0];
    if (heat.scale === "log") return logScale("sequential", low, high);
    const widest = Math.max(Math.abs(low - USUAL), Math.abs(high - USUAL), 1);
    const far = Math.min(widest, FAR);
    return { ...logScale("diverging", USUAL - far, USUAL + far), middle: power(USUAL) };
  }

  /* From 10^low to 10^high; what is 0 lies at the lower end. */
  function logScale(ramp, low, high) {
    const span = Math.max(high - low, 1e-9);
    const share = (v) => (v > 0 ? (Math.log10(v) - low) / span : 0);
    return { ramp, text: logText, share, low: power(low), high: power(high) };
  }

  function power(exponent) {
    return `10^${number(exponent, 3)}`;
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
      element("figcaption", {}, element("h2", {}, heat.title),
        element("p", { class: "quiet" }, heat.meaning), legend),
      element("div", { class: "scroll" }, canvas), readout, numbers());

    function describe() {
      const last = heat.values.map((row, n) => `${heat.layers[n]} ${number(row.at(-1), 3)}`);
      const size = `${heat.layers.length} layers over ${heat.steps.length} steps`;
      const end = last.slice(0, MOST_SPOKEN).join(", ");
      return `${heat.title}: ${size}. At the end ${end}. Arrow keys go from cell to cell.`;
    }

    root.draw = () => {
      const font = `12px ${getComputedStyle(document.body).fontFamily}`;
      measure(font);
      const ratio = window.devicePixelRatio || 1;
      canvas.style.width = `${box.right}px`;
      canvas.style.height = `${box.height + AXIS}px`;
      canvas.width = Math.round(box.right * ratio);
      canvas.height = Math.round((box.height + AXIS) * ratio);
      const context = canvas.getContext("2d");
      context.scale(ratio, ratio);
      context.font = font;
      context.textBaseline = "middle";
      paintCells(context);
      paintLabels(context);
      readout.textContent = words(chosen.layer, chosen.column);
      showLegend();
    };

    function measure(font) {
      const context = canvas.getContext("2d");
      context.font = font;
      const longest = Math.max(...names.map((name) => context.measureText(name).width));
      const left = Math.min(longest, LONGEST) + 12;
      const right = Math.max(root.clientWidth - 36, 260);
      const h = Math.min(Math.max(360 / heat.layers.length, 15), 30);
      const w = (right - left - 2) / heat.steps.length;
      box = { left, right, w, h, height: h * heat.layers.length };
    }

    function paintCells(context) {
      const wide = Math.ceil(box.w * 4 + 1) / 4; // no gaps between neighbours
      heat.values.forEach((row, n) => row.forEach((value, m) => {
        const none = value === null;
        context.fillStyle = none ? TT.css("--line") : TT.colour(scale.ramp, scale.share(value));
        context.fillRect(box.left + m * box.w, n * box.h, wide, box.h - 1);
      }));
      const { layer, column } = chosen;
      context.strokeStyle = TT.css("--gradient");
      context.lineWidth = 2;
      const left = box.left + column * box.w - 1;
      context.strokeRect(left, layer * box.h - 0.5, Math.max(box.w, 2) + 2, box.h);
    }

    function paintLabels(context) {
      context.fillStyle = TT.css("--ink");
      context.textAlign = "right";
      names.forEach((name, n) => {
        context.fillText(TT.fitted(context, name, LONGEST), box.left - 7, (n + 0.5) * box.h);
      });
      context.fillStyle = TT.css("--quiet");
      context.textAlign = "center";
      const every = Math.max(1, Math.ceil(70 / box.w));
      for (let m = 0; m < heat.steps.length; m += every) {
        const x = Math.min(box.left + (m + 0.5) * box.w, box.right - 16);
        context.fillText(number(heat.steps[m], 6), x, box.height + 14);
      }
    }

    function words(layer, column) {
      const value = heat.values[layer][column];
      const text = value === null ? "no figure" : scale.text(value);
      return `${heat.layers[layer]}, step ${number(heat.steps[column], 6)}: ${text}`;
    }

    function showLegend() {
      const bar = element("span", { class: "bar" });
      const stops = Array.from({ length: 17 }, (_, n) => TT.colour(scale.ramp, n / 16));
      bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
      const middle = scale.middle ? `middle ${scale.middle}` : "";
      legend.replaceChildren(element("span", { class: "number" }, scale.low), bar,
        element("span", { class: "number" }, scale.high),
        element("span", { class: "quiet" }, middle));
    }

    /* First, middle and last step as a table, for those who do not see the map. */
    function numbers() {
      const last = heat.steps.length - 1;
      const columns = [...new Set([0, Math.floor(last / 2), last])];
      const titles = columns.map((m) =>
        element("th", { scope: "col" }, `step ${number(heat.steps[m], 6)}`));
      const rows = heat.layers.map((name, n) =>
        element("tr", {}, element("th", { scope: "row" }, name),
          columns.map((m) => element("td", {}, number(heat.values[n][m], 4)))));
      return element("details", {}, element("summary", {}, "Numbers"),
        element("div", { class: "scroll" }, element("table", { class: "matrix" },
          element("thead", {}, element("tr", {}, element("th", {}, "layer"), titles)),
          element("tbody", {}, rows))));
    }

    function under(event) {
      const area = canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - area.left - box.left) / box.w);
      const layer = Math.floor((event.clientY - area.top) / box.h);
      const inside = heat.values[layer]?.[column] !== undefined;
      return inside ? { layer, column } : null;
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
    const [first] = split;
    const alike = (n) => split.every((parts) => parts.length > n + 1 && parts[n] === first[n]);
    let shared = 0;
    while (split.length > 1 && alike(shared)) shared++;
    return split.map((parts) => parts.slice(shared).join("."));
  }

  return Object.freeze({ heatMap });
})();
