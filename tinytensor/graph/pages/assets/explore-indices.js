/* Indices of cells: broadcasting, lines, slices, and the arguments of an op that say which. */
"use strict";

const Indices = (() => {
  const { unravel, ravel, size } = Matrix;

  const ints = (text) => (text.match(/-?\d+/g) || []).map(Number);
  const range = (n) => Array.from({ length: n }, (_, i) => i);

  /* An argument of the op as text: argument(node, "dim") of "dim=-1, keepdim=True" is "-1". */
  function argument(node, name) {
    const found = new RegExp(
      `(?:^|, )${name}=(\\((?:[^()]|\\([^)]*\\))*\\)|\\[[^\\]]*\\]|[^,]*)`,
    ).exec(node.args);
    return found === null ? "" : found[1];
  }

  const shapeOf = (node, place) => Graph.nodes[node.inputs[place]].shape;

  /* The cell of a tensor of `shape` that was broadcast to the cell at `index`. */
  function broadcastCell(index, shape) {
    const tail = index.slice(index.length - shape.length);
    return ravel(
      tail.map((i, d) => (shape[d] === 1 ? 0 : i)),
      shape,
    );
  }

  /* All cells of a tensor of shape `large` to which a cell of one of shape `small` was spread. */
  function spreadCells(cell, small, large) {
    const index = unravel(cell, small);
    const extra = large.length - small.length;
    return range(size(large)).filter((i) => {
      const at = unravel(i, large);
      return index.every((v, d) => small[d] === 1 || at[d + extra] === v);
    });
  }

  /* All cells of `shape` whose index agrees with `index`, except along `dims`. */
  function lineCells(index, shape, dims) {
    let cells = [[]];
    shape.forEach((n, d) => {
      const choices = dims.includes(d) ? range(n) : [index[d]];
      cells = cells.flatMap((head) => choices.map((i) => [...head, i]));
    });
    return cells.map((at) => ravel(at, shape));
  }

  const everything = (shape) => range(size(shape));

  /* The dimensions in an argument such as dim=-1 or dims=(0, 1); all of them if there is none. */
  function dimsOf(node, shape, ...names) {
    for (const name of names) {
      const found = ints(argument(node, name));
      if (found.length) return found.map((d) => (d < 0 ? d + shape.length : d));
    }
    return range(shape.length);
  }

  /* The places that "slice(1, None, 2)" takes of n. */
  function slicePlaces(text, n) {
    const [start, stop, step] = text
      .slice(6, -1)
      .split(", ")
      .map((part) => (part === "None" ? null : Number(part)));
    const from = start === null ? 0 : start < 0 ? start + n : start;
    const to = stop === null ? n : stop < 0 ? stop + n : Math.min(stop, n);
    return range(n).filter((i) => i >= from && i < to && (i - from) % (step || 1) === 0);
  }

  return Object.freeze({
    argument,
    broadcastCell,
    dimsOf,
    everything,
    ints,
    lineCells,
    range,
    shapeOf,
    slicePlaces,
    spreadCells,
  });
})();
