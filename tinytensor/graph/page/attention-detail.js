/* One head, enlarged: tokens on both axes, a cell that can be chosen, and how its numbers arose. */
"use strict";

const Detail = (() => {
  const { element, number } = TT;
  const MOST_TERMS = 8; // of a sum that is written out

  let head = heads[0];
  let quantity = "A";
  let cell = { i: 0, j: 0 }; // query and key
  let hovered = null;
  let largest = 1; // where the colours end
  let box = null; // where the cells are on the canvas: {left, top, size…}
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
  const product = element("div", { id: "product" });
  const root = document.getElementById("detail");

  function token(list, index) {
    return `“${list[index]}”`;
  }

  /* ---------------------------------------------------------------------------------------
     The heat map */

  function measure() {
    const context = canvas.getContext("2d");
    context.font = "12px " + getComputedStyle(document.body).fontFamily;
    const longest = (tokens) => Math.max(...tokens.map((t) => context.measureText(t).width));
    const left = Math.min(longest(head.rows), 120) + 14;
    const room = Math.max(root.clientWidth - 34 - left, 160);
    const upright = longest(head.columns) + 6 < Math.min(room / head.keys, 56);
    const top = upright ? 20 : Math.min(longest(head.columns), 110) + 14;
    const tall = Math.max(window.innerHeight * 0.62 - top, 160);
    const size = Math.min(Math.max(Math.min(room / head.keys, tall / head.queries), 2), 56);
    const width = Math.min(size * head.keys, room);
    box = { left, top, upright, width, height: size * head.queries, w: width / head.keys, h: size };
    for (const each of [canvas, marks]) {
      each.style.width = `${left + width + 2}px`;
      each.style.height = `${top + box.height + 2}px`;
    }
  }

  function draw() {
    measure();
    const context = Paint.fit(canvas, box.left + box.width + 2, box.top + box.height + 2);
    paint(context);
    drawMarks();
  }

  function paint(context) {
    context.fillStyle = TT.css("--panel");
    context.fillRect(0, 0, box.left + box.width + 2, box.top + box.height + 2);
    Paint.cells(context, head, quantity, largest, box.left, box.top, box.width, box.height);
    context.strokeStyle = TT.css("--line");
    context.strokeRect(box.left - 0.5, box.top - 0.5, box.width + 1, box.height + 1);
    paintLabels(context);
    if (box.w >= 42 && box.h >= 22) paintNumbers(context);
  }

  function paintLabels(context) {
    context.font = `${Math.min(12, Math.max(box.h * 0.8, 9))}px ${getComputedStyle(document.body).fontFamily}`;
    context.fillStyle = TT.css("--ink");
    context.textBaseline = "middle";
    context.textAlign = "right";
    const everyRow = Math.ceil(10 / box.h);
    for (let i = 0; i < head.queries; i += everyRow) {
      context.fillText(clipped(context, head.rows[i], 120), box.left - 6, box.top + (i + 0.5) * box.h);
    }
    context.textAlign = box.upright ? "center" : "left";
    const everyColumn = Math.ceil(10 / box.w);
    for (let j = 0; j < head.keys; j += everyColumn) {
      context.save();
      context.translate(box.left + (j + 0.5) * box.w, box.top - (box.upright ? 10 : 6));
      if (!box.upright) context.rotate(-Math.PI / 2);
      context.fillText(clipped(context, head.columns[j], 110), 0, 0);
      context.restore();
    }
  }

  function clipped(context, text, most) {
    if (context.measureText(text).width <= most) return text;
    let short = text;
    while (short && context.measureText(short + "…").width > most) short = short.slice(0, -1);
    return short + "…";
  }

  function paintNumbers(context) {
    const values = head.values(quantity);
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    context.textAlign = "center";
    for (let i = 0, at = 0; i < head.queries; i++) {
      for (let j = 0; j < head.keys; j++, at++) {
        if (head.isMasked(at)) continue;
        context.fillStyle = Paint.inkOn(quantity, values[at], largest);
        let text = quantity === "A" ? values[at].toFixed(2) : number(values[at], 2);
        if (context.measureText(text).width > box.w - 3) text = number(values[at], 1);
        context.fillText(text, box.left + (j + 0.5) * box.w, box.top + (i + 0.5) * box.h);
      }
    }
  }

  /* Frames around the chosen cell and the one under the pointer, on a canvas of their own. */
  function drawMarks() {
    const context = Paint.fit(marks, box.left + box.width + 2, box.top + box.height + 2);
    context.clearRect(0, 0, marks.width, marks.height);
    if (hovered) frame(context, hovered, TT.css("--quiet"), 1);
    frame(context, cell, TT.css("--gradient"), 2.5);
  }

  function frame(context, { i, j }, colour, width) {
    context.strokeStyle = colour;
    context.globalAlpha = 0.55;
    context.lineWidth = 1;
    context.strokeRect(box.left, box.top + i * box.h, box.width, box.h);
    context.strokeRect(box.left + j * box.w, box.top, box.w, box.height);
    context.globalAlpha = 1;
    context.lineWidth = width;
    const out = box.w < 12 ? width : 0; // around a small cell, not over it
    context.strokeRect(box.left + j * box.w - out, box.top + i * box.h - out, box.w + 2 * out, box.h + 2 * out);
  }

  /* ---------------------------------------------------------------------------------------
     Numbers */

  function lines({ i, j }) {
    const at = i * head.keys + j;
    const shown = Object.keys(QUANTITIES).filter((name) => head.has(name));
    return element("table", { class: "numbers" }, element("tbody", {}, shown.map((name) =>
      element("tr", { class: name === quantity ? "now" : null },
        element("th", { scope: "row" }, QUANTITIES[name].label),
        element("td", { class: "number", "data-quantity": name },
          head.isMasked(at) && name === "S" ? "masked" : number(head.values(name)[at], 5))))));
  }

  function showReadout() {
    const masked = head.isMasked(cell.i * head.keys + cell.j) ? " (masked)" : "";
    readout.replaceChildren(
      element("h3", {}, `Query ${token(head.rows, cell.i)} → key ${token(head.columns, cell.j)}${masked}`),
      lines(cell)
    );
  }

  /* Σ of a row, term by term, without what is masked: 0.1 + 0.7 + … = 1. */
  function written(name, i) {
    const row = [...head.row(name, i)].filter((_, j) => !head.isMasked(i * head.keys + j));
    if (row.length > MOST_TERMS) row.sort((a, b) => Math.abs(b) - Math.abs(a)); // the largest first
    const terms = row.slice(0, MOST_TERMS).map((value, j) =>
      (j === 0 ? (value < 0 ? "−" : "") : value < 0 ? " − " : " + ") + number(Math.abs(value), 3));
    const more = row.length > MOST_TERMS ? ` + … (${row.length} terms)` : "";
    return `${terms.join("")}${more} = `;
  }

  function showCheck() {
    const { rowErrors } = head.map;
    const row = token(head.rows, cell.i);
    const sum = head.sum("A", cell.i);
    const empty = sum === 0;
    const parts = [
      element("h3", {}, `Row check, query ${row}`),
      sumLine("ΣA", "A", sum, empty ? "all masked: 0" : "1", Math.abs(sum - (empty ? 0 : 1))),
    ];
    if (head.has("dS")) {
      const total = head.sum("dS", cell.i);
      const size = head.row("dS", cell.i).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
      parts.push(sumLine("ΣdS", "dS", total, "0", size === 0 ? 0 : Math.abs(total) / size));
    }
    const worst = [`|ΣA − 1| ≤ ${number(rowErrors.weights[head.index], 2)}`];
    if (rowErrors.scoreGrad) worst.push(`|ΣdS| ≤ ${number(rowErrors.scoreGrad[head.index], 2)}`);
    parts.push(element("p", { class: "quiet" }, `All ${head.queries} rows, as the engine has them: ${worst.join(", ")}`));
    check.replaceChildren(...parts);
  }

  function sumLine(label, name, sum, expected, error) {
    const good = error < 1e-4;
    return element("p", { class: "code sum", "data-check": name },
      `${label} = ${written(name, cell.i)}`,
      element("strong", {}, number(Math.abs(sum) < 1e-6 && expected === "0" ? Number(sum.toExponential(1)) : sum, 6)),
      element("span", { class: good ? "good" : "bad" }, good ? `  ✓ ${expected}` : `  ✗ expected ${expected}`));
  }

  function showProduct() {
    if (!head.has("S")) {
      product.replaceChildren(element("p", { class: "quiet" }, "The scores of this module are no product q·k."));
      return;
    }
    const at = cell.i * head.keys + cell.j;
    const [q, k] = [head.q(cell.i), head.k(cell.j)];
    const terms = [...q].map((value, d) => value * k[d]);
    const dot = terms.reduce((a, b) => a + b, 0);
    const bias = head.bias === null ? null : head.bias[at];
    const score = head.values("S")[at];
    const { top, total } = head.normaliser(cell.i);
    const steps = [
      `q·k = ${number(dot, 5)}`,
      `S = q·k·${number(head.map.scale, 4)}${bias ? ` + ${number(bias, 4)}` : ""} = ${number(score, 5)}`,
      total === 0 ? "A = 0, as all is masked"
        : `A = exp(S − ${number(top, 4)}) / ${number(total, 5)} = ${number(head.values("A")[at], 5)}`,
    ];
    if (head.has("dS")) {
      const [a, g, mean] = [head.values("A")[at], head.values("dA")[at], head.sum("AdA", cell.i)];
      steps.push(`dS = A·(dA − Σ dA⊙A) = ${number(a, 4)}·(${number(g, 4)} − ${number(mean, 4).replace(/^−(.*)/, "(−$1)")}) = ${number(head.values("dS")[at], 4)}`);
    }
    product.replaceChildren(
      element("h3", {}, "How this cell arose"),
      element("ol", { class: "code steps" }, steps.map((step) => element("li", {}, step))),
      element("details", { open: terms.length <= 16 },
        element("summary", {}, `q·k, term by term (d = ${terms.length})`),
        element("div", { class: "scroll" }, productTable(q, k, terms, dot)))
    );
  }

  function productTable(q, k, terms, dot) {
    const row = (name, values, last) => element("tr", {}, element("th", { scope: "row" }, name),
      [...values].map((value) => element("td", {}, number(value, 3))), element("td", { class: "total" }, last));
    return element("table", { class: "matrix", id: "terms" }, element("tbody", {},
      row("q", q, ""), row("k", k, ""), row("q·k", terms, `Σ ${number(dot, 5)}`)));
  }

  function showLegend() {
    const ramp = QUANTITIES[quantity].ramp;
    const stops = Array.from({ length: 17 }, (_, i) => TT.colour(ramp, i / 16)).join(", ");
    const bar = element("span", { class: "bar" });
    bar.style.background = `linear-gradient(to right, ${stops})`;
    const low = ramp === "diverging" ? number(-largest, 3) : "0";
    legend.replaceChildren(element("span", { class: "number" }, low), bar,
      element("span", { class: "number" }, number(largest, 3)),
      ...(head.bias === null ? [] : [element("span", { class: "hatched" }), element("span", { class: "quiet" }, "masked")]));
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
    const names = `${token(head.rows, hovered.i)} → ${token(head.columns, hovered.j)}`;
    TT.point(event, element("strong", {}, names), lines(hovered));
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
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const ends = { Home: { i: cell.i, j: 0 }, End: { i: cell.i, j: head.keys - 1 } };
    if (event.key in ends) choose(ends[event.key]);
    else if (event.key in steps) {
      const [di, dj] = steps[event.key];
      choose({ i: cell.i + di, j: cell.j + dj });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  function choose(wanted, quietly = false) {
    cell = {
      i: Math.min(Math.max(wanted.i, 0), head.queries - 1),
      j: Math.min(Math.max(wanted.j, 0), head.keys - 1),
    };
    drawMarks();
    showReadout();
    showCheck();
    showProduct();
    if (quietly) return;
    const value = head.values(quantity)[cell.i * head.keys + cell.j];
    TT.announce(`query ${head.rows[cell.i]}, key ${head.columns[cell.j]}, ${QUANTITIES[quantity].label} ${number(value)}`);
    changed();
  }

  /* Show a head; `ends` is where the colours end. */
  function show(newHead, newQuantity, ends) {
    [head, quantity, largest] = [newHead, newQuantity, ends];
    title.replaceChildren(...head.name.split(".").flatMap((part, n) => (n ? [".", element("wbr"), part] : [part])));
    formula.textContent = QUANTITIES[quantity].formula;
    showLegend();
    draw();
    choose(cell, true);
  }

  function savePicture() {
    const name = `${head.map.path}-head-${head.index}-${quantity}.png`.replaceAll(/[^\w.-]+/g, "_");
    canvas.toBlob((blob) => TT.save(name, blob));
  }

  root.append(
    element("div", { class: "detail-head" }, title,
      element("button", { type: "button", class: "no-print", id: "save", onclick: savePicture }, "Save PNG")),
    formula, legend, element("div", { class: "stack" }, canvas, marks),
    element("div", { class: "figures" }, readout, check), product
  );

  return {
    show, draw, choose, showLegend,
    get cell() { return cell; },
    onChange(listener) { changed = listener; },
  };
})();
