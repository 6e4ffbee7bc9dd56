/* One head, enlarged: tokens on both axes, and a cell that can be chosen. */
"use strict";

const Detail = (() => {
  const { element, number } = TT;
  const LONGEST = { row: 120, column: 110 }; // pixels for a token
  const LARGEST_CELL = 56;

  let head = heads[0];
  let quantity = "A";
  let cell = { i: 0, j: 0 }; // query and key
  let hovered = null;
  let largest = 1; // the value at the end of the colour scale
  let box = null; // where the cells are on the canvas, and how large
  let changed = () => {};

  const title = element("h2", { id: "detail-title" });
  const formula = element("p", { class: "quiet code", id: "formula" });
  const canvas = element("canvas", {
    id: "map", tabindex: "0", role: "img",
    "aria-label": "Heat map; arrow keys go from cell to cell",
  });
  const marks = element("canvas", { id: "marks", "aria-hidden": "true" });
  const legend = element("div", { id: "legend" });
  const readout = element("div", { id: "readout" });
  const check = element("div", { id: "check" });
  const origin = element("div", { id: "product" });
  const root = document.getElementById("detail");

  function font(size) {
    return `${size}px ${getComputedStyle(document.body).fontFamily}`;
  }

  /* ---------------------------------------------------------------------------------------
     The heat map */

  /* Make the cells as large as fits. */
  function measure() {
    const context = canvas.getContext("2d");
    context.font = font(12);
    const longest = (tokens) => Math.max(...tokens.map((t) => context.measureText(t).width));
    const left = Math.min(longest(head.rows), LONGEST.row) + 14;
    const room = Math.max(root.clientWidth - 34 - left, 160);
    const upright = longest(head.columns) + 6 < Math.min(room / head.keys, LARGEST_CELL);
    const top = upright ? 20 : Math.min(longest(head.columns), LONGEST.column) + 14;
    const tall = Math.max(window.innerHeight * 0.62 - top, 160);
    const fitting = Math.min(room / head.keys, tall / head.queries);
    const h = Math.min(Math.max(fitting, 2), LARGEST_CELL);
    const width = Math.min(h * head.keys, room);
    box = { left, top, upright, width, height: h * head.queries, w: width / head.keys, h };
    box.right = left + width + 2;
    box.bottom = top + box.height + 2;
    for (const each of [canvas, marks]) {
      each.style.width = `${box.right}px`;
      each.style.height = `${box.bottom}px`;
    }
  }

  function draw() {
    measure();
    const context = Paint.fit(canvas, box.right, box.bottom);
    context.fillStyle = TT.css("--panel");
    context.fillRect(0, 0, box.right, box.bottom);
    Paint.cells(context, head, quantity, largest, box);
    context.strokeStyle = TT.css("--line");
    context.strokeRect(box.left - 0.5, box.top - 0.5, box.width + 1, box.height + 1);
    drawLabels(context);
    if (box.w >= 42 && box.h >= 22) drawNumbers(context);
    drawMarks();
  }

  function drawLabels(context) {
    context.font = font(Math.min(12, Math.max(box.h * 0.8, 9)));
    context.fillStyle = TT.css("--ink");
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (let i = 0; i < head.queries; i += Math.ceil(10 / box.h)) {
      const text = TT.fitted(context, head.rows[i], LONGEST.row);
      context.fillText(text, box.left - 6, box.top + (i + 0.5) * box.h);
    }
    context.textAlign = box.upright ? "center" : "left";
    for (let j = 0; j < head.keys; j += Math.ceil(10 / box.w)) {
      context.save();
      context.translate(box.left + (j + 0.5) * box.w, box.top - (box.upright ? 10 : 6));
      if (!box.upright) context.rotate(-Math.PI / 2);
      context.fillText(TT.fitted(context, head.columns[j], LONGEST.column), 0, 0);
      context.restore();
    }
  }

  function drawNumbers(context) {
    const values = head.values(quantity);
    context.font = font(11);
    context.textAlign = "center";
    for (let i = 0, at = 0; i < head.queries; i++) {
      for (let j = 0; j < head.keys; j++, at++) {
        if (head.isMasked(at)) continue;
        let text = quantity === "A" ? values[at].toFixed(2) : number(values[at], 2);
        if (context.measureText(text).width > box.w - 3) text = number(values[at], 1);
        context.fillStyle = Paint.inkOn(quantity, values[at], largest);
        context.fillText(text, box.left + (j + 0.5) * box.w, box.top + (i + 0.5) * box.h);
      }
    }
  }

  /* Frames around the chosen cell and the one under the pointer, on a canvas of their own. */
  function drawMarks() {
    const context = Paint.fit(marks, box.right, box.bottom);
    context.clearRect(0, 0, box.right, box.bottom);
    if (hovered) drawFrame(context, hovered, TT.css("--quiet"), 1);
    drawFrame(context, cell, TT.css("--gradient"), 2.5);
  }

  function drawFrame(context, { i, j }, colour, width) {
    const [x, y] = [box.left + j * box.w, box.top + i * box.h];
    const out = box.w < 12 ? width : 0; // around a small cell, not over it
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.globalAlpha = 0.55;
    context.strokeRect(box.left, y, box.width, box.h);
    context.strokeRect(x, box.top, box.w, box.height);
    context.lineWidth = width;
    context.globalAlpha = 1;
    context.strokeRect(x - out, y - out, box.w + 2 * out, box.h + 2 * out);
  }

  function showLegend() {
    const { ramp } = QUANTITIES[quantity];
    const stops = Array.from({ length: 17 }, (_, i) => TT.colour(ramp, i / 16)).join(", ");
    const bar = element("span", { class: "bar" });
    bar.style.background = `linear-gradient(to right, ${stops})`;
    legend.replaceChildren(
      element("span", { class: "number" }, ramp === "diverging" ? number(-largest, 3) : "0"),
      bar,
      element("span", { class: "number" }, number(largest, 3))
    );
    if (head.bias === null) return;
    const hatched = element("span", { class: "hatched" });
    legend.append(hatched, element("span", { class: "quiet" }, "masked"));
  }

  /* ---------------------------------------------------------------------------------------
     Pointer and keys */

  function under(event) {
    const area = canvas.getBoundingClientRect();
    const j = Math.floor((event.clientX - area.left - box.left) / box.w);
    const i = Math.floor((event.clientY - area.top - box.top) / box.h);
    return i >= 0 && j >= 0 && i < head.queries && j < head.keys ? { i, j } : null;
  }

  canvas.onpointermove = (event) => {
    hovered = under(event);
    drawMarks();
    if (!hovered) return TT.point(event);
    const { query, key } = Numbers.words(head, hovered);
    const names = element("strong", {}, `${query} → ${key}`);
    TT.point(event, names, Numbers.table(head, quantity, hovered));
  };
  canvas.onpointerleave = (event) => {
    hovered = null;
    drawMarks();
    TT.point(event);
  };
  canvas.onclick = (event) => {
    const found = under(event);
    if (found) choose(found);
  };
  canvas.onkeydown = (event) => {
    const { i, j } = cell;
    const next = {
      ArrowUp: { i: i - 1, j }, ArrowDown: { i: i + 1, j },
      ArrowLeft: { i, j: j - 1 }, ArrowRight: { i, j: j + 1 },
      Home: { i, j: 0 }, End: { i, j: head.keys - 1 },
    }[event.key];
    if (next === undefined) return;
    choose(next);
    event.preventDefault();
    event.stopPropagation();
  };

  /* Choose a cell, or the nearest existing one, and show its numbers. */
  function choose(wanted, quietly = false) {
    cell = {
      i: Math.min(Math.max(wanted.i, 0), head.queries - 1),
      j: Math.min(Math.max(wanted.j, 0), head.keys - 1),
    };
    drawMarks();
    readout.replaceChildren(...Numbers.readout(head, quantity, cell));
    check.replaceChildren(...Numbers.rowCheck(head, cell));
    origin.replaceChildren(...Numbers.origin(head, cell));
    if (quietly) return;
    const value = number(head.values(quantity)[cell.i * head.keys + cell.j]);
    const place = `query ${head.rows[cell.i]}, key ${head.columns[cell.j]}`;
    TT.announce(`${place}, ${QUANTITIES[quantity].label} ${value}`);
    changed();
  }

  /* Show a head; `ends` is the value at the end of the colour scale. */
  function show(newHead, newQuantity, ends) {
    [head, quantity, largest] = [newHead, newQuantity, ends];
    const [first, ...others] = head.name.split("."); // a long path may be broken at its points
    title.replaceChildren(first, ...others.flatMap((part) => [".", element("wbr"), part]));
    formula.textContent = QUANTITIES[quantity].formula;
    showLegend();
    draw();
    choose(cell, true);
  }

  function savePicture() {
    const name = `${head.map.path}-head-${head.index}-${quantity}.png`;
    canvas.toBlob((blob) => TT.save(name.replaceAll(/[^\w.-]+/g, "_"), blob));
  }

  const save = { type: "button", class: "no-print", id: "save", onclick: savePicture };
  root.append(
    element("div", { class: "detail-head" }, title, element("button", save, "Save PNG")),
    formula,
    legend,
    element("div", { class: "stack" }, canvas, marks),
    element("div", { class: "figures" }, readout, check),
    origin
  );

  return {
    show, draw, choose, showLegend,
    get cell() { return cell; },
    onChange(listener) { changed = listener; },
  };
})();
