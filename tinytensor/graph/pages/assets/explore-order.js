/* "Why this order?": the same graph walked naively, and which gradients come out wrong. */
"use strict";

const Order = (() => {
  const { element, number } = TT;
  const walk = Walks.wrong;
  const errors = new Map(Graph.wrong ? Graph.wrong.errors : []); // leaf → relative error
  const finals = new Map(Graph.wrong ? Graph.wrong.final : []);
  const LISTED = 12;

  /* Nodes that ran with a gradient other than the right one. */
  const wrongNodes = new Set(errors.keys());
  for (const step of walk ? walk.steps : []) {
    const node = Graph.nodes[step.node];
    if (node.kind === "op" && differs(Graph.value(step.gradient), Graph.value(node.grad))) {
      wrongNodes.add(step.node);
    }
  }

  function differs(a, b) {
    if (a === null || b === null) return false;
    const x = a.data || [a.summary.mean, a.summary.std, a.summary.min, a.summary.max];
    const y = b.data || [b.summary.mean, b.summary.std, b.summary.min, b.summary.max];
    let largest = 0;
    for (const v of y) largest = Math.max(largest, Math.abs(v));
    return x.some((v, i) => Math.abs(v - y[i]) > 1e-4 * largest + 1e-12);
  }

  /* Whether a node has run by `position` of the naive walk, and with a wrong gradient. */
  function isWrong(node, position) {
    return (
      walk !== null && wrongNodes.has(node) && walk.ranAt[node] > 0 && walk.ranAt[node] <= position
    );
  }

  /* The gradient that a node ran with; for a leaf at the end of the walk, all that it gathered. */
  function gradientAt(node, position) {
    const ran = walk.ranAt[node];
    if (ran === 0 || ran > position) return null;
    if (position === walk.length && finals.has(node)) return Graph.value(finals.get(node));
    return Graph.value(walk.steps[ran - 1].gradient);
  }

  /* The node at which it first goes wrong: run before all of its gradient had come. */
  function firstTooEarly() {
    return walk.steps.find(({ node }) => {
      const ran = walk.ranAt[node];
      return walk.arrivals[node].filter((p) => p < ran).length < walk.arrivals[node].length;
    });
  }

  const CODE = [
    "def backward(node):",
    "    for input, contribution in rule(node, node.grad):",
    "        input.grad += contribution",
    "        if not input.visited:",
    "            backward(input)  # as soon as anything has arrived",
  ].join("\n");

  /* What the panel says while the switch is on. go(node): look at it; runTo(node). */
  function explanation(go, runTo) {
    const parts = [
      element("pre", {}, CODE),
      element(
        "p",
        {},
        "In this naive order a node passes its gradient on when the first contribution arrives. " +
          "If it has more than one user, the others come too late. The engine goes from the newest node to the " +
          "oldest instead: every user of a node is newer than the node, so its gradient is complete " +
          "when its turn comes.",
      ),
    ];
    if (errors.size === 0) {
      parts.push(
        element(
          "p",
          { class: "verdict good" },
          `All ${finals.size} gradients come out right: on this graph no node waits for a second user ` +
            "in a way that the naive order gets wrong.",
        ),
      );
      return element("section", { class: "order" }, parts);
    }
    const first = firstTooEarly();
    parts.push(
      element(
        "p",
        { class: "verdict" },
        `${errors.size} of ${finals.size} gradients come out wrong. `,
        ...(first
          ? [
              "It first goes wrong at ",
              element(
                "button",
                { type: "button", class: "link", onclick: () => runTo(first.node) },
                Graph.nodes[first.node].name,
              ),
              ".",
            ]
          : []),
      ),
    );
    parts.push(errorTable(go));
    return element("section", { class: "order" }, parts);
  }

  function errorTable(go) {
    const sorted = [...errors].sort((a, b) => b[1] - a[1]);
    const rows = sorted.slice(0, LISTED).map(([id, error]) => {
      const node = Graph.nodes[id];
      return element(
        "tr",
        {},
        element(
          "th",
          { scope: "row" },
          element("button", { type: "button", class: "link", onclick: () => go(id) }, node.name),
        ),
        element("td", {}, norm(Graph.value(node.grad))),
        element("td", {}, norm(Graph.value(finals.get(id)))),
        element("td", {}, Number.isFinite(error) ? `${number(100 * error, 3)} %` : "∞"),
      );
    });
    const head = ["gradient of", "right norm", "wrong norm", "off by"].map((t) =>
      element("th", { scope: "col" }, t),
    );
    const table = element(
      "table",
      { class: "errors" },
      element("thead", {}, element("tr", {}, head)),
      element("tbody", {}, rows),
    );
    if (sorted.length <= LISTED) return table;
    return element(
      "div",
      {},
      table,
      element("p", { class: "quiet" }, `and ${sorted.length - LISTED} more`),
    );
  }

  /* √Σx², of a summary by its mean and standard deviation. */
  function norm(value) {
    if (value === null) return "–";
    if (value.data !== null) return number(Math.sqrt(value.data.reduce((s, v) => s + v * v, 0)), 4);
    const { mean, std } = value.summary;
    return number(Math.sqrt(Matrix.size(value.shape) * (mean * mean + std * std)), 4);
  }

  /* One step of the naive walk: what the node ran with, beside what it should have been. */
  function step(node, position) {
    const ran = walk.ranAt[node.id];
    if (ran === 0 || ran > position) return null;
    const at = walk.arrivals[node.id];
    const arrived = at.filter((p) => p < ran).length;
    const used = gradientAt(node.id, position);
    const right = Graph.value(node.grad);
    const leaf = node.kind !== "op";
    const late = at.length - arrived;
    const text =
      late > 0 && !leaf
        ? `It ran when ${arrived} of its ${at.length} contributions had arrived. ` +
          `The other ${late} came later and ${late === 1 ? "was" : "were"} not passed on.`
        : wrongNodes.has(node.id)
          ? "All of its contributions came in time, but they were wrong already."
          : "Its gradient was right.";
    return element(
      "section",
      {},
      element("p", { class: wrongNodes.has(node.id) ? "verdict" : "verdict good" }, text),
      element(
        "div",
        { class: "numbers" },
        Matrix.tensor(used, "gradient used", "g"),
        element("span", { class: "sign" }, "right:"),
        Matrix.tensor(right, "gradient", "g"),
      ),
    );
  }

  return Object.freeze({ isWrong, gradientAt, explanation, step, wrongCount: errors.size });
})();
