/* The graph as Python packed it (see pack.py), as plain objects.

   A value is {shape, data} with data a Float32Array in row order, or {shape, data: null, summary}
   for one too large to show cell by cell. */
"use strict";

const Graph = (() => {
  const raw = TT.data("graph");
  const KINDS = ["op", "parameter", "leaf", "constant"];
  const SUMMARY = 18; // min, max, mean, std, nan, inf, and 12 bins

  const numbers = (() => {
    const bytes = Uint8Array.from(atob(TT.data("numbers")), (c) => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  })();

  /* Where each value starts: values lie one after the other, so sizes are enough. */
  const values = (() => {
    let offset = 0;
    return raw.values.map((code) => {
      const shape = raw.shapes[code >> 1];
      const isSummary = (code & 1) === 1;
      const size = isSummary ? SUMMARY : shape.reduce((a, b) => a * b, 1);
      const start = offset;
      offset += size;
      return { shape, isSummary, start, size };
    });
  })();

  /* The value with this number; null if there is none. */
  function value(ref) {
    if (ref === null || ref === undefined || ref < 0) return null;
    const { shape, isSummary, start, size } = values[ref];
    const data = numbers.subarray(start, start + size);
    if (!isSummary) return { ref, shape, data };
    const [min, max, mean, std, nan, inf] = data;
    const summary = { min, max, mean, std, nan, inf, bins: Array.from(data.subarray(6)) };
    return { ref, shape, data: null, summary };
  }

  const text = (i) => (i < 0 ? "" : raw.texts[i]);

  const nodes = raw.nodes.map((packed, id) => {
    const [
      kind,
      name,
      op,
      module,
      shape,
      dtype,
      inputs,
      names,
      args,
      source,
      at,
      grad,
      room,
      formula,
    ] = packed;
    return {
      id,
      kind: KINDS[kind],
      name: text(name),
      op: text(op),
      module: text(module),
      shape: raw.shapes[shape],
      dtype: text(dtype),
      inputs: inputs.map((i) => (i < 0 ? null : i)),
      names: raw.names[names],
      args: text(args),
      source: source < 0 ? null : raw.sources[source],
      value: at,
      grad,
      room,
      formula: formula < 0 ? null : raw.formulas[formula],
      failed: raw.failed === id,
      users: [], // ops that take it in, once for each place
    };
  });
  for (const node of nodes) {
    for (const input of node.inputs) if (input !== null) nodes[input].users.push(node.id);
  }

  const rooms = raw.rooms.map(([path, label, className, parent, call, ops, inline], index) => ({
    index,
    path: text(path),
    label: text(label) + (call > 1 ? ` (call ${call})` : ""),
    className: text(className),
    parent: parent < 0 ? null : parent,
    ops,
    inline: inline === 1,
  }));

  /* The room whose picture shows what is in room `index`. */
  const viewOf = (index) => (rooms[index].inline ? rooms[index].parent : index);

  /* The rooms with pictures from the whole graph down to `index`. */
  function chain(index) {
    const found = [];
    for (let at = viewOf(index); at !== null; at = rooms[at].parent) found.unshift(at);
    return found;
  }

  /* A picture: {layout, entries: [{kind: node | room | in | out, key}], frames}. */
  const pictures = new Map(
    raw.pictures.map(([room, layout, kinds, keys, frames]) => [
      room,
      {
        layout: raw.layouts[layout],
        entries: keys.map((key, i) => ({ kind: ["node", "room", "in", "out"][kinds[i]], key })),
        frames,
      },
    ]),
  );

  /* Whether the forward pass left no values to show: it ran outside of a recording. */
  const ops = nodes.filter((node) => node.kind === "op");
  const isUnrecorded = ops.filter((node) => node.value < 0).length > ops.length / 2;

  const shapeText = (shape) => (shape.length ? shape.join("×") : "scalar");

  /* The op of "q = matmul". */
  const opName = (node) => node.name.split(" = ").pop();

  /* What a picture writes on a node: the last part of a parameter's path. As in room_layout.py. */
  function shortName(node) {
    const name = node.kind === "parameter" ? node.name.split(".").pop() : node.name;
    return TT.cut(name, 22);
  }

  return Object.freeze({
    nodes,
    rooms,
    pictures,
    value,
    viewOf,
    chain,
    shapeText,
    opName,
    shortName,
    loss: raw.loss,
    start: raw.start,
    error: raw.error,
    isUnrecorded,
    backward: raw.backward,
    wrong: raw.wrong,
  });
})();
