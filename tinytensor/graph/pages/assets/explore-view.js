/* The picture of one room: nodes, boxes of inner rooms, ports, edges; pan, zoom and fit.

   Python laid every room out; here it is drawn as SVG and given classes as the walk goes on. The
   place looked at is the SVG's viewBox, kept for each room, so that coming back finds it again. */
"use strict";

const View = (() => {
  const { svg } = TT;
  const MARGIN = 24;
  const BUTTONS = 36; // pixels that the buttons take at the top
  const SMALLEST = 0.65; // the scale at which labels can still be read
  const GLIDE = 180; // milliseconds

  const canvas = svg("svg", { class: "canvas", role: "group", "aria-label": "graph" });
  const places = new Map(); // room → viewBox {x, y, w, h}
  let box = { x: 0, y: 0, w: 1, h: 1 }; // what is seen
  let goal = box; // what will be seen when the view has come to rest
  let room = -1;
  let picture = null;
  let groups = []; // the <g> of each entry
  let edges = []; // {from, to, path}
  let entryOf = new Map(); // "node:3", "room:2", "in:5" → entry
  let gliding = 0; // the frame that is asked for, while the view moves
  const events = { select: () => {}, enter: () => {}, port: () => {} };

  /* ---------------------------------------------------------------------------------------
     Drawing */

  function show(index) {
    const target = Graph.viewOf(index);
    if (target === room) return;
    const before = room;
    if (room >= 0) places.set(room, goal);
    else measure(canvas.getBoundingClientRect());
    room = target;
    draw();
    fit();
    if (places.has(room)) setBox(places.get(room));
    if (before >= 0) arrive(before);
  }

  /* Come in from the room before: out of its box, or into this one. */
  function arrive(before) {
    const to = goal;
    if (Graph.chain(room).includes(before)) {
      box = { x: to.x - to.w / 4, y: to.y - to.h / 4, w: to.w * 1.5, h: to.h * 1.5 };
    } else {
      const out = Graph.chain(before)
        .map((at) => entryOf.get(`room:${at}`))
        .find((at) => at !== undefined);
      if (out === undefined) return;
      const [cx, cy, w, h] = picture.layout.at[out];
      box = { x: cx - w, y: cy - h, w: 2 * w, h: 2 * h };
    }
    glide(to);
  }

  function draw() {
    picture = Graph.pictures.get(room);
    const { layout, entries, frames } = picture;
    entryOf = new Map(entries.map((entry, i) => [`${entry.kind}:${entry.key}`, i]));
    const frameParts = layout.frames.map((place, i) => Draw.frame(place, Graph.rooms[frames[i]]));
    edges = layout.edges.map(([from, to, points]) => ({ from, to, path: Draw.edge(points) }));
    groups = entries.map((entry, i) => Draw.entry(entry, layout.at[i], outside));
    canvas.replaceChildren(
      Draw.markers(),
      svg("g", { class: "frames" }, frameParts),
      svg(
        "g",
        { class: "edges" },
        edges.map((edge) => edge.path),
      ),
      svg("g", { class: "entries" }, groups),
    );
  }

  /* ---------------------------------------------------------------------------------------
     What stands for a node in this picture */

  const inside = (node) => Graph.chain(Graph.nodes[node].room).includes(room);

  /* The node at the other end of a port, and what to call it. */
  function outside({ kind, key }) {
    const user = kind === "in" ? key : Graph.nodes[key].users.find((u) => !inside(u));
    return { node: Graph.nodes[user], name: describe(Graph.nodes[user]) };
  }

  /* A node outside, as seen from this room: its module's name there, or its own. */
  function describe(node) {
    if (node.kind !== "op" || node.room === 0) return Graph.shortName(node);
    const here = new Set(Graph.chain(room));
    let at = Graph.viewOf(node.room);
    if (here.has(at)) return Graph.shortName(node);
    while (Graph.rooms[at].parent !== null && !here.has(Graph.rooms[at].parent))
      at = Graph.rooms[at].parent;
    return Graph.rooms[at].label;
  }

  /* The entry that is the node, or the box that it is in; -1 if it is elsewhere. */
  function entryFor(node) {
    const own = entryOf.get(`node:${node}`);
    if (own !== undefined) return own;
    for (const at of Graph.chain(Graph.nodes[node].room).reverse()) {
      const found = entryOf.get(`room:${at}`);
      if (found !== undefined) return found;
    }
    return -1;
  }

  function edgesBetween(source, user) {
    const from =
      entryOf.has(`in:${source}`) && !inside(source)
        ? entryOf.get(`in:${source}`)
        : entryFor(source);
    const to = inside(user) ? entryFor(user) : entryOf.get(`out:${source}`);
    return edges.filter((edge) => edge.from === from && edge.to === to);
  }

  /* ---------------------------------------------------------------------------------------
     The walk, seen */

  const STATES = ["now", "done", "ready", "waiting", "far", "given", "unused", "wrong"];

  /* Give entries and edges the classes of `position`. lit: {nodes: [[source, user]], backward}. */
  function paint(walk, position, selected, lit) {
    picture.entries.forEach((entry, i) => {
      const group = groups[i];
      group.classList.remove(...STATES, "selected");
      if (entry.kind === "node") paintNode(group, entry.key, walk, position);
      else if (entry.kind === "room") paintRoom(group, entry.key, walk, position);
    });
    if (selected !== null) {
      const at = entryFor(selected);
      if (at >= 0) groups[at].classList.add("selected");
    }
    for (const { path } of edges) path.classList.remove("flow", "backward");
    for (const [source, user] of lit.pairs) {
      for (const { path } of edgesBetween(source, user)) {
        path.classList.add("flow");
        if (lit.backward) path.classList.add("backward");
      }
    }
  }

  function paintNode(group, id, walk, position) {
    const status = walk.status(id, position);
    group.classList.add(status);
    if (walk.name === "wrong" && Order.isWrong(id, position)) group.classList.add("wrong");
    const badge = group.querySelector(".badge");
    if (badge !== null) {
      const text =
        status === "waiting" ? `${walk.arrived(id, position)}/${walk.arrivals[id].length}` : "";
      if (badge.textContent !== text) {
        badge.replaceChildren(...(text ? Draw.badge(text, group.size[0]) : []));
      }
    }
    const thumb = group.querySelector(".thumb.gradient");
    if (thumb !== null) {
      const value =
        walk.name === "forward"
          ? null
          : walk.name === "wrong"
            ? Order.gradientAt(id, position)
            : Walks.gradientAt(id, position);
      const picture = Matrix.thumbnail(value);
      if (picture === null) thumb.removeAttribute("href");
      else if (thumb.getAttribute("href") !== picture) thumb.setAttribute("href", picture);
    }
    const value = group.querySelector(".thumb.value");
    const unknown =
      walk.name === "forward" && Graph.nodes[id].kind === "op" && !["now", "done"].includes(status);
    value.style.visibility = unknown ? "hidden" : "visible";
  }

  /* How many of the steps of each room lie before each position: steps by room, sorted. */
  const stepsIn = new Map();

  function roomSteps(walk) {
    if (!stepsIn.has(walk)) {
      const found = Graph.rooms.map(() => []);
      walk.steps.forEach((step, i) => {
        for (let at = Graph.nodes[step.node].room; at !== null; at = Graph.rooms[at].parent) {
          found[at].push(i + 1);
        }
      });
      stepsIn.set(walk, found);
    }
    return stepsIn.get(walk);
  }

  function paintRoom(group, index, walk, position) {
    const steps = roomSteps(walk)[index];
    const done = steps.filter((p) => p <= position).length;
    const share = steps.length ? done / steps.length : 0;
    group.querySelector(".progress.done").setAttribute("width", (group.size[0] - 20) * share);
    if (steps.includes(position)) group.classList.add("now");
    else if (share === 1) group.classList.add("done");
    else if (share > 0) group.classList.add("waiting");
    else group.classList.add("far");
  }

  /* ---------------------------------------------------------------------------------------
     Pan, zoom, fit */

  /* Look at this part of the picture. */
  function setBox(next) {
    cancelAnimationFrame(gliding);
    goal = next;
    look(next);
  }

  function look(next) {
    box = next;
    canvas.setAttribute("viewBox", [box.x, box.y, box.w, box.h].join(" "));
  }

  /* The whole picture, or all of its width if it is very long, starting at its busy end. */
  function fit() {
    const [width, height] = picture.layout.size.map((size) => size + 2 * MARGIN);
    const room = Math.max((seen.height || 600) - BUTTONS, BUTTONS);
    const above = BUTTONS / Math.min((seen.width || 800) / width, room / height); // in the picture
    setBox({ x: -MARGIN, y: -MARGIN - above, w: width, h: height + above });
    const scale = scaleOf(box);
    if (scale > 1.25) zoom(1.25 / scale);
  }

  /* The size of the window onto the picture. Asking for it anew would lay out the page each time. */
  const seen = { width: 0, height: 0 };
  const measure = ({ width, height }) => Object.assign(seen, { width, height });
  new ResizeObserver(([entry]) => measure(entry.contentRect)).observe(canvas);

  const scaleOf = ({ w, h }) => Math.min((seen.width || 800) / w, (seen.height || 600) / h);

  /* Zoom by a factor about a point of the picture; the middle if none is given. */
  function zoom(factor, x = box.x + box.w / 2, y = box.y + box.h / 2) {
    const scale = scaleOf(box) * factor;
    const f = Math.min(Math.max(scale, 0.02), 6) / scaleOf(box);
    setBox({ x: x - (x - box.x) / f, y: y - (y - box.y) / f, w: box.w / f, h: box.h / f });
  }

  /* Where a point of the screen is in the picture. */
  function pointAt(event) {
    const matrix = canvas.getScreenCTM().inverse();
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
  }

  /* Bring an entry into sight, moving as little as can be. */
  function reveal(node) {
    const at = entryFor(node);
    if (at < 0) return;
    const [cx, cy, w, h] = picture.layout.at[at];
    const scale = Math.max(scaleOf(goal), SMALLEST);
    const size = { w: (goal.w * scaleOf(goal)) / scale, h: (goal.h * scaleOf(goal)) / scale };
    const middle = { x: goal.x + goal.w / 2, y: goal.y + goal.h / 2 };
    const slack = { x: (seen.width / scale - w) / 2 - 30, y: (seen.height / scale - h) / 2 - 40 };
    const near = (from, to, room) =>
      Math.min(Math.max(from, to - Math.max(room, 0)), to + Math.max(room, 0));
    const x = near(middle.x, cx, slack.x);
    const y = near(middle.y, cy, slack.y);
    glide({ x: x - size.w / 2, y: y - size.h / 2, ...size });
  }

  const still = window.matchMedia("(prefers-reduced-motion: reduce)");

  /* Move the view smoothly. */
  function glide(to) {
    cancelAnimationFrame(gliding);
    goal = to;
    const from = box;
    if (still.matches || document.hidden) {
      look(to);
      return;
    }
    const start = performance.now();
    const frame = (now) => {
      const t = Math.min(Math.max((now - start) / GLIDE, 0), 1);
      const s = t * (2 - t);
      look(
        Object.fromEntries(["x", "y", "w", "h"].map((k) => [k, from[k] + (to[k] - from[k]) * s])),
      );
      if (t < 1) gliding = requestAnimationFrame(frame);
    };
    gliding = requestAnimationFrame(frame);
  }

  /* ---------------------------------------------------------------------------------------
     Pointer and keys */

  const pointers = new Map();
  let moved = false;

  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, event);
    moved = false;
    setBox(box);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) return;
    const far = Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY);
    if (!moved && far < 4) return;
    if (!moved) canvas.setPointerCapture(event.pointerId);
    moved = true;
    const scale = scaleOf(box);
    if (pointers.size === 1) {
      setBox({
        ...box,
        x: box.x - (event.clientX - before.clientX) / scale,
        y: box.y - (event.clientY - before.clientY) / scale,
      });
    } else {
      const other = [...pointers.entries()].find(([id]) => id !== event.pointerId)[1];
      const apart = (e) => Math.hypot(e.clientX - other.clientX, e.clientY - other.clientY) || 1;
      const centre = pointAt({
        clientX: (event.clientX + other.clientX) / 2,
        clientY: (event.clientY + other.clientY) / 2,
      });
      zoom(apart(event) / apart(before), centre.x, centre.y);
    }
    pointers.set(event.pointerId, event);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => pointers.delete(event.pointerId));
  }
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { x, y } = pointAt(event);
      zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), x, y);
    },
    { passive: false },
  );

  function entryAt(target) {
    const group = target.closest ? target.closest("[data-entry]") : null;
    if (group === null) return null;
    const [kind, key] = group.dataset.entry.split(":");
    return { kind, key: Number(key) };
  }

  function activate(event) {
    const entry = entryAt(event.target);
    if (entry === null || moved) return;
    event.preventDefault();
    if (entry.kind === "room") events.enter(entry.key);
    else if (entry.kind === "node") events.select(entry.key);
    else events.port(outside(entry).node.id);
  }

  canvas.addEventListener("click", activate);
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      moved = false;
      activate(event);
    }
  });

  TT.onTheme(() => {
    if (room >= 0) draw();
  });

  return Object.freeze({
    canvas,
    events,
    show,
    paint,
    fit,
    zoom,
    reveal,
    entryFor,
    inside,
    setBox,
    room: () => room,
    viewBox: () => goal,
    picture: () => picture,
  });
})();
