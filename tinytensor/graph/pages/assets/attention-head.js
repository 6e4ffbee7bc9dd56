/* One attention head as numbers. The page holds queries, keys, masks and dL/dA; the rest follows:

       S = q·kᵀ·scale + mask,  A = softmax S, row by row,  dS = A⊙(dA − Σ dA⊙A),  A⊙dA */
"use strict";

/* The quantities of a head, in the order of the tabs. */
const QUANTITIES = {
  S: { label: "Scores S", formula: "S = q·kᵀ/√d + mask", ramp: "diverging" },
  A: { label: "Weights A", formula: "A = softmax(S), each row", ramp: "sequential" },
  dA: { label: "dL/dA", formula: "dL/dA = dL/dY·Vᵀ", ramp: "diverging" },
  dS: { label: "dL/dS", formula: "dL/dS = A⊙(dL/dA − Σ dL/dA⊙A)", ramp: "diverging" },
  AdA: { label: "A⊙dL/dA", formula: "A⊙dL/dA", ramp: "diverging" },
};

const { heads, headGroups } = (() => {
  const source = TT.data("attention");
  const biases = source.biases.map(floats);

  /* base64 of little-endian float32 → numbers. */
  function floats(text) {
    if (text === null) return null;
    const characters = atob(text);
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
    return new Float32Array(bytes.buffer);
  }

  /* A visible form of a token, on one line. */
  function visible(token) {
    const oneLine = token.replaceAll("\n", "⏎").replaceAll("\t", "⇥");
    return oneLine.replace(/^ +$/, (blanks) => "␣".repeat(blanks.length)) || "∅";
  }

  class Head {
    constructor(map, index) {
      this.map = map;
      this.index = index; // among the heads of its layer
      this.queries = map.queries;
      this.keys = map.keys;
      this.rows = source.tokens[map.rows].map(visible);
      this.columns = source.tokens[map.columns].map(visible);
      this.bias = map.bias === null ? null : biases[map.bias[index % map.bias.length]];
      this.known = {}; // quantity → Float32Array (L·S), computed on first use
    }

    get name() {
      const call = this.map.call ? `, call ${this.map.call + 1}` : "";
      return `${this.map.path}${call}, head ${this.index}`;
    }

    /* Whether a query may not attend to a key. */
    isMasked(cell) {
      return this.bias !== null && this.bias[cell] === -Infinity;
    }

    /* This head's part of the layer's numbers: (H, rows, columns) → (rows, columns). */
    part(all, rows, columns) {
      const size = rows * columns;
      return all.subarray(this.index * size, (this.index + 1) * size);
    }

    q(i) {
      const d = this.map.width;
      return this.part(this.map.query, this.queries, d).subarray(i * d, (i + 1) * d);
    }

    k(j) {
      const d = this.map.width;
      return this.part(this.map.key, this.keys, d).subarray(j * d, (j + 1) * d);
    }

    has(quantity) {
      if (quantity === "S") return this.map.query !== null;
      return quantity === "A" || this.map.grad !== null;
    }

    /* All values of a quantity, row by row. */
    values(quantity) {
      if (!(quantity in this.known)) this.known[quantity] = this.derived(quantity);
      return this.known[quantity];
    }

    derived(quantity) {
      switch (quantity) {
        case "S": return this.scores();
        case "A": return this.has("S") ? this.softmax() : this.given("weights");
        case "dA": return this.given("grad");
        case "dS": return this.scoreGradient();
        case "AdA": {
          const grad = this.values("dA");
          return this.values("A").map((a, cell) => a * grad[cell]);
        }
      }
    }

    /* A quantity that is stored in the page, "weights" or "grad". */
    given(name) {
      return this.part(this.map[name], this.queries, this.keys);
    }

    scores() {
      const { width, scale } = this.map;
      const query = this.part(this.map.query, this.queries, width);
      const key = this.part(this.map.key, this.keys, width);
      const scores = new Float32Array(this.queries * this.keys);
      for (let i = 0, cell = 0; i < this.queries; i++) {
        for (let j = 0; j < this.keys; j++, cell++) {
          let sum = 0;
          for (let d = 0; d < width; d++) sum += query[i * width + d] * key[j * width + d];
          scores[cell] = sum * scale + (this.bias === null ? 0 : this.bias[cell]);
        }
      }
      return scores;
    }

    softmax() {
      const scores = this.values("S");
      const weights = new Float32Array(scores.length);
      for (let i = 0; i < this.queries; i++) {
        const { top, total } = this.normaliser(i);
        if (total === 0) continue; // all is masked: zeros
        for (let cell = i * this.keys; cell < (i + 1) * this.keys; cell++) {
          weights[cell] = Math.exp(scores[cell] - top) / total;
        }
      }
      return weights;
    }

    /* The largest score of row i, and Σ exp(score − largest). */
    normaliser(i) {
      const row = this.row("S", i);
      const top = row.reduce((a, b) => Math.max(a, b), -Infinity);
      const total = top === -Infinity ? 0 : row.reduce((sum, s) => sum + Math.exp(s - top), 0);
      return { top, total };
    }

    scoreGradient() {
      const weights = this.values("A");
      const grad = this.values("dA");
      const result = new Float32Array(weights.length);
      for (let i = 0; i < this.queries; i++) {
        const mean = this.sum("AdA", i);
        for (let cell = i * this.keys; cell < (i + 1) * this.keys; cell++) {
          result[cell] = weights[cell] * (grad[cell] - mean);
        }
      }
      return result;
    }

    row(quantity, i) {
      return this.values(quantity).subarray(i * this.keys, (i + 1) * this.keys);
    }

    /* The sum of row i. */
    sum(quantity, i) {
      return this.row(quantity, i).reduce((sum, value) => sum + value, 0);
    }

    /* The largest absolute value that is not masked: the end of the colour scale. */
    largest(quantity) {
      const name = `largest ${quantity}`;
      if (!(name in this.known)) {
        const values = this.values(quantity);
        let size = 0;
        for (let cell = 0; cell < values.length; cell++) {
          const now = Math.abs(values[cell]);
          if (now > size && now < Infinity && !this.isMasked(cell)) size = now;
        }
        this.known[name] = size;
      }
      return this.known[name];
    }
  }

  /* Layers and heads: [{title, layers: [{path, heads: [Head]}]}], and all heads in one list. */
  const groups = Object.entries(source.kinds).map(([kind, title]) => ({
    title,
    layers: source.maps.filter((map) => map.kind === kind).map((map) => {
      for (const name of ["query", "key", "weights", "grad"]) map[name] = floats(map[name]);
      return { map, heads: Array.from({ length: map.heads }, (_, index) => new Head(map, index)) };
    }),
  })).filter((group) => group.layers.length > 0);

  return {
    headGroups: groups,
    heads: groups.flatMap((group) => group.layers.flatMap((layer) => layer.heads)),
  };
})();
