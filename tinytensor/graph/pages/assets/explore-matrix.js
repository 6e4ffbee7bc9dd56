/* Tensors on the page: a table of cells, a slice of more dimensions, or a summary.

   tensor(value, name, slot) makes a <figure>. Its slot says what it is in the equation around it:
   "y", "g", the place of an input ("0", "1", …), the gradient of one ("d0", …), "before", "after".
   Cells carry their place in row order, data-cell, by which Cells marks them. */
"use strict";

const Matrix = (() => {
  const { element, svg, number } = TT;
  const ROWS = 10; // more than this many are shown on demand
  const COLUMNS = 8;
  const DIGITS = 3;

  const slices = new Map(); // leading shape → which slice is shown
  const unfolded = new Set(); // values shown in full, by name and shape

  const size = (shape) => shape.reduce((a, b) => a * b, 1);

  function tensor(value, name, slot) {
    const figure = element("figure", { class: "tensor", "data-slot": slot });
    figure.tensorValue = value;
    figure.tensorName = name;
    draw(figure);
    return figure;
  }

  function draw(figure) {
    const { tensorValue: value, tensorName: name } = figure;
    if (value === null) {
      figure.classList.add("missing");
      figure.replaceChildren(caption(name, null), element("span", { class: "chip" }, "not kept"));
    } else if (value.data === null) {
      figure.replaceChildren(caption(name, value), summary(value));
    } else {
      figure.replaceChildren(caption(name, value), ...sliceControls(figure), table(figure));
    }
  }

  function caption(name, value) {
    const shape = value === null ? "" : Graph.shapeText(value.shape);
    return element("figcaption", {}, element("b", {}, name), " ", element("span", {}, shape));
  }

  /* ---------------------------------------------------------------------------------------
     Tables */

  /* {rows, columns, offset}: the part of a value in row order that is shown as a table. */
  function windowOf(value) {
    const { shape } = value;
    const columns = shape.length ? shape[shape.length - 1] : 1;
    const rows = shape.length > 1 ? shape[shape.length - 2] : 1;
    const leading = shape.slice(0, -2);
    const slice = Math.min(slices.get(leading.join()) || 0, Math.max(size(leading) - 1, 0));
    return { rows, columns, leading, slice, offset: slice * rows * columns };
  }

  function table(figure) {
    const { tensorValue: value, tensorName: name } = figure;
    const { rows, columns, offset } = windowOf(value);
    const full = unfolded.has(name);
    const shownRows = full || rows <= ROWS + 1 ? rows : ROWS;
    const shownColumns = full || columns <= COLUMNS + 1 ? columns : COLUMNS;
    let largest = 0;
    for (const v of value.data) if (Number.isFinite(v)) largest = Math.max(largest, Math.abs(v));
    const body = element("tbody");
    for (let r = 0; r < shownRows; r++) {
      const row = element("tr");
      for (let c = 0; c < shownColumns; c++) {
        const cell = offset + r * columns + c;
        row.append(tableCell(value.data[cell], cell, largest));
      }
      if (shownColumns < columns) row.append(element("td", { class: "more" }, "…"));
      body.append(row);
    }
    if (shownRows < rows) {
      const dots = Array.from({ length: shownColumns }, () =>
        element("td", { class: "more" }, "⋮"),
      );
      body.append(element("tr", {}, dots));
    }
    const label = `${name}, ${Graph.shapeText(value.shape)}`;
    const made = element("table", { class: "matrix", "aria-label": label }, body);
    const first = made.querySelector("td[data-cell]");
    if (first !== null) first.tabIndex = 0;
    const parts = [element("div", { class: "brackets" }, made)];
    if (full || shownRows < rows || shownColumns < columns) parts.push(unfoldButton(figure, full));
    return element("div", {}, parts);
  }

  function tableCell(v, cell, largest) {
    const td = element("td", { "data-cell": cell, title: TT.number(v, 7) }, number(v, DIGITS));
    if (largest > 0) td.style.background = tint(v / largest);
    return td;
  }

  /* The colour of a share −1 … 1 of the largest: pale enough to read figures on. */
  const tint = (share) => TT.colour("diverging", 0.5 + 0.26 * share);

  function unfoldButton(figure, full) {
    const toggle = () => {
      if (full) unfolded.delete(figure.tensorName);
      else unfolded.add(figure.tensorName);
      draw(figure);
    };
    const label = full ? "fewer cells" : "all cells";
    return element("button", { type: "button", class: "small no-print", onclick: toggle }, label);
  }

  /* ---------------------------------------------------------------------------------------
     Slices of tensors with more than two dimensions */

  function sliceControls(figure) {
    const { leading, slice } = windowOf(figure.tensorValue);
    const count = size(leading);
    if (count <= 1) return [];
    const go = (step) => () => showSlice(figure, (slice + step + count) % count);
    const index = unravel(slice, leading).join(", ");
    const button = (label, text, step) =>
      element(
        "button",
        { type: "button", class: "small", "aria-label": label, onclick: go(step) },
        text,
      );
    return [
      element(
        "div",
        { class: "slice" },
        button("previous slice", "‹", -1),
        element("span", { class: "code" }, `[${index}, :, :]`),
        button("next slice", "›", 1),
      ),
    ];
  }

  /* Show a slice of this tensor and of all that have the same leading dimensions. */
  function showSlice(figure, slice) {
    const { leading } = windowOf(figure.tensorValue);
    slices.set(leading.join(), slice);
    const panel = figure.closest("[data-tensors]");
    for (const other of panel ? panel.querySelectorAll(".tensor") : [figure]) {
      const value = other.tensorValue;
      if (value && value.data && value.shape.slice(0, -2).join() === leading.join()) draw(other);
    }
    if (panel) panel.dispatchEvent(new CustomEvent("redrawn"));
  }

  /* Turn the tensor to a slice in which this cell is seen. */
  function showCell(figure, cell) {
    const { rows, columns, leading, slice } = windowOf(figure.tensorValue);
    const wanted = Math.floor(cell / (rows * columns));
    if (wanted === slice) return;
    slices.set(leading.join(), wanted);
    draw(figure);
  }

  /* Place in row order → index along each dimension, and back. */
  function unravel(place, shape) {
    const index = new Array(shape.length);
    for (let d = shape.length - 1; d >= 0; d--) {
      index[d] = place % shape[d];
      place = Math.floor(place / shape[d]);
    }
    return index;
  }

  function ravel(index, shape) {
    return index.reduce((place, i, d) => place * shape[d] + i, 0);
  }

  /* ---------------------------------------------------------------------------------------
     Summaries of large tensors, and little pictures of values for the graph */

  function summary(value) {
    const { min, max, mean, std, nan, inf, bins } = value.summary;
    const most = Math.max(...bins, 1);
    const bars = bins.map((n, i) => {
      const height = n > 0 ? Math.max((26 * n) / most, 1) : 0;
      return svg("rect", { x: i * 9, y: 28 - height, width: 8, height });
    });
    const label = `histogram from ${number(min)} to ${number(max)}`;
    const rows = [
      ["min", min],
      ["max", max],
      ["mean", mean],
      ["std", std],
    ]
      .concat(nan ? [["nan", nan]] : [], inf ? [["inf", inf]] : [])
      .map(([key, v]) => element("span", {}, element("i", {}, key), ` ${number(v, DIGITS)}`));
    return element(
      "div",
      { class: "summary" },
      svg(
        "svg",
        { class: "histogram", viewBox: "0 0 108 30", role: "img", "aria-label": label },
        bars,
      ),
      element("div", {}, rows),
    );
  }

  const canvas = document.createElement("canvas");
  const thumbnails = new Map();
  TT.onTheme(() => thumbnails.clear());

  /* A value as a small picture, an address for <image>; null if there is nothing to show. */
  function thumbnail(value) {
    if (value === null) return null;
    const known = value.ref === undefined ? undefined : thumbnails.get(value.ref);
    if (known !== undefined) return known;
    const picture = value.data === null ? histogramPicture(value.summary) : heatPicture(value);
    if (value.ref !== undefined) thumbnails.set(value.ref, picture);
    return picture;
  }

  function heatPicture(value) {
    const { rows, columns, offset } = windowOf(value);
    const height = Math.min(rows, 24);
    const width = Math.min(columns, 24);
    if (!height || !width) return null;
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const image = context.createImageData(width, height);
    const ramp = TT.ramp("diverging");
    let largest = 0;
    for (const v of value.data) if (Number.isFinite(v)) largest = Math.max(largest, Math.abs(v));
    for (let i = 0; i < width * height; i++) {
      const r = Math.floor((Math.floor(i / width) * rows) / height);
      const c = Math.floor(((i % width) * columns) / width);
      const v = value.data[offset + r * columns + c];
      const share = largest > 0 && Number.isFinite(v) ? v / largest : 0;
      const [red, green, blue] = ramp[Math.round(127.5 + 114 * share)];
      image.data.set([red, green, blue, 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
    return canvas.toDataURL();
  }

  function histogramPicture({ bins }) {
    canvas.width = 24;
    canvas.height = 24;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.clearRect(0, 0, 24, 24);
    context.fillStyle = TT.css("--quiet");
    const most = Math.max(...bins, 1);
    bins.forEach((n, i) => context.fillRect(2 * i, 24 - (23 * n) / most, 2, (23 * n) / most));
    return canvas.toDataURL();
  }

  return Object.freeze({ tensor, draw, showCell, thumbnail, unravel, ravel, size, windowOf });
})();
