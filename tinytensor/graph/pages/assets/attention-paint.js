/* Heat maps on canvas: one small image of one pixel for each cell, then stretched, then hatched. */
"use strict";

const Paint = (() => {
  /* Give a canvas as many pixels as the screen has for its size; returns its 2-d context. */
  function fit(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    const context = canvas.getContext("2d");
    context.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
    return context;
  }

  /* The place of a value among the 256 colours of its ramp, which ends at `largest`. */
  function level(quantity, value, largest) {
    const part = largest === 0 ? 0 : value / largest;
    const share = QUANTITIES[quantity].ramp === "diverging" ? (1 + part) / 2 : part;
    return Math.round(Math.min(Math.max(share, 0), 1) * 255);
  }

  const stage = document.createElement("canvas"); // used again for each head
  const GREY = [136, 136, 136]; // for NaN

  /* The head's cells as a picture, one pixel each. If there are more cells than room, a pixel
     stands for a block of them and shows the one of largest size: a lone strong weight stays. */
  function image(head, quantity, largest, room) {
    const step = Math.max(1, Math.ceil(head.keys / room));
    const [width, height] = [Math.ceil(head.keys / step), Math.ceil(head.queries / step)];
    const values = head.values(quantity);
    const table = TT.ramp(QUANTITIES[quantity].ramp);
    const pixels = new ImageData(width, height);
    for (let y = 0, at = 0; y < height; y++) {
      for (let x = 0; x < width; x++, at += 4) {
        const cell = strongest(head, values, x * step, y * step, step);
        if (cell < 0) continue; // all masked: transparent
        const [r, g, b] = table[level(quantity, values[cell], largest)] ?? GREY;
        pixels.data[at] = r;
        pixels.data[at + 1] = g;
        pixels.data[at + 2] = b;
        pixels.data[at + 3] = 255;
      }
    }
    stage.width = width;
    stage.height = height;
    stage.getContext("2d").putImageData(pixels, 0, 0);
    return { width: width * step / head.keys, height: height * step / head.queries };
  }

  /* The cell of largest size in a block, without masked ones; −1 if there is none. */
  function strongest(head, values, left, top, step) {
    if (step === 1) {
      const cell = top * head.keys + left;
      return head.isMasked(cell) ? -1 : cell;
    }
    let best = -1;
    for (let i = top; i < Math.min(top + step, head.queries); i++) {
      for (let j = left; j < Math.min(left + step, head.keys); j++) {
        const cell = i * head.keys + j;
        if (head.isMasked(cell)) continue;
        if (best < 0 || Math.abs(values[cell]) > Math.abs(values[best])) best = cell;
      }
    }
    return best;
  }

  /* Draw the cells of a head into the rectangle {left, top, width, height}. */
  function cells(context, head, quantity, largest, area) {
    const { left, top, width, height } = area;
    const covered = image(head, quantity, largest, width * devicePixelRatio); // 1 × 1, or more
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(stage, left, top, width * covered.width, height * covered.height);
    if (head.bias !== null) hatch(context, head, area);
    context.restore();
  }

  /* Stripes over the cells that may not be attended to. */
  function hatch(context, head, { left, top, width, height }) {
    const placed = new Path2D();
    const [w, h] = [width / head.keys, height / head.queries];
    placed.addPath(maskOf(head), new DOMMatrix([w, 0, 0, h, left, top]));
    context.clip(placed);
    context.fillStyle = TT.css("--panel");
    context.fillRect(left, top, width, height);
    context.strokeStyle = TT.css("--line");
    context.lineWidth = 1;
    context.beginPath();
    const gap = width < 150 ? 4 : 7;
    for (let x = left - height; x < left + width; x += gap) {
      context.moveTo(x, top + height);
      context.lineTo(x + height, top);
    }
    context.stroke();
  }

  const masks = new WeakMap(); // bias → path around its masked cells, 1 × 1 each; heads share it

  function maskOf(head) {
    if (!masks.has(head.bias)) {
      const { keys, queries } = head;
      const path = new Path2D();
      for (let i = 0; i < queries; i++) {
        for (let j = 0; j < keys; ) {
          let end = j;
          while (end < keys && head.isMasked(i * keys + end)) end++;
          if (end > j) path.rect(j, i, end - j, 1);
          j = Math.max(end, j + 1);
        }
      }
      masks.set(head.bias, path);
    }
    return masks.get(head.bias);
  }

  /* A small picture, as large as the canvas is on the page. */
  function thumbnail(canvas, head, quantity, largest) {
    const { width, height } = canvas.getBoundingClientRect();
    if (width === 0) return;
    const context = fit(canvas, width, height);
    context.clearRect(0, 0, width, height);
    cells(context, head, quantity, largest, { left: 0, top: 0, width, height });
  }

  /* Black or white, whichever reads better on a ramp's colour. */
  function inkOn(quantity, value, largest) {
    const table = TT.ramp(QUANTITIES[quantity].ramp);
    const [r, g, b] = table[level(quantity, value, largest)] ?? GREY;
    return 0.3 * r + 0.59 * g + 0.11 * b > 128 ? "#000" : "#fff";
  }

  return Object.freeze({ fit, cells, thumbnail, inkOn });
})();
