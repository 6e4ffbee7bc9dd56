/* Equations with their numbers: the op's own formula, with a matrix in place of each letter.

   equation(node, result, text, values) makes an element for "dx = g·W": the text, and below it
   [g]·[W] = [dx]. `values` has a value for each slot (see Matrix). Clicking a cell marks those it
   came from, and says how it is worked out. */
"use strict";

const Formula = (() => {
  const { element, number } = TT;
  const LETTERS = /[A-Za-zΑ-Ωα-ω]+/g;
  const COMBINING = /^[\u0300-\u036f'′]/; // x̄ and x′ are not x
  const WORDS = /[a-z]{2,} [a-z]{2,}/; // a sentence rather than a sign
  const TERMS = 8; // as many products are written out

  /* {letter or name: slot} for the formula of a node. */
  function symbols(node) {
    const found = new Map([["g", "g"]]);
    const taken = (place) => node.inputs[place] !== null && node.inputs[place] !== undefined;
    const named = node.names.map((name, i) => [name, i]).filter(([, i]) => taken(i));
    const left = node.formula ? /^[A-Za-z]+/.exec(node.formula.forward) : null;
    for (const [name, i] of named) {
      for (const letter of [name[0].toUpperCase(), name[0].toLowerCase()]) {
        const alone = named.filter(([other]) => other[0] === name[0]).length === 1;
        if (alone && !found.has(letter)) found.set(letter, String(i));
      }
    }
    for (const [name, i] of named) found.set(name, String(i));
    if (left !== null) found.set(left[0], "y");
    return found;
  }

  /* The right side of a formula as pieces: text, {symbol, slot}, or {symbol, number} for an argument
     that is a plain number. */
  function pieces(text, known, node = null) {
    const found = [];
    let end = 0;
    for (const match of text.matchAll(LETTERS)) {
      const after = text.slice(match.index + match[0].length);
      const number = node === null ? null : plainNumber(node, match[0]);
      if ((!known.has(match[0]) && number === null) || COMBINING.test(after)) continue;
      if (match.index > end) found.push(text.slice(end, match.index));
      found.push({ symbol: match[0], slot: known.get(match[0]), number });
      end = match.index + match[0].length;
    }
    if (end < text.length) found.push(text.slice(end));
    return found;
  }

  /* An argument such as b=0.5, as text; null if it is none, or no number. */
  function plainNumber(node, name) {
    const found = new RegExp(`(?:^|, )${name}=(-?[0-9.]+(?:e[-+]?\\d+)?)(?=$|, )`).exec(node.args);
    return found === null ? null : found[1].replace("-", "−");
  }

  function equation(node, result, text, values) {
    const [left, right] = split(text, node, result);
    const block = element("div", { class: "equation" });
    block.equation = { node, result, values };
    const line = element("div", { class: "numbers" });
    const shown = new Set();
    const known = symbols(node);
    for (const piece of pieces(right, known, node)) {
      if (typeof piece === "string") line.append(...signs(piece));
      else if (piece.slot === undefined) {
        line.append(element("span", { class: "sign", title: piece.symbol }, piece.number));
      } else if (shown.has(piece.slot) || piece.slot === result) {
        line.append(element("b", { class: "sign" }, piece.symbol));
      } else {
        shown.add(piece.slot);
        line.append(Matrix.tensor(values[piece.slot] || null, piece.symbol, piece.slot));
      }
    }
    line.append(
      element("span", { class: "sign" }, "="),
      Matrix.tensor(values[result] || null, left, result),
    );
    const rest = unseen(node, result, right, known).filter(
      (slot) => !shown.has(slot) && values[slot],
    );
    const name = (slot) => (slot === "g" ? "g" : node.names[slot]);
    const more =
      rest.length === 0
        ? null
        : element(
            "div",
            { class: "numbers" },
            element("span", { class: "sign" }, "with "),
            rest.map((slot) => Matrix.tensor(values[slot], name(slot), slot)),
          );
    block.append(
      element("p", { class: "formula" }, `${left} = ${right}`),
      line,
      ...(more ? [more] : []),
      element("p", { class: "working", hidden: true, "aria-live": "polite" }),
    );
    return block;
  }

  /* What stands between matrices; a power right after one is raised beside it: bᵀ, y². */
  function signs(text) {
    const power = /^[ᵀ⁻¹²³ᵖ]*/.exec(text)[0];
    const rest = text.slice(power.length);
    return [
      ...(power ? [element("span", { class: "power" }, power)] : []),
      ...(rest ? [element("span", { class: WORDS.test(rest) ? "sign words" : "sign" }, rest)] : []),
    ];
  }

  /* The definitions that a formula needs, and those that they need in turn. */
  function definitions(node, text) {
    const needed = [];
    let words = text;
    for (let before = -1; before < needed.length;) {
      before = needed.length;
      for (const line of node.formula ? node.formula.definitions : []) {
        const name = line.split(/[ ([,]/)[0];
        if (!needed.includes(line) && words.split(/[^\p{L}\p{M}'′]+/u).includes(name)) {
          needed.push(line);
          words += ` ${line.slice(name.length)}`;
        }
      }
    }
    return needed;
  }

  /* What a result depends on beside what its formula names: for y all inputs, for a gradient g and
     the inputs in the definitions that it needs. */
  function unseen(node, result, text, known) {
    if (result === "y")
      return node.inputs.flatMap((input, i) => (input === null ? [] : [String(i)]));
    const named = pieces(definitions(node, text).join(" "), known).filter(
      (piece) => typeof piece !== "string",
    );
    return [
      "g",
      ...new Set(named.map((piece) => piece.slot).filter((slot) => slot !== "y" && slot !== "g")),
    ];
  }

  /* "dx = g·W" as its two sides; for an op without a formula, its name and inputs. */
  function split(text, node, result) {
    const at = text.indexOf(" = ");
    if (at >= 0) return [text.slice(0, at), text.slice(at + 3)];
    const inputs = node.names.filter((_, i) => node.inputs[i] !== null);
    if (result !== "y") return [result, "its rule of g"];
    return ["y", `${Graph.opName(node)}(${inputs.join(", ")})`];
  }

  /* before + contribution = after, as matrices. */
  function accumulation(node, place, name, values) {
    const block = element("div", { class: "equation accumulation" });
    block.equation = { node, result: "after", values };
    const sign = (text) => element("span", { class: "sign" }, text);
    block.append(
      element(
        "div",
        { class: "numbers" },
        Matrix.tensor(values.before, "before", "before"),
        sign("+"),
        Matrix.tensor(values[place], name, place),
        sign("="),
        Matrix.tensor(values.after, "after", "after"),
      ),
      element("p", { class: "working", hidden: true, "aria-live": "polite" }),
    );
    return block;
  }

  /* ---------------------------------------------------------------------------------------
     Where a cell came from */

  function sourcesOf({ node, result, values }, cell) {
    if (result !== "after") return Cells.sources(node, result, cell);
    return Object.fromEntries(
      Object.keys(values)
        .filter((s) => s !== "after")
        .map((s) => [s, [cell]]),
    );
  }

  /* Mark the cell that was clicked, what it came from, and, for an input, what it goes to. */
  function select(td) {
    const figure = td.closest(".tensor");
    const block = td.closest(".equation");
    const panel = td.closest("[data-tensors]");
    clear(panel);
    const cell = Number(td.dataset.cell);
    if (block === null) {
      td.classList.add("chosen");
      return;
    }
    const { slot } = figure.dataset;
    const { result, values } = block.equation;
    block.chosen = { slot, cell };
    if (slot === result) {
      const found = sourcesOf(block.equation, cell);
      block.marks = found;
      describe(block, cell, found);
    } else {
      const target = values[result];
      const goes = [];
      for (let i = 0; target && target.data && i < Math.min(target.data.length, 4096); i++) {
        if ((sourcesOf(block.equation, i)[slot] || []).includes(cell)) goes.push(i);
      }
      block.marks = { [result]: goes };
    }
    paint(block, true);
  }

  /* Set the classes of the cells in a block by its marks. turn: show slices where marks are. */
  function paint(block, turn = false) {
    if (!block.chosen) return;
    const { result } = block.equation;
    for (const figure of block.querySelectorAll(".tensor")) {
      const { slot } = figure.dataset;
      const cells = new Set((block.marks && block.marks[slot]) || []);
      const own = slot === block.chosen.slot ? block.chosen.cell : -1;
      if (turn && cells.size && figure.tensorValue && figure.tensorValue.data) {
        const { offset, rows, columns } = Matrix.windowOf(figure.tensorValue);
        const seen = [...cells].some((c) => c >= offset && c < offset + rows * columns);
        if (!seen) Matrix.showCell(figure, cells.values().next().value);
      }
      for (const td of figure.querySelectorAll("td[data-cell]")) {
        const cell = Number(td.dataset.cell);
        td.classList.toggle("chosen", cell === own);
        td.classList.toggle("source", cells.has(cell) && slot !== result);
        td.classList.toggle("target", cells.has(cell) && slot === result);
      }
    }
  }

  function clear(panel) {
    for (const block of panel.querySelectorAll(".equation")) {
      block.chosen = block.marks = null;
      const working = block.querySelector(".working");
      if (working) working.hidden = true;
    }
    for (const td of panel.querySelectorAll(".chosen, .source, .target")) {
      td.classList.remove("chosen", "source", "target");
    }
  }

  /* Write out the sum of products that gives one cell. */
  function describe(block, cell, found) {
    const { result, values, node } = block.equation;
    const working = block.querySelector(".working");
    const target = values[result];
    if (!target || !target.data) return;
    const index = Matrix.unravel(cell, target.shape).join(", ");
    const at = (slot, c) =>
      values[slot] && values[slot].data ? number(values[slot].data[c], 3) : "?";
    const bracket = (text) => (text.startsWith("−") ? `(${text})` : text);
    const outcome = number(target.data[cell], 4);
    let text = "";
    if (found.terms) {
      const shown = found.terms.slice(0, TERMS);
      const parts = shown.map((term) => term.map(([slot, c]) => bracket(at(slot, c))).join("·"));
      const rest = found.terms.length > TERMS ? ` + … (${found.terms.length} terms)` : "";
      text = `${parts.join(" + ")}${rest} = ${outcome}`;
    } else if (result === "after") {
      const place = Object.keys(values).find((s) => s.startsWith("d"));
      text = `${at("before", cell)} + ${bracket(at(place, cell))} = ${outcome}`;
    } else {
      const name = (slot) => (slot === "y" || slot === "g" ? slot : node.names[slot]);
      const list = Object.entries(found).filter(([slot, cells]) => cells.length && values[slot]);
      const parts = list.map(([slot, cells]) =>
        cells.length === 1
          ? `${name(slot)} ${at(slot, cells[0])}`
          : `${cells.length} cells of ${name(slot)}`,
      );
      text = `from ${parts.join(", ")}: ${outcome}`;
    }
    working.textContent = `cell [${index}]: ${text}`;
    working.hidden = false;
  }

  /* Clicks and keys for all tensors inside a panel. */
  function listen(panel) {
    panel.addEventListener("click", (event) => {
      const td = event.target.closest("td[data-cell]");
      if (td !== null) select(td);
    });
    panel.addEventListener("redrawn", () =>
      panel.querySelectorAll(".equation").forEach((b) => paint(b)),
    );
    panel.addEventListener("keydown", (event) => {
      const td = event.target.closest("td[data-cell]");
      if (td === null) return;
      if (event.key === "Enter" || event.key === " ") select(td);
      else if (!move(td, event.key)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /* Arrow keys go from cell to cell of a table. */
  function move(td, key) {
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (!(key in steps)) return false;
    const [down, right] = steps[key];
    const row = td.parentElement;
    const rows = row.parentElement.children;
    const next =
      rows[row.rowIndex + down] && rows[row.rowIndex + down].children[td.cellIndex + right];
    if (next && next.dataset.cell !== undefined) {
      td.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
    return true;
  }

  return Object.freeze({ equation, accumulation, definitions, listen });
})();
