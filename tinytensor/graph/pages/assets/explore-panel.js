/* The panel beside the graph: one node, its equations and numbers, at the current step. */
"use strict";

const Panel = (() => {
  const { element } = TT;
  const LISTED = 24; // of the nodes that are ready or wait
  const actions = { go: () => {}, runTo: () => {}, enter: () => {}, deselect: () => {} };
  const opened = new Map(); // title of a <details> → whether it is open

  /* Fill `panel` for a node. shown: {walk, position, node, selected}. */
  function fill(panel, { walk, position, node, selected }) {
    const parts = [];
    if (Graph.error)
      parts.push(element("p", { class: "verdict" }, `Forward failed: ${Graph.error}`));
    if (node === null) parts.push(...beginning(walk));
    else {
      parts.push(...heading(node, walk, position, selected));
      if (walk.name === "forward") parts.push(...forwardParts(node));
      else if (walk.name === "backward") parts.push(...backwardParts(node, walk));
      else parts.push(Order.step(node, position));
    }
    if (walk.name === "wrong") {
      parts.push(...folded("Why this order?", Order.explanation(actions.go, actions.runTo), true));
    }
    if (Graph.isUnrecorded && walk.name !== "wrong") parts.push(hint());
    parts.push(queues(walk, position));
    panel.scrollTop = 0; // now, while nothing has to be laid out for it
    panel.replaceChildren(...parts.filter((part) => part !== null));
  }

  /* ---------------------------------------------------------------------------------------
     Above the numbers */

  function beginning(walk) {
    const loss = Graph.nodes[Graph.loss];
    if (walk.name === "forward") {
      return [
        element("h2", {}, "Before the forward pass"),
        element(
          "p",
          {},
          "Only the leaves have values: inputs, parameters and constants. Step on with ▶ or →.",
        ),
      ];
    }
    return [
      element("h2", {}, "Before the backward pass"),
      element(
        "p",
        {},
        "The walk starts at ",
        nodeLink(loss),
        ", whose gradient is given: for a loss it is dL/dL = 1. " +
          "Each step takes the newest node whose gradient is complete, runs its rule, and adds what the " +
          "rule gives to the gradients of its inputs. Step on with ▶ or →.",
      ),
      Matrix.tensor(Graph.value(loss.grad), "dL/dL", "g"),
    ];
  }

  /* How to see the values that are missing. */
  function hint() {
    return element(
      "p",
      { class: "hint" },
      "Most values of the forward pass were not kept. Run it inside ",
      element("code", {}, "with graph.record():"),
      " or give explore a function that returns the loss, and they are here.",
    );
  }

  function heading(node, walk, position, selected) {
    const ran = walk.ranAt[node.id];
    const when =
      ran === 0
        ? node.kind === "op"
          ? "no part of this walk"
          : node.kind
        : `step ${ran} of ${walk.length}`;
    const parts = [
      element(
        "header",
        { class: "node-head" },
        element(
          "h2",
          {},
          element("span", { class: `kind ${node.kind}` }, node.kind === "op" ? node.op : node.kind),
          " ",
          node.name,
        ),
        element("span", { class: "quiet" }, when),
      ),
      element("p", { class: "where" }, ...place(node)),
    ];
    if (selected) parts.push(selection(node, walk, position, ran));
    return parts;
  }

  /* Shape, arguments, module and source line. */
  function place(node) {
    const parts = [element("span", {}, `${Graph.shapeText(node.shape)} ${node.dtype}`)];
    if (node.args) parts.push(element("code", {}, node.args));
    const rooms = Graph.chain(node.room).slice(1);
    if (rooms.length) {
      const links = rooms.flatMap((index, i) => [
        i ? " › " : "",
        element(
          "button",
          { type: "button", class: "link", onclick: () => actions.enter(index) },
          Graph.rooms[index].label,
        ),
      ]);
      parts.push(element("span", {}, "in ", ...links));
    }
    if (node.source) {
      const [file, line, text] = node.source;
      parts.push(
        element(
          "span",
          { class: "source", title: file },
          element("span", { class: "quiet" }, `${file.split("/").pop()}:${line} `),
          element("code", {}, text),
        ),
      );
    }
    return parts;
  }

  /* The line shown when the node looked at is not that of the step. */
  function selection(node, walk, position, ran) {
    const text =
      ran === 0
        ? "Selected."
        : ran > position
          ? "Selected; its step is still to come."
          : ran < position
            ? "Selected; its step is past."
            : "Selected.";
    const parts = [element("span", {}, text)];
    if (ran > 0 && ran !== position) {
      parts.push(
        element(
          "button",
          { type: "button", id: "run-to", onclick: () => actions.runTo(node.id) },
          "Run to this node",
        ),
      );
    }
    parts.push(
      element("button", { type: "button", onclick: actions.deselect }, "Back to the step"),
    );
    return element("div", { class: "selection no-print" }, parts);
  }

  const nodeLink = (node) =>
    element(
      "button",
      { type: "button", class: "link", onclick: () => actions.go(node.id) },
      node.name,
      node.kind === "op" ? element("small", {}, ` ${Graph.shapeText(node.shape)}`) : "",
    );

  /* ---------------------------------------------------------------------------------------
     Numbers */

  /* The values an equation of the node may mention, by slot. */
  function valuesOf(node, gradient) {
    const values = { y: Graph.value(node.value), g: gradient };
    node.inputs.forEach((input, i) => {
      if (input !== null) values[i] = Graph.value(Graph.nodes[input].value);
    });
    return values;
  }

  /* "where n = …" below a formula. */
  function definitions(node, text) {
    const lines = Formula.definitions(node, text);
    return lines.length
      ? element("p", { class: "where-line" }, "where ", element("code", {}, lines.join(",  ")))
      : null;
  }

  function forwardParts(node) {
    if (node.kind !== "op" || node.op === "Output") {
      const name = node.kind === "op" ? "y" : Graph.shortName(node);
      const value = element(
        "div",
        { class: "numbers" },
        Matrix.tensor(Graph.value(node.value), name, "y"),
      );
      return folded("Value", element("div", {}, value, others("Used by", node.users)), true);
    }
    const text = node.formula ? node.formula.forward : "";
    const parts = [
      Formula.equation(node, "y", text, valuesOf(node, null)),
      definitions(node, text),
      node.formula && node.formula.notes
        ? element("p", { class: "quiet" }, node.formula.notes)
        : null,
      others(
        "Inputs",
        node.inputs.filter((i) => i !== null),
      ),
      others("Used by", node.users),
    ];
    return folded(
      "Forward",
      element(
        "div",
        {},
        parts.filter((part) => part !== null),
      ),
      true,
    );
  }

  /* Links to a node's inputs or users. */
  function others(title, ids) {
    return ids.length
      ? element("p", { class: "others" }, element("b", {}, `${title}:`), ...links(ids))
      : null;
  }

  function links(ids) {
    const unique = [...new Set(ids)];
    const found = unique.slice(0, LISTED).flatMap((id, i) => {
      const times = ids.filter((x) => x === id).length;
      return [i ? ", " : " ", nodeLink(Graph.nodes[id]), times > 1 ? ` ×${times}` : ""];
    });
    return unique.length > LISTED ? [...found, ` and ${unique.length - LISTED} more`] : found;
  }

  function backwardParts(node, walk) {
    const ran = walk.ranAt[node.id];
    if (ran === 0)
      return [element("p", { class: "quiet" }, "No gradient flows here."), ...forwardParts(node)];
    const step = walk.steps[ran - 1];
    const gradient = Graph.value(step.gradient);
    const parts = [incoming(node, walk, step, gradient)];
    if (node.kind !== "op") {
      parts.push(
        element(
          "p",
          { class: "verdict good" },
          "This is a leaf: the sum is its gradient, and is added to .grad.",
        ),
      );
      return [...parts, ...forwardParts(node)];
    }
    for (const c of step.contributions) parts.push(contribution(node, c, gradient));
    return [...parts, ...forwardParts(node)];
  }

  function incoming(node, walk, step, gradient) {
    const from = walk.arrivals[node.id].map((p) => walk.steps[p - 1].node);
    const origin =
      node.id === Graph.loss
        ? ["Where the walk starts: it is given, dL/dL = 1 for a loss."]
        : from.length === 1
          ? ["From ", nodeLink(Graph.nodes[from[0]]), "."]
          : [`The sum of ${from.length} contributions, from`, ...links(from), "."];
    const tensors = step.slots.length
      ? step.slots.map((ref, i) => Matrix.tensor(Graph.value(ref), `g of output ${i}`, `g${i}`))
      : [
          Matrix.tensor(
            gradient,
            `g = dL/d${node.kind === "op" ? "y" : Graph.shortName(node)}`,
            "g",
          ),
        ];
    return element(
      "section",
      { class: "incoming" },
      element("h3", {}, node.kind === "op" ? "Gradient that comes in" : "Gradient"),
      element("p", {}, ...origin),
      element("div", { class: "numbers" }, tensors),
    );
  }

  function contribution(node, c, gradient) {
    const target = Graph.nodes[c.target];
    if (node.op === "Output") {
      // one of several: nothing is added up, each has its own place
      return element(
        "section",
        { class: "contribution" },
        element("h3", {}, "To ", nodeLink(target)),
        element("p", {}, "Handed on as it is: the op takes one gradient for each of its outputs."),
      );
    }
    const name = node.names[c.place] || "x";
    const slot = `d${c.place}`;
    const rule = node.formula ? ruleFor(node.formula, name) : node.op === "Output" ? "dy = g" : "";
    const values = { ...valuesOf(node, gradient), [slot]: Graph.value(c.value) };
    const left = rule.includes(" = ") ? rule.slice(0, rule.indexOf(" = ")) : `d${name}`;
    const sum = {
      before: Graph.value(c.before),
      [slot]: values[slot],
      after: Graph.value(c.after),
    };
    const all = Walks.backward.arrivals[c.target].length;
    const state =
      all === 1
        ? "The only contribution: complete."
        : c.number === all
          ? `Contribution ${all} of ${all}: complete.`
          : `Contribution ${c.number} of ${all}: it waits for ${all - c.number} more.`;
    const parts = [
      element("h3", {}, "To ", nodeLink(target)),
      Formula.equation(node, slot, rule || `${left} = rule of ${Graph.opName(node)} for g`, values),
      definitions(node, rule),
      element(
        "p",
        { class: "accumulate" },
        `Gradient of ${Graph.shortName(target)}: `,
        element(
          "code",
          {},
          c.before === null ? `0 + ${left} = ${left}` : `before + ${left} = after`,
        ),
        element("span", { class: "quiet" }, `  ${state}`),
      ),
      c.before === null ? null : Formula.accumulation(node, slot, left, sum),
    ];
    return element(
      "section",
      { class: "contribution" },
      parts.filter((part) => part !== null),
    );
  }

  /* An argument may be called "constructor", which every object has. */
  function ruleFor({ gradients }, argument) {
    const [name] = argument.split("[");
    return Object.hasOwn(gradients, name) ? gradients[name] : "";
  }

  /* ---------------------------------------------------------------------------------------
     What is ready and what waits */

  function queues(walk, position) {
    const { ready, waiting } = walk.lists(position);
    const what = walk.name === "forward" ? "inputs" : "users";
    const list = (items) =>
      element(
        "ul",
        { class: "queue" },
        items.slice(0, LISTED).map((item) => element("li", {}, item)),
        items.length > LISTED
          ? element("li", { class: "quiet" }, `and ${items.length - LISTED} more`)
          : null,
      );
    const readyItems = ready.map((id, i) => [
      nodeLink(Graph.nodes[id]),
      i === 0 && walk.name !== "wrong" ? element("span", { class: "chip" }, "next") : "",
    ]);
    const waitingItems = waiting.map(([id, arrived, all]) => [
      nodeLink(Graph.nodes[id]),
      element("span", { class: "chip" }, `waits for ${all - arrived} of ${all} ${what}`),
    ]);
    const body = element(
      "div",
      { class: "queues" },
      element("div", {}, element("h4", {}, `Ready (${ready.length})`), list(readyItems)),
      element("div", {}, element("h4", {}, `Waiting (${waiting.length})`), list(waitingItems)),
    );
    return folded("Ready and waiting", body, true)[0];
  }

  function folded(title, content, open) {
    const details = element(
      "details",
      { open: opened.get(title) ?? open },
      element("summary", {}, title),
      content,
    );
    details.ontoggle = () => opened.set(title, details.open);
    return [details];
  }

  return Object.freeze({ fill, actions });
})();
