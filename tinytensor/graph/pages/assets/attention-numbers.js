/* The numbers of one cell of a head: all quantities, the check of its row, and how they arose. */
"use strict";

const Numbers = (() => {
  const { element, number } = TT;
  const MOST_TERMS = 8; // of a sum that is written out
  const FEW_TERMS = 16; // products of up to this many are shown without a click

  /* A table of all quantities of a cell; the one that the map shows stands out. */
  function table(head, quantity, { i, j }) {
    const at = i * head.keys + j;
    const row = (name) => {
      const masked = name === "S" && head.isMasked(at);
      return element("tr", { class: name === quantity ? "now" : null },
        element("th", { scope: "row" }, QUANTITIES[name].label),
        element("td", { class: "number", "data-quantity": name },
          masked ? "masked" : number(head.values(name)[at], 5)));
    };
    const shown = Object.keys(QUANTITIES).filter((name) => head.has(name));
    return element("table", { class: "numbers" }, element("tbody", {}, shown.map(row)));
  }

  /* “the” → “cat” */
  function words(head, { i, j }) {
    return { query: `“${head.rows[i]}”`, key: `“${head.columns[j]}”` };
  }

  function readout(head, quantity, cell) {
    const { query, key } = words(head, cell);
    const masked = head.isMasked(cell.i * head.keys + cell.j) ? " (masked)" : "";
    return [
      element("h3", {}, `Query ${query} → key ${key}${masked}`),
      table(head, quantity, cell),
    ];
  }

  /* ---------------------------------------------------------------------------------------
     Row check: weights sum to 1, gradients of scores to 0 */

  function rowCheck(head, cell) {
    const { rowErrors } = head.map;
    const sum = head.sum("A", cell.i);
    const all = sum === 0 ? "0, as all is masked" : "1";
    const parts = [
      element("h3", {}, `Row check, query ${words(head, cell).query}`),
      sumLine(head, "ΣA", "A", cell.i, all, sum === 0 ? 0 : Math.abs(sum - 1)),
    ];
    if (head.has("dS")) {
      const largest = head.row("dS", cell.i).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
      const off = largest === 0 ? 0 : Math.abs(head.sum("dS", cell.i)) / largest;
      parts.push(sumLine(head, "ΣdS", "dS", cell.i, "0", off));
    }
    const worst = [`|ΣA − 1| ≤ ${number(rowErrors.weights[head.index], 2)}`];
    if (rowErrors.scoreGrad) worst.push(`|ΣdS| ≤ ${number(rowErrors.scoreGrad[head.index], 2)}`);
    const text = `All ${head.queries} rows, as the engine has them: ${worst.join(", ")}`;
    return [...parts, element("p", { class: "quiet" }, text)];
  }

  /* ΣA = 0.1 + 0.2 + 0.7 = 1 ✓ 1 */
  function sumLine(head, label, name, i, expected, off) {
    const sum = head.sum(name, i);
    const good = off < 1e-4;
    return element("p", { class: "code sum", "data-check": name },
      `${label} = ${writtenOut(head, name, i)} = `,
      element("strong", {}, number(sum, Math.abs(sum) < 1e-6 ? 2 : 6)),
      element("span", { class: good ? "good" : "bad" },
        good ? `  ✓ ${expected}` : `  ✗ expected ${expected}`));
  }

  /* The terms of a row's sum, without masked ones; only the largest if there are many. */
  function writtenOut(head, name, i) {
    const row = [...head.row(name, i)].filter((_, j) => !head.isMasked(i * head.keys + j));
    if (row.length > MOST_TERMS) row.sort((a, b) => Math.abs(b) - Math.abs(a));
    const terms = row.slice(0, MOST_TERMS).map((value, n) => {
      const sign = value < 0 ? "−" : "+";
      const size = number(Math.abs(value), 3);
      if (n === 0) return value < 0 ? `−${size}` : size;
      return ` ${sign} ${size}`;
    });
    const more = row.length > MOST_TERMS ? ` + … (${row.length} terms)` : "";
    return terms.join("") + more;
  }

  /* ---------------------------------------------------------------------------------------
     From q·k to the weight and its gradient */

  function origin(head, cell) {
    if (!head.has("S")) {
      return [element("p", { class: "quiet" }, "The scores of this module are no product q·k.")];
    }
    const [q, k] = [head.q(cell.i), head.k(cell.j)];
    const terms = [...q].map((value, d) => value * k[d]);
    const dot = terms.reduce((a, b) => a + b, 0);
    const steps = [`q·k = ${number(dot, 5)}`, ...equations(head, cell)];
    return [
      element("h3", {}, "How this cell arose"),
      element("ol", { class: "code steps" }, steps.map((step) => element("li", {}, step))),
      element("details", { open: terms.length <= FEW_TERMS },
        element("summary", {}, `q·k, term by term (d = ${terms.length})`),
        element("div", { class: "scroll" }, productTable(q, k, terms, dot))),
    ];
  }

  /* S, A and dS of a cell, each as its formula with numbers. */
  function equations(head, { i, j }) {
    const at = i * head.keys + j;
    const value = (name, digits = 5) => number(head.values(name)[at], digits);
    const bias = head.bias === null || head.bias[at] === 0 ? "" : ` + ${number(head.bias[at], 4)}`;
    const { top, total } = head.normaliser(i);
    const steps = [`S = q·k·${number(head.map.scale, 4)}${bias} = ${value("S")}`];
    if (total === 0) steps.push("A = 0, as all is masked");
    else steps.push(`A = exp(S − ${inner(top, 4)}) / ${number(total, 5)} = ${value("A")}`);
    if (head.has("dS")) {
      const difference = `${value("dA", 4)} − ${inner(head.sum("AdA", i), 4)}`;
      steps.push(`dS = A·(dA − Σ dA⊙A) = ${value("A", 4)}·(${difference}) = ${value("dS", 4)}`);
    }
    return steps;
  }

  /* A number after a sign: in brackets if it has one of its own. */
  function inner(value, digits) {
    return value < 0 ? `(${number(value, digits)})` : number(value, digits);
  }

  function productTable(q, k, terms, dot) {
    const row = (name, values, last) =>
      element("tr", {}, element("th", { scope: "row" }, name),
        [...values].map((value) => element("td", {}, number(value, 3))),
        element("td", { class: "total" }, last));
    return element("table", { class: "matrix", id: "terms" }, element("tbody", {},
      row("q", q, ""), row("k", k, ""), row("q·k", terms, `Σ ${number(dot, 5)}`)));
  }

  return Object.freeze({ table, words, readout, rowCheck, origin });
})();
