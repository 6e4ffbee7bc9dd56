/* The page as a whole: the state, and all that changes it. */
"use strict";

{
  const { element, announce } = TT;
  const $ = (id) => document.getElementById(id);
  const panel = $("panel");
  const PLAY = 700; // milliseconds for each step

  const state = {
    walk: Walks.backward || Walks.forward,
    position: 0,
    selected: null, // a node that is looked at, other than that of the step
    follow: true,
    timer: 0,
  };

  /* ---------------------------------------------------------------------------------------
     Showing the state */

  const stepNode = () => {
    const step = state.walk.step(state.position);
    return step === null ? null : step.node;
  };

  function show({ speak = false } = {}) {
    const current = stepNode();
    const looked = state.selected === null ? current : state.selected;
    const begin = state.walk.name === "forward" ? null : Graph.loss;
    View.paint(state.walk, state.position, looked ?? begin, litEdges(current));
    Panel.fill(panel, {
      walk: state.walk,
      position: state.position,
      node: looked === null ? null : Graph.nodes[looked],
      selected: state.selected !== null,
    });
    showCrumbs();
    $("slider").max = state.walk.length;
    $("slider").value = state.position;
    $("count").textContent = `${state.position} / ${state.walk.length}`;
    $("back").disabled = $("first").disabled = state.position === 0;
    $("next").disabled =
      $("last").disabled =
      $("over").disabled =
        state.position === state.walk.length;
    $("why").setAttribute("aria-pressed", String(state.walk.name === "wrong"));
    document.body.dataset.walk = state.walk.name;
    writeHash();
    if (speak) announce(sentence(current));
  }

  /* The edges that the step sends something along, as [source, user]. */
  function litEdges(current) {
    if (current === null) return { pairs: [], backward: false };
    const node = Graph.nodes[current];
    const inputs = node.inputs.filter((i) => i !== null);
    if (state.walk.name === "forward")
      return { pairs: inputs.map((i) => [i, current]), backward: false };
    const flows = (i) => state.walk.arrivals[i].length > 0;
    return { pairs: inputs.filter(flows).map((i) => [i, current]), backward: true };
  }

  function sentence(current) {
    if (current === null) return "At the start.";
    const node = Graph.nodes[current];
    const where = node.module ? ` in ${node.module}` : "";
    const head = `Step ${state.position} of ${state.walk.length}: ${node.name}${where}.`;
    if (state.walk.name !== "backward") return head;
    const targets = state.walk
      .step(state.position)
      .contributions.map((c) => Graph.nodes[c.target].name);
    return targets.length
      ? `${head} Passes gradients to ${targets.join(", ")}.`
      : `${head} Its gradient is complete.`;
  }

  function showCrumbs() {
    const links = Graph.chain(View.room()).flatMap((index, i, all) => {
      const room = Graph.rooms[index];
      const label = index === 0 ? "Graph" : room.label;
      const last = i === all.length - 1;
      const kind =
        room.className && room.className !== label
          ? element("small", {}, ` ${room.className}`)
          : "";
      return [
        i ? element("span", { "aria-hidden": "true" }, "›") : "",
        last
          ? element("b", { "aria-current": "page" }, label, kind)
          : element(
              "button",
              { type: "button", class: "link", onclick: () => enter(index) },
              label,
            ),
      ];
    });
    $("crumbs").replaceChildren(...links);
  }

  /* ---------------------------------------------------------------------------------------
     Changing it */

  function goTo(position) {
    state.position = Math.max(0, Math.min(position, state.walk.length));
    state.selected = null;
    const node = stepNode() ?? (state.walk.name === "forward" ? null : Graph.loss);
    if (state.follow && node !== null) View.show(Graph.nodes[node].room);
    show({ speak: true });
    if (node !== null) View.reveal(node);
  }

  /* The next step that is at another thing in this picture. */
  function over(direction) {
    const here = stepNode();
    const entry = here === null ? -1 : View.entryFor(here);
    let p = state.position + direction;
    while (p > 0 && p < state.walk.length) {
      const at = View.entryFor(state.walk.step(p).node);
      if (at >= 0 && at !== entry) break;
      p += direction;
    }
    const follow = state.follow;
    state.follow = false;
    goTo(p);
    state.follow = follow;
  }

  function setWalk(name) {
    const next = Walks[name];
    if (!next || next === state.walk) return;
    const node = state.selected === null ? stepNode() : state.selected;
    state.walk = next;
    if (modes.value !== name && name !== "wrong") modes.choose(name);
    /* The same node in the other walk, if it is in it. */
    goTo(node === null ? 0 : next.ranAt[node]);
  }

  function select(node) {
    state.selected = node === stepNode() ? null : node;
    show();
    announce(`${Graph.nodes[node].kind} ${Graph.nodes[node].name} selected`);
  }

  /* Select a node and go to where it is. */
  function go(node) {
    View.show(Graph.nodes[node].room);
    select(node);
    View.reveal(node);
  }

  function runTo(node) {
    const at = state.walk.ranAt[node];
    if (at > 0) goTo(at);
  }

  function enter(room) {
    View.show(room);
    show();
    const name = Graph.rooms[room].path || Graph.rooms[room].label;
    announce(`${name} opened`);
  }

  function leave() {
    const { parent } = Graph.rooms[View.room()];
    if (parent !== null) enter(parent);
  }

  function play(on = state.timer === 0) {
    clearInterval(state.timer);
    state.timer = 0;
    if (on && state.position === state.walk.length) goTo(0);
    if (on) {
      state.timer = setInterval(() => {
        if (state.position === state.walk.length) play(false);
        else goTo(state.position + 1);
      }, PLAY);
    }
    $("play").setAttribute("aria-pressed", String(on));
    $("play").textContent = on ? "Stop" : "Play";
  }

  function setFollow(on) {
    state.follow = on;
    $("follow").setAttribute("aria-pressed", String(on));
  }

  /* ---------------------------------------------------------------------------------------
     The link: #walk=backward&step=3&node=7&room=2 */

  let written = "";

  function writeHash() {
    const parts = { walk: state.walk.name, step: state.position, room: View.room() };
    if (state.selected !== null) parts.node = state.selected;
    written = `#${new URLSearchParams(parts)}`;
    try {
      history.replaceState(null, "", written);
    } catch {
      /* a frame without an address */
    }
  }

  function readHash() {
    if (location.hash === written) return;
    const parts = new URLSearchParams(location.hash.slice(1));
    const number = (name, below) => {
      const n = Number.parseInt(parts.get(name), 10);
      return n >= 0 && n < below ? n : null;
    };
    const walk = Walks[["forward", "backward", "wrong"].find((name) => name === parts.get("walk"))];
    if (walk) state.walk = walk;
    if (state.walk.name !== "wrong") modes.choose(state.walk.name);
    state.position = number("step", state.walk.length + 1) ?? 0;
    state.selected = number("node", Graph.nodes.length);
    const room = number("room", Graph.rooms.length);
    View.show(room ?? Graph.start);
    show();
    const node = state.selected ?? stepNode();
    if (node !== null) View.reveal(node);
  }

  /* ---------------------------------------------------------------------------------------
     Buttons and keys */

  const modes = TT.tabs(
    "walk",
    Walks.backward ? { forward: "Forward", backward: "Backward" } : { forward: "Forward" },
    (name) => setWalk(name),
    state.walk.name,
  );
  $("modes").append(modes);
  /* After a click with the mouse, arrow keys are for stepping again, not for the tabs. */
  modes.addEventListener("click", (event) => {
    if (event.detail > 0) document.activeElement.blur();
  });
  const tool = (text, title, onclick) =>
    element("button", { type: "button", title, onclick }, text);
  $("tools").append(
    tool("SVG", "save what is seen as an SVG file", Save.saveSvg),
    tool("PNG", "save what is seen as a PNG file", Save.savePng),
    tool("Keys", "keys (?)", () => $("help").showModal()),
  );

  const toggleWhy = () => setWalk(state.walk.name === "wrong" ? "backward" : "wrong");
  $("why").hidden = Walks.wrong === null;
  const click = {
    first: () => goTo(0),
    back: () => goTo(state.position - 1),
    play: () => play(),
    next: () => goTo(state.position + 1),
    over: () => over(1),
    last: () => goTo(state.walk.length),
    follow: () => setFollow(!state.follow),
    why: toggleWhy,
    fit: () => View.fit(),
    "zoom-in": () => View.zoom(1.3),
    "zoom-out": () => View.zoom(1 / 1.3),
  };
  for (const [id, act] of Object.entries(click)) $(id).onclick = act;
  $("slider").oninput = () => goTo(Number($("slider").value));

  const keys = {
    ArrowRight: (event) => (event.shiftKey ? over(1) : goTo(state.position + 1)),
    ArrowLeft: (event) => (event.shiftKey ? over(-1) : goTo(state.position - 1)),
    Home: () => goTo(0),
    End: () => goTo(state.walk.length),
    " ": () => play(),
    r: () => state.selected !== null && runTo(state.selected),
    b: () => setWalk(state.walk.name === "forward" ? "backward" : "forward"),
    w: toggleWhy,
    u: leave,
    f: () => setFollow(!state.follow),
    "+": () => View.zoom(1.3),
    "=": () => View.zoom(1.3),
    "-": () => View.zoom(1 / 1.3),
    0: () => View.fit(),
    "/": () => Search.open(),
    "?": () => $("help").showModal(),
    Escape: () => {
      state.selected = null;
      show();
    },
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, select, textarea") && event.target.id !== "slider";
    if (typing || event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
    if (event.key === " " && event.target.matches("button, summary, [role=button]")) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  });

  /* The divider between graph and panel. */
  function setPanelWidth(pixels) {
    const width = Math.max(240, Math.min(pixels, innerWidth - 240));
    document.documentElement.style.setProperty("--panel-width", `${width}px`);
  }
  $("divider").onpointerdown = (event) => {
    $("divider").setPointerCapture(event.pointerId);
    $("divider").onpointermove = (e) => setPanelWidth(innerWidth - e.clientX);
  };
  $("divider").onpointerup = () => {
    $("divider").onpointermove = null;
  };
  $("divider").onkeydown = (event) => {
    const step = { ArrowLeft: 30, ArrowRight: -30 }[event.key];
    if (step === undefined) return;
    setPanelWidth(panel.getBoundingClientRect().width + step);
    event.preventDefault();
    event.stopPropagation();
  };

  /* ---------------------------------------------------------------------------------------
     Start */

  Search.actions.go = go;
  Search.actions.enter = enter;
  View.events.select = select;
  View.events.enter = enter;
  View.events.port = go;
  Object.assign(Panel.actions, {
    go,
    runTo,
    enter,
    deselect: () => {
      state.selected = null;
      show();
    },
  });
  Formula.listen(panel);
  $("graph").prepend(View.canvas);
  TT.onTheme(() => show());

  let screenBox = null; // on paper the whole picture is shown
  window.addEventListener("beforeprint", () => {
    screenBox = { ...View.viewBox() };
    View.fit();
  });
  window.addEventListener("afterprint", () => {
    if (screenBox) View.setBox(screenBox);
  });
  window.addEventListener("hashchange", readHash);
  View.show(Graph.start);
  if (location.hash.length > 1) readHash();
  else show();
}
