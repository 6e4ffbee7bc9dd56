/* The search box: modules by path and class, nodes by name and op. */
"use strict";

const Search = (() => {
  const { element } = TT;
  const ROOMS = 8; // as many modules are listed
  const ALL = 24; // and as many things in all
  const actions = { go: () => {}, enter: () => {} }; // to a node, into a room
  const box = document.getElementById("search");
  const list = document.getElementById("found");

  /* [{label, detail, act}] for what the text is found in. */
  function find(text) {
    const holds = (...words) => words.join(" ").toLowerCase().includes(text);
    const rooms = Graph.rooms
      .filter((room) => room.index > 0 && holds(room.path, room.className))
      .slice(0, ROOMS)
      .map((room) => ({
        label: room.path,
        detail: room.className || room.label,
        act: () => actions.enter(room.index),
      }));
    const nodes = Graph.nodes
      .filter((node) => holds(node.name, node.op))
      .slice(0, ALL - rooms.length)
      .map((node) => ({
        label: node.name,
        detail: node.kind === "op" ? node.module : node.kind,
        act: () => actions.go(node.id),
      }));
    return [...rooms, ...nodes];
  }

  function show() {
    const text = box.value.trim().toLowerCase();
    const items = (text ? find(text) : []).map(({ label, detail, act }) => {
      const onclick = () => {
        close();
        act();
      };
      return element(
        "li",
        {},
        element("button", { type: "button", onclick }, label, element("small", {}, detail)),
      );
    });
    if (text && !items.length) items.push(element("li", { class: "quiet" }, "nothing found"));
    list.replaceChildren(...items);
    setOpen(items.length > 0);
  }

  function setOpen(on) {
    list.hidden = !on;
    box.setAttribute("aria-expanded", String(on));
  }

  function close() {
    setOpen(false);
    box.blur();
  }

  box.addEventListener("input", show);
  box.addEventListener("focus", show);
  box.parentElement.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    event.stopPropagation();
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && at < 0 && buttons.length) buttons[0].click();
    else if (event.key === "ArrowDown" && buttons.length) {
      buttons[Math.min(at + 1, buttons.length - 1)].focus();
    } else if (event.key === "ArrowUp") (at > 0 ? buttons[at - 1] : box).focus();
    else return;
    event.preventDefault();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!box.parentElement.contains(event.target)) setOpen(false);
  });

  return Object.freeze({ actions, open: () => box.focus() });
})();
