/* Walks over the graph: what has run, what is ready and what waits, at each position.

   Position 0 is the start; position p shows step p, which has just run. A walk is
   {steps, length, …}; each step is {node, gradient, contributions} for backward, and {node} for
   forward. Nothing is kept up to date: a position is looked up in two tables, when each
   node ran and when each of its contributions (or inputs) arrived. */
"use strict";

const Walks = (() => {
  const { nodes } = Graph;

  function walk(name, steps, arrivals, start) {
    const ranAt = new Int32Array(nodes.length).fill(0); // 0: never
    steps.forEach((step, i) => {
      if (!ranAt[step.node]) ranAt[step.node] = i + 1;
    });
    const self = {
      name,
      steps,
      length: steps.length,
      arrivals, // node → positions at which something arrived, in order
      start, // nodes that need nothing to arrive
      ranAt,
      step: (position) => (position > 0 ? steps[position - 1] : null),
      /* How many arrivals node has had by `position`. */
      arrived(node, position) {
        const at = arrivals[node];
        let count = 0;
        while (count < at.length && at[count] <= position) count += 1;
        return count;
      },
      /* "now", "done", "ready", "waiting" (for some), "far" (nothing came yet); for what is no step
         of the walk, "given" (the leaves of forward) or "unused". */
      status(node, position) {
        const ran = ranAt[node];
        if (ran === 0) return name === "forward" ? "given" : "unused";
        if (ran === position) return "now";
        if (ran < position) return "done";
        if (start.has(node)) return "ready";
        const count = self.arrived(node, position);
        if (count === arrivals[node].length) return "ready";
        return count > 0 ? "waiting" : "far";
      },
      /* {ready: ids, waiting: [[id, arrived, all]]} after the step at `position`. */
      lists(position) {
        const ready = [];
        const waiting = [];
        for (let id = 0; id < nodes.length; id++) {
          if (ranAt[id] <= position) continue;
          const status = self.status(id, position);
          if (status === "ready") ready.push(id);
          else if (status === "waiting") {
            waiting.push([id, self.arrived(id, position), arrivals[id].length]);
          }
        }
        ready.sort((a, b) => ranAt[a] - ranAt[b]);
        waiting.sort((a, b) => ranAt[a[0]] - ranAt[b[0]]);
        return { ready, waiting };
      },
    };
    return self;
  }

  function forward() {
    const steps = nodes.filter((node) => node.kind === "op").map((node) => ({ node: node.id }));
    const position = new Map(steps.map((step, i) => [step.node, i + 1]));
    const arrivals = nodes.map((node) =>
      node.inputs
        .filter((i) => i !== null && position.has(i))
        .map((i) => position.get(i))
        .sort((a, b) => a - b),
    );
    return walk("forward", steps, arrivals, new Set());
  }

  function backward() {
    const steps = Graph.backward.map(([node, gradient, contributions, slots]) => ({
      node,
      gradient,
      slots, // gradients of each of several outputs
      contributions: contributions.map(([place, target, value, after]) => ({
        place,
        target,
        value,
        after,
      })),
    }));
    const arrivals = nodes.map(() => []);
    const gathered = new Map(); // target → the sum so far
    steps.forEach((step, i) => {
      for (const c of step.contributions) {
        c.before = gathered.has(c.target) ? gathered.get(c.target) : null;
        c.number = arrivals[c.target].length + 1; // the how manieth of the target's
        gathered.set(c.target, c.after);
        arrivals[c.target].push(i + 1);
      }
    });
    return walk("backward", steps, arrivals, new Set([Graph.loss]));
  }

  /* The walk in the naive order; see wrong_order.py. */
  function wrong() {
    if (!Graph.wrong) return null;
    const { order, gradients } = Graph.wrong;
    const steps = order.map((node, i) => ({
      node,
      gradient: gradients[i],
      slots: [],
      contributions: [],
    }));
    const arrivals = nodes.map(() => []);
    for (const [node, ...positions] of Graph.wrong.arrivals) arrivals[node] = positions;
    return walk("wrong", steps, arrivals, new Set([Graph.loss]));
  }

  const made = {
    forward: forward(),
    backward: Graph.backward ? backward() : null,
    wrong: wrong(),
  };

  /* The gradient gathered at a node by `position` of the backward walk; null if none. */
  function gradientAt(node, position) {
    const walk = made.backward;
    if (walk === null) return null;
    if (node === Graph.loss) return Graph.value(nodes[node].grad);
    const count = walk.arrived(node, position);
    if (count === 0) return null;
    const { contributions } = walk.steps[walk.arrivals[node][count - 1] - 1];
    return Graph.value(contributions.filter((c) => c.target === node).pop().after);
  }

  return Object.freeze({ ...made, gradientAt });
})();
