/* The page: a grid of small pictures, layer by head, tabs for what they show, and keys. */
"use strict";

{
  const { element } = TT;
  const overview = document.getElementById("overview");
  const known = Object.keys(QUANTITIES).filter((name) => heads.some((head) => head.has(name)));
  const available = Object.fromEntries(known.map((name) => [name, QUANTITIES[name].label]));
  const state = { head: heads[0], quantity: "A", scale: "head" };
  const buttons = new Map(); // Head → its button
  let queue = []; // heads whose pictures must be drawn

  /* ---------------------------------------------------------------------------------------
     The grid */

  function grid(group) {
    const most = Math.max(...group.layers.map((layer) => layer.heads.length));
    const names = layerNames(group.layers.map((layer) => layer.map));
    const table = element("div", { class: "heads", role: "group", "aria-label": group.title });
    table.style.setProperty("--heads", most);
    table.append(element("span", { class: "corner quiet" }, "layer \\ head"));
    for (let h = 0; h < most; h++) {
      table.append(element("span", { class: "quiet column" }, String(h)));
    }
    group.layers.forEach((layer, n) => {
      table.append(element("span", { class: "layer code", title: layer.map.path }, names.of[n]));
      layer.heads.forEach((head) => table.append(thumbnail(head)));
      for (let h = layer.heads.length; h < most; h++) table.append(element("span"));
    });
    return element("section", { class: "panel" }, element("h2", {}, group.title,
      element("small", { class: "quiet code" }, names.all)), table);
  }

  /* Paths that differ in one part, such as blocks.0.attn and blocks.1.attn, are told apart by that
     part alone; `all` is then blocks.*.attn. Other paths stay whole, but for the model's name. */
  function layerNames(maps) {
    const paths = maps.map((map) => map.path.split(".").slice(map.path.includes(".") ? 1 : 0));
    const call = (map) => (map.call ? ` (${map.call + 1})` : "");
    const differs = (n) => paths.some((path) => path[n] !== paths[0][n]);
    const differing = [...paths[0].keys()].filter(differs);
    const alike = paths.every((path) => path.length === paths[0].length) && differing.length === 1;
    if (!alike) return { all: "", of: maps.map((map, n) => paths[n].join(".") + call(map)) };
    const [at] = differing;
    return {
      all: paths[0].map((part, n) => (n === at ? "*" : part)).join("."),
      of: maps.map((map, n) => paths[n][at] + call(map)),
    };
  }

  function thumbnail(head) {
    const canvas = element("canvas");
    const [wide, high] = [head.keys, head.queries]; // a side is at least a third of the other
    canvas.style.aspectRatio = `${Math.max(wide, high / 3)} / ${Math.max(high, wide / 3)}`;
    const button = element("button", {
      type: "button", class: "thumb", "aria-label": head.name, title: head.name,
      onclick: () => open(head),
    }, canvas);
    buttons.set(head, button);
    return button;
  }

  /* The end of the colour scale: the head's own largest value, or the largest of all heads. */
  function ends(head) {
    if (!head.has(state.quantity)) return 0;
    if (state.scale === "head") return head.largest(state.quantity);
    if (state.quantity === "A") return 1;
    const having = heads.filter((each) => each.has(state.quantity));
    return Math.max(...having.map((each) => each.largest(state.quantity)));
  }

  /* Draw the small pictures, those in view first, a few in each frame: the page stays live. */
  function drawAll() {
    const inView = (head) => {
      const { top, bottom } = buttons.get(head).getBoundingClientRect();
      return bottom > 0 && top < innerHeight ? 0 : 1;
    };
    const running = queue.length > 0;
    queue = [...heads].sort((a, b) => inView(a) - inView(b));
    if (!running) requestAnimationFrame(drawSome);
  }

  function drawSome() {
    const until = performance.now() + 12;
    while (queue.length > 0 && performance.now() < until) drawOne(queue.shift());
    if (queue.length > 0) requestAnimationFrame(drawSome);
    else document.body.dataset.drawn = state.quantity;
  }

  function drawOne(head) {
    const canvas = buttons.get(head).firstChild;
    buttons.get(head).disabled = !head.has(state.quantity);
    if (head.has(state.quantity)) Paint.thumbnail(canvas, head, state.quantity, ends(head));
    else canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
  }

  function drawAllNow() {
    queue = [];
    heads.forEach(drawOne);
  }

  /* ---------------------------------------------------------------------------------------
     State */

  function open(head) {
    state.head = head;
    buttons.forEach((button, each) => button.setAttribute("aria-pressed", String(each === head)));
    showDetail();
    TT.announce(head.name);
    writeHash();
  }

  function showDetail() {
    const quantity = state.head.has(state.quantity) ? state.quantity : "A";
    const end = quantity === state.quantity ? ends(state.head) : state.head.largest("A");
    Detail.show(state.head, quantity, end);
  }

  function redraw() {
    delete document.body.dataset.drawn;
    showDetail();
    drawAll();
    writeHash();
  }

  function writeHash() {
    const { i, j } = Detail.cell;
    const hash = `#head=${heads.indexOf(state.head)}&show=${state.quantity}&cell=${i},${j}`;
    try { history.replaceState(null, "", hash); } catch { /* in a frame without an address */ }
  }

  function readHash() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    state.head = heads[Number(wanted.get("head"))] ?? heads[0];
    if (wanted.get("show") in available) state.quantity = wanted.get("show");
    if (!wanted.has("cell")) return strongest(state.head);
    const [i, j] = wanted.get("cell").split(",").map((n) => Number(n) || 0);
    return { i, j };
  }

  /* What the last query attends to most: a cell to begin with. */
  function strongest(head) {
    const row = head.row("A", head.queries - 1);
    return { i: head.queries - 1, j: row.indexOf(row.reduce((a, b) => Math.max(a, b), 0)) };
  }

  const start = readHash();
  const show = (name) => { state.quantity = name; redraw(); };
  const rescale = () => { state.scale = scale.value; redraw(); };
  const tabs = TT.tabs("What is shown", available, show, state.quantity);
  const scale = element("select", { id: "scale", "aria-label": "Colours", onchange: rescale },
    element("option", { value: "head" }, "Colours: each head its own"),
    element("option", { value: "all" }, "Colours: all heads alike"));
  document.getElementById("tools").append(tabs, scale);

  /* Keys: 1 … 5 for tabs, [ and ] for the head before and after. */
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === scale) return;
    const name = known[Number(event.key) - 1];
    if (name !== undefined) {
      tabs.choose(name);
    } else if (event.key === "[" || event.key === "]") {
      const next = heads.indexOf(state.head) + (event.key === "]" ? 1 : -1);
      if (heads[next]) open(heads[next]);
    }
  });

  overview.append(...headGroups.map(grid));
  if (!available.dA) {
    overview.append(element("p", { class: "note" },
      "No gradients: the model gave no loss. Pass loss=… to see dL/dA and dL/dS."));
  }
  const key = (text) => element("kbd", {}, text);
  overview.append(element("p", { class: "note no-print" },
    key("1"), " … ", key(String(known.length)), " what is shown, ", key("["), " ", key("]"),
    " head before and after, arrow keys in the map: cell"));

  open(state.head);
  Detail.choose(start, true);
  Detail.onChange(writeHash);
  writeHash();
  drawAll();
  TT.onTheme(() => { Detail.draw(); Detail.showLegend(); drawAllNow(); });
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { Detail.draw(); drawAll(); }, 100);
  });
}
