/* Which cells a cell came from: a small map for each kind of op.

   sources(node, result, cell) gives {slot: [cells]}. The result is "y" for the output or "d0",
   "d1", … for the gradient of an input; slots are "y", "g" and "0", "1", … for the inputs. Cells are
   places in row order. Maps give pairs "terms" as well where the cell is a sum of products. */
"use strict";

const Cells = (() => {
  const { unravel, ravel, size } = Matrix;
  const { argument, broadcastCell, dimsOf, everything, ints, lineCells, range, slicePlaces } =
    Indices;
  const { shapeOf, spreadCells } = Indices;

  /* Each cell of y from the same cell of each input, broadcast; and back. */
  function elementwise(node, result, cell) {
    const found = {};
    const inputs = range(node.inputs.length).filter((i) => node.inputs[i] !== null);
    const toInputs = (index) => {
      for (const i of inputs) {
        const shape = shapeOf(node, i);
        if (shape.length > index.length) continue;
        const at = broadcastCell(index, shape);
        if (at < size(shape)) (found[i] = found[i] || []).push(at);
      }
    };
    if (result === "y") {
      toInputs(unravel(cell, node.shape));
      return found;
    }
    const shape = shapeOf(node, Number(result.slice(1)));
    const cells = spreadCells(cell, shape, node.shape);
    for (const c of cells) toInputs(unravel(c, node.shape));
    return { ...found, g: cells, y: cells };
  }

  /* Rows of a with columns of b, over leading batches that broadcast; vectors count as one row or
     one column. */
  function matmul(node, result, cell) {
    const given = [shapeOf(node, 0), shapeOf(node, 1)];
    const a = given[0].length === 1 ? [1, ...given[0]] : given[0];
    const b = given[1].length === 1 ? [...given[1], 1] : given[1];
    const inner = a[a.length - 1];
    const rows = a[a.length - 2];
    const columns = b[b.length - 1];
    const batches = [];
    for (let d = 0; d < Math.max(a.length, b.length) - 2; d++) {
      const back = Math.max(a.length, b.length) - d;
      batches.push(Math.max(a[a.length - back] || 1, b[b.length - back] || 1));
    }
    const at = (shape, batch, i, j) => {
      const head = shape.slice(0, -2);
      return (
        broadcastCell(batch, head) * shape[shape.length - 2] * shape[shape.length - 1] +
        i * shape[shape.length - 1] +
        j
      );
    };
    const atY = (batch, i, j) => ravel(batch, batches) * rows * columns + i * columns + j;
    const terms = [];
    if (result === "y") {
      const [i, j] = [Math.floor(cell / columns) % rows, cell % columns];
      const batch = unravel(Math.floor(cell / (rows * columns)), batches);
      for (const k of range(inner))
        terms.push([
          ["0", at(a, batch, i, k)],
          ["1", at(b, batch, k, j)],
        ]);
      return products(terms);
    }
    const own = result === "d0" ? a : b;
    const [r, c] = [
      Math.floor(cell / own[own.length - 1]) % own[own.length - 2],
      cell % own[own.length - 1],
    ];
    for (const place of range(size(batches))) {
      const batch = unravel(place, batches);
      if (at(own, batch, r, c) !== cell) continue;
      if (result === "d0") {
        for (const j of range(columns))
          terms.push([
            ["g", atY(batch, r, j)],
            ["1", at(b, batch, c, j)],
          ]);
      } else {
        for (const i of range(rows))
          terms.push([
            ["0", at(a, batch, i, r)],
            ["g", atY(batch, i, c)],
          ]);
      }
    }
    return products(terms);
  }

  /* y = x·Wᵀ + b, with the leading dimensions of x as rows. */
  function linear(node, result, cell) {
    const [out, width] = shapeOf(node, 1);
    const rows = size(node.shape) / out;
    const terms = [];
    const [r, c] = [
      Math.floor(cell / (result === "y" ? out : width)),
      cell % (result === "y" ? out : width),
    ];
    if (result === "y") {
      for (const k of range(width))
        terms.push([
          ["0", r * width + k],
          ["1", c * width + k],
        ]);
      if (node.inputs[2] !== undefined && node.inputs[2] !== null) terms.push([["2", c]]);
    } else if (result === "d0") {
      for (const o of range(out))
        terms.push([
          ["g", r * out + o],
          ["1", o * width + c],
        ]);
    } else if (result === "d1") {
      for (const n of range(rows))
        terms.push([
          ["g", n * out + r],
          ["0", n * width + c],
        ]);
    } else {
      for (const n of range(rows)) terms.push([["g", n * out + cell]]);
    }
    return products(terms);
  }

  /* Pairs of cells that are multiplied, and then summed, as {slot: cells, terms}. */
  function products(terms) {
    const found = {};
    for (const term of terms)
      for (const [slot, cell] of term) (found[slot] = found[slot] || []).push(cell);
    return { ...found, terms };
  }

  /* Many cells into one: sum, mean, max, norm, … */
  function reduction(node, result, cell) {
    const shape = shapeOf(node, 0);
    const dims = dimsOf(node, shape, "dims", "dim", "axes", "axis");
    const kept = shape.map((n, d) => (dims.includes(d) ? 1 : n));
    if (result === "y") return { 0: spreadCells(cell, kept, shape) };
    const at = unravel(cell, shape).map((i, d) => (dims.includes(d) ? 0 : i));
    const place = ravel(at, kept);
    return { g: [place], y: [place], 0: [cell] };
  }

  /* The loss from all rows; the gradient of a score from its row and that row's target. */
  function crossEntropy(node, result, cell) {
    const [, classes] = shapeOf(node, 0);
    const perRow = node.shape.length > 0;
    const row = result === "y" ? cell : Math.floor(cell / classes);
    const scores = range(classes).map((c) => row * classes + c);
    if (result !== "y") return { g: [perRow ? row : 0], 0: scores, 1: [row] };
    if (perRow) return { 0: scores, 1: [row] };
    return { 0: everything(shapeOf(node, 0)), 1: everything(shapeOf(node, 1)) };
  }

  /* A cell from the whole line it is in: softmax, layer norm, cumulative sums, … */
  function line(node, result, cell) {
    const last = [node.shape.length - 1];
    const named = dimsOf(node, node.shape, "dim", "axes");
    const dims = named.length < node.shape.length ? named : last;
    const shapeHere = result === "y" ? node.shape : shapeOf(node, Number(result.slice(1)));
    if (shapeHere.length < node.shape.length) return elementwise(node, result, cell);
    const cells = lineCells(unravel(cell, node.shape), node.shape, dims);
    if (result === "y") return { ...elementwise(node, "y", cell), 0: cells };
    return { g: cells, y: cells, 0: cells };
  }

  /* The same numbers in another shape. */
  const reshape = (node, result, cell) =>
    result === "y" ? { 0: [cell] } : { g: [cell], y: [cell] };

  /* Dimension i of y is dimension order[i] of x. */
  function permute(node, result, cell) {
    const shape = shapeOf(node, 0);
    let order = range(shape.length);
    if (node.op === "Transpose") {
      const [p, q] = ["dim0", "dim1"].map((name) => ints(argument(node, name))[0]);
      const [i, j] = [p, q].map((d) => (d < 0 ? d + shape.length : d));
      if (i !== undefined && j !== undefined) [order[i], order[j]] = [order[j], order[i]];
    } else order = dimsOf(node, shape, "dims");
    if (result === "y") {
      const at = unravel(cell, node.shape);
      const from = new Array(shape.length);
      order.forEach((d, i) => {
        from[d] = at[i];
      });
      return { 0: [ravel(from, shape)] };
    }
    const at = unravel(cell, shape);
    return {
      g: [
        ravel(
          order.map((d) => at[d]),
          node.shape,
        ),
      ],
    };
  }

  /* Rows of a table, looked up by number. */
  function embedding(node, result, cell) {
    const [, width] = shapeOf(node, 0);
    const index = Graph.value(Graph.nodes[node.inputs[1]].value);
    const column = cell % width;
    const row = Math.floor(cell / width);
    if (index === null || index.data === null) return elementwise(node, result, cell);
    if (result === "y") return { 0: [index.data[row] * width + column], 1: [row] };
    const places = range(index.data.length).filter((i) => index.data[i] === row);
    return products(places.map((i) => [["g", i * width + column]]));
  }

  /* y = A·V with A = softmax(Q·Kᵀ): a row of y from its query, all keys, and columns of V. */
  function attention(node, result, cell) {
    const names = node.names;
    const [q, k, v] = ["query", "key", "value"].map((name) => names.indexOf(name));
    const batch = (shape) => Math.floor(cell / (shape[shape.length - 2] * shape[shape.length - 1]));
    const rowsOf = (shape, b) =>
      range(shape[shape.length - 2] * shape[shape.length - 1]).map(
        (i) => b * shape[shape.length - 2] * shape[shape.length - 1] + i,
      );
    if (result === "y") {
      const b = batch(node.shape);
      const width = node.shape[node.shape.length - 1];
      const queryShape = shapeOf(node, q);
      const start = Math.floor(cell / width) * queryShape[queryShape.length - 1];
      const column = cell % width;
      return {
        [q]: range(queryShape[queryShape.length - 1]).map((i) => start + i),
        [k]: rowsOf(shapeOf(node, k), b),
        [v]: rowsOf(shapeOf(node, v), b).filter((i) => i % width === column),
      };
    }
    const b = batch(shapeOf(node, Number(result.slice(1))));
    return Object.fromEntries([
      ["g", rowsOf(node.shape, b)],
      ["y", []],
      ...[q, k, v].map((i) => [i, rowsOf(shapeOf(node, i), b)]),
    ]);
  }

  /* Pieces one after the other (cat), or each in a slice of its own (stack). */
  function join(node, result, cell) {
    const places = range(node.inputs.length).filter((i) => node.inputs[i] !== null);
    const own = (i) => shapeOf(node, i);
    const rank = node.shape.length;
    const dim = ((ints(argument(node, "dim"))[0] || 0) + rank) % rank;
    const stacked = node.op === "Stack";
    let offset = 0;
    for (const i of places) {
      const length = stacked ? 1 : own(i)[dim];
      if (result === "y") {
        const at = unravel(cell, node.shape);
        if (at[dim] >= offset && at[dim] < offset + length) {
          const from = stacked
            ? at.filter((_, d) => d !== dim)
            : at.map((x, d) => (d === dim ? x - offset : x));
          return { [i]: [ravel(from, own(i))] };
        }
      } else if (result === `d${i}`) {
        const at = unravel(cell, own(i));
        if (stacked) at.splice(dim, 0, offset);
        else at[dim] += offset;
        return { g: [ravel(at, node.shape)] };
      }
      offset += length;
    }
    return {};
  }

  /* x[index] for integers, slices, None and Ellipsis, read from the argument's text. */
  function slice(node, result, cell) {
    const shape = shapeOf(node, 0);
    const text = argument(node, "index");
    const inside = /^\(?(.*?),?\)?$/.exec(text)[1];
    const items = inside.match(/slice\([^)]*\)|Ellipsis|None|-?\d+/g) || [];
    if (node.args.includes("…") || !items.length) return unknown(node, result, cell);
    const taken = items.filter((item) => item !== "None" && item !== "Ellipsis").length;
    const whole = Array(shape.length - taken).fill("slice(None, None, None)");
    const dots = items.indexOf("Ellipsis");
    const full =
      dots < 0
        ? [...items, ...whole]
        : [...items.slice(0, dots), ...whole, ...items.slice(dots + 1)];
    const rules = []; // for each dimension of x: the places taken, and whether y has it
    const kept = []; // for each dimension of y: the dimension of x, or -1 for a new one
    for (const item of full) {
      if (item === "None") {
        kept.push(-1);
        continue;
      }
      const n = shape[rules.length];
      if (item.startsWith("slice")) {
        kept.push(rules.length);
        rules.push(slicePlaces(item, n));
      } else rules.push([(Number(item) + n) % n]);
    }
    const source = (at) => {
      const from = rules.map((taken) => taken[0]);
      kept.forEach((d, i) => {
        if (d >= 0) from[d] = rules[d][at[i]];
      });
      return ravel(from, shape);
    };
    if (result === "y") return { 0: [source(unravel(cell, node.shape))] };
    return { g: everything(node.shape).filter((i) => source(unravel(i, node.shape)) === cell) };
  }

  /* When nothing is known: the same cell if shapes agree, else all. */
  function unknown(node, result, cell) {
    const places = range(node.inputs.length).filter((i) => node.inputs[i] !== null);
    const shape = result === "y" ? node.shape : shapeOf(node, Number(result.slice(1)));
    const seen = (other) => (other.join() === shape.join() ? [cell] : everything(other));
    const inputs = Object.fromEntries(places.map((i) => [i, seen(shapeOf(node, i))]));
    return result === "y" ? inputs : { ...inputs, g: seen(node.shape), y: seen(node.shape) };
  }

  const MAPS = [
    [matmul, "Matmul"],
    [linear, "Linear"],
    [reduction, "Sum Mean Nansum Prod Logsumexp Var Std Norm Amax Amin Max Min All Any_ Median"],
    [crossEntropy, "CrossEntropy NllLoss"],
    [line, "Softmax LogSoftmax LayerNorm RmsNorm Cumsum Cumprod Logcumsumexp"],
    [reshape, "Reshape View Squeeze Unsqueeze Clone Cast ToDevice"],
    [permute, "Permute Transpose"],
    [embedding, "Embedding"],
    [attention, "Attention"],
    [join, "Cat Stack"],
    [slice, "Slice"],
    [
      elementwise,
      "Add Sub Mul Div Neg Abs Sign Scale Lerp LerpByNumber Where Maximum Minimum Fmax Fmin Clamp " +
        "MaskedFill Expand Dropout PowScalar Pow Sqrt Rsqrt Reciprocal Hypot Exp Exp2 Expm1 Log Log1p " +
        "Log2 Log10 Logaddexp Xlogy Sigmoid Logit Erf Erfc Gelu GeluTanh Silu Mish Softplus LogSigmoid " +
        "Elu Relu LeakyRelu Prelu Threshold Hardtanh Hardsigmoid Hardswish Softshrink Sin Cos Tan Asin " +
        "Acos Atan Atan2 Sinh Cosh Tanh Asinh Acosh Atanh SquaredError HuberError Tril Triu Floor Ceil " +
        "Trunc Round Frac NanToNum BinaryCrossEntropy BinaryCrossEntropyWithLogits",
    ],
  ];
  const mapOf = new Map(MAPS.flatMap(([map, ops]) => ops.split(" ").map((op) => [op, map])));

  function sources(node, result, cell) {
    return (mapOf.get(node.op) || unknown)(node, result, cell);
  }

  return Object.freeze({ sources });
})();
