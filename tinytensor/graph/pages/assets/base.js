/* TT, the helpers of every page: its data, elements, numbers, colours, themes, files.

   The scripts of a page come one after the other, each in a block of its own:

       { const { data, element } = TT; … } */
"use strict";

const TT = (() => {
  /* The object that Python put into the page under this name; undefined if there is none. */
  function data(name) {
    const block = document.getElementById(`data-${name}`);
    return block === null ? undefined : JSON.parse(block.textContent);
  }

  /* element("button", {class: "x", onclick: f, "aria-label": "y"}, "text", child, …)
     Text is put in as text, never as HTML. Properties that are null or false are left out. */
  function element(tag, properties = {}, ...children) {
    return filled(document.createElement(tag), properties, children);
  }

  /* The same for SVG. */
  function svg(tag, properties = {}, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    return filled(node, properties, children);
  }

  function filled(node, properties, children) {
    for (const [name, value] of Object.entries(properties)) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") node[name] = value;
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }

  /* A text cut to a number of characters, with … for the rest; never splits an emoji. */
  function cut(text, most) {
    const characters = [...text];
    return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`;
  }

  /* As much of a text as a canvas has room for. */
  function fitted(context, text, width) {
    let letters = [...text].length;
    while (letters > 1 && context.measureText(cut(text, letters)).width > width) letters--;
    return cut(text, letters);
  }

  /* A number in few characters: 0.1235, 12.35, 1.235e-7; "nan" and "inf" stay as they are. */
  function number(value, digits = 4) {
    if (value === null || value === undefined) return "–";
    if (typeof value === "string") return value.replace("-", "−").replace("inf", "∞");
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "∞" : "−∞";
    if (value === 0) return "0";
    const size = Math.abs(value);
    const text =
      size >= 10 ** -digits && size < 10 ** (digits + 2)
        ? trimmed(value.toPrecision(digits))
        : trimmed(value.toExponential(digits - 1));
    return text.replaceAll("-", "−");
  }

  /* 0.2500 → 0.25, 1.200e-7 → 1.2e-7, 1.235e+5 → 123500. */
  function trimmed(text) {
    const [digits, exponent] = text.split("e");
    if (exponent !== undefined && exponent.startsWith("+") && Number(exponent) < 6) {
      return String(Number(text));
    }
    const short = digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
    return exponent === undefined ? short : `${short}e${exponent.replace("+", "")}`;
  }

  /* ---------------------------------------------------------------------------------------
     Light and dark */

  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const printing = window.matchMedia("print");
  const listeners = [];

  function isDark() {
    if (printing.matches) return false;
    return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  }

  /* "light" or "dark": the key of the ramps in the palette. */
  function theme() {
    return isDark() ? "dark" : "light";
  }

  /* Call again what draws on a canvas, whenever the colours have changed. */
  function onTheme(listener) {
    listeners.push(listener);
  }

  function themeChanged() {
    tables.clear();
    button.textContent = isDark() ? "☀ Light" : "☾ Dark";
    for (const listener of listeners) listener();
  }

  function setTheme(name) {
    root.dataset.theme = name;
    remember("tinytensor-theme", name);
    themeChanged();
  }

  /* Storage may be closed to pages from files and in frames: the choice then lasts for a visit. */
  function remember(key, value) {
    try { window.localStorage.setItem(key, value); } catch { /* see above */ }
  }

  function remembered(key) {
    try { return window.localStorage.getItem(key); } catch { return null; }
  }

  /* ---------------------------------------------------------------------------------------
     Colours */

  const palette = data("palette");
  const tables = new Map(); // name of a ramp → its 256 colours, for the theme of now

  /* 256 × [r, g, b] along a ramp, "sequential" or "diverging". */
  function ramp(name) {
    if (!tables.has(name)) {
      const stops = palette[name][theme()].map(channels);
      const table = Array.from({ length: 256 }, (_, i) => {
        const place = (i / 255) * (stops.length - 1);
        const left = Math.min(Math.floor(place), stops.length - 2);
        return stops[left].map((c, j) => Math.round(c + (stops[left + 1][j] - c) * (place - left)));
      });
      tables.set(name, table);
    }
    return tables.get(name);
  }

  function channels(hex) {
    return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  }

  /* The colour at a share of a ramp, 0 … 1, as "rgb(…)"; of one that is no number: grey. */
  function colour(name, share) {
    if (!Number.isFinite(share)) return "rgb(136, 136, 136)";
    const [r, g, b] = ramp(name)[Math.round(Math.min(Math.max(share, 0), 1) * 255)];
    return `rgb(${r}, ${g}, ${b})`;
  }

  /* Colours of curves, one after the other. */
  function curveColour(i) {
    const colours = palette.curves[theme()];
    return colours[i % colours.length];
  }

  const probe = element("span", { hidden: true });

  /* A CSS variable, such as "--ink", as the colour that it is now: for canvas and saved files. */
  function css(variable) {
    probe.style.color = `var(${variable})`;
    return getComputedStyle(probe).color;
  }

  /* ---------------------------------------------------------------------------------------
     Speaking, pointing, saving */

  /* Announce a text to screen readers. */
  function announce(text) {
    document.getElementById("live").textContent = text;
  }

  const tip = element("div", { class: "tip", hidden: true, "aria-hidden": "true" });

  /* Show elements or text beside the pointer; without any, show nothing. */
  function point(event, ...children) {
    tip.hidden = children.length === 0;
    if (tip.hidden) return;
    tip.replaceChildren(...children);
    const { width, height } = tip.getBoundingClientRect();
    const [x, y] = [event.clientX, event.clientY];
    const left = x + 16 + width > innerWidth ? x - width - 12 : x + 16;
    const top = Math.min(y + 16, innerHeight - height - 4);
    tip.style.left = `${Math.max(left, 4)}px`;
    tip.style.top = `${Math.max(top, 4)}px`;
  }

  /* Download a file. content: text or a Blob. */
  function save(name, content, type = "text/plain") {
    const blob = content instanceof Blob ? content : new Blob([content], { type });
    const link = element("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /* A row of buttons of which one is chosen: choices {key: label}; arrow keys go along it.
     Its method `choose(key)` chooses, and calls `chosen(key)`. */
  function tabs(label, choices, chosen, first = Object.keys(choices)[0]) {
    const keys = Object.keys(choices);
    const row = element("div", { class: "tabs", role: "tablist", "aria-label": label });
    const buttons = keys.map((key) => {
      const onclick = () => row.choose(key);
      const properties = { type: "button", role: "tab", "data-tab": key, onclick };
      return element("button", properties, choices[key]);
    });
    row.append(...buttons);
    const mark = (key) => {
      buttons.forEach((button, i) => {
        button.setAttribute("aria-selected", String(keys[i] === key));
        button.tabIndex = keys[i] === key ? 0 : -1;
      });
      row.value = key;
    };
    row.choose = (key) => {
      mark(key);
      chosen(key);
    };
    row.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      const next = (keys.indexOf(row.value) + step + keys.length) % keys.length;
      row.choose(keys[next]);
      buttons[next].focus();
      event.preventDefault();
      event.stopPropagation();
    };
    mark(first);
    return row;
  }

  const button = document.getElementById("theme");
  button.onclick = () => setTheme(isDark() ? "light" : "dark");
  const chosenBefore = remembered("tinytensor-theme");
  if (chosenBefore === "light" || chosenBefore === "dark") root.dataset.theme = chosenBefore;
  document.body.append(tip, probe);
  system.addEventListener("change", themeChanged);
  printing.addEventListener("change", themeChanged);
  themeChanged();

  return Object.freeze({
    data, element, svg, number, isDark, theme, onTheme, setTheme, ramp, colour, curveColour, css,
    announce, point, save, tabs, remember, remembered, cut, fitted,
  });
})();
