/* How things look in a picture: nodes, frames, boxes of rooms, ports, edges, as SVG elements. */
"use strict";

const Draw = (() => {
  const { svg } = TT;
  const THUMB = 26;
  const LETTER = 6.6; // about the width of one

  const cut = (text, width) => TT.cut(text, Math.max(Math.floor(width / LETTER), 3));

  function markers() {
    const arrow = (id, variable) =>
      svg(
        "marker",
        {
          id,
          viewBox: "0 0 10 10",
          refX: 9,
          refY: 5,
          markerWidth: 7,
          markerHeight: 7,
          orient: "auto-start-reverse",
          markerUnits: "userSpaceOnUse",
        },
        svg("path", { d: "M0 0L10 5L0 10z", style: `fill: var(${variable})` }),
      );
    return svg("defs", {}, arrow("arrow", "--op-line"), arrow("arrow-g", "--gradient"));
  }

  function drawFrame([x, y, width, height], inner) {
    const title = cut(
      inner.className ? `${inner.label}: ${inner.className}` : inner.label,
      width - 12,
    );
    return svg(
      "g",
      { class: "frame" },
      svg("rect", { x, y, width, height, rx: 8 }),
      svg("text", { x: x + 8, y: y + 14 }, title),
    );
  }

  function drawEdge(points) {
    const [x, y, ...rest] = points;
    let d = `M${x} ${y}`;
    let i = 0;
    for (; i + 5 < rest.length; i += 6) d += `C${rest.slice(i, i + 6).join(" ")}`;
    if (i + 1 < rest.length) d += `L${rest[i]} ${rest[i + 1]}`; // to the arrow's tip
    return svg("path", { d, class: "edge" });
  }

  /* outside(entry): the node that a port leads to, and how to call it from here. */
  function entryGroup(entry, [cx, cy, width, height], outside) {
    const group = svg("g", {
      transform: `translate(${cx - width / 2} ${cy - height / 2})`,
      tabindex: 0,
      role: "button",
      "data-entry": `${entry.kind}:${entry.key}`,
    });
    group.size = [width, height];
    if (entry.kind === "room") drawRoom(group, Graph.rooms[entry.key], width, height);
    else if (entry.kind === "node") drawNode(group, Graph.nodes[entry.key], width, height);
    else drawPort(group, entry.kind, outside(entry), width, height);
    return group;
  }

  function drawNode(group, node, width, height) {
    group.setAttribute("class", `entry node ${node.kind}${node.failed ? " failed" : ""}`);
    group.setAttribute("aria-label", `${node.kind} ${node.name}, ${Graph.shapeText(node.shape)}`);
    group.append(svg("path", { class: "shape", d: outline(node.kind, width, height) }));
    const small = node.kind === "constant";
    const side = small ? 16 : THUMB;
    const image = (x, kind) =>
      svg("image", {
        class: `thumb ${kind}`,
        x,
        y: (height - side) / 2,
        width: side,
        height: side,
        preserveAspectRatio: "none",
      });
    const left = image(small ? 6 : 7, "value");
    const picture = Matrix.thumbnail(Graph.value(node.value));
    if (picture !== null) left.setAttribute("href", picture);
    group.append(left);
    const middle = width / 2 + (small ? 11 : 0);
    const name = Graph.shortName(node);
    if (small) {
      group.append(svg("text", { class: "name", x: middle, y: height / 2 + 4 }, name));
    } else {
      group.append(
        image(width - side - 7, "gradient"),
        svg("text", { class: "name", x: middle, y: height / 2 - 3 }, name),
        svg(
          "text",
          { class: "detail", x: middle, y: height / 2 + 13 },
          Graph.shapeText(node.shape),
        ),
        svg("g", { class: "badge" }),
      );
    }
    group.append(svg("title", {}, tooltip(node)));
  }

  /* Kinds differ in outline: ops are boxes, parameters have a cut corner, leaves and constants are
     round. */
  function outline(kind, w, h) {
    if (kind === "parameter") return `M10 0H${w}V${h}H0V10z`;
    const r = kind === "op" ? 6 : h / 2;
    return (
      `M${r} 0H${w - r}A${r} ${r} 0 0 1 ${w} ${r}V${h - r}A${r} ${r} 0 0 1 ${w - r} ${h}` +
      `H${r}A${r} ${r} 0 0 1 0 ${h - r}V${r}A${r} ${r} 0 0 1 ${r} 0z`
    );
  }

  function tooltip(node) {
    const lines = [
      `${node.op || node.kind} ${node.name} (${Graph.shapeText(node.shape)}, ${node.dtype})`,
    ];
    if (node.module) lines.push(node.module);
    if (node.args) lines.push(node.args);
    if (node.source)
      lines.push(`${node.source[0].split("/").pop()}:${node.source[1]}  ${node.source[2]}`);
    return lines.join("\n");
  }

  function drawRoom(group, inner, width, height) {
    group.setAttribute("class", "entry room");
    const ops = `${inner.ops} op${inner.ops === 1 ? "" : "s"}`;
    const detail =
      inner.className && inner.className !== inner.label ? `${inner.className} · ${ops}` : ops;
    group.setAttribute(
      "aria-label",
      `module ${inner.path || inner.label}, ${detail}; Enter opens it`,
    );
    group.append(
      svg("rect", { class: "shadow", x: 4, y: 4, width, height, rx: 8 }),
      svg("rect", { class: "shape", width, height, rx: 8 }),
      svg("rect", {
        class: "progress",
        x: 10,
        y: height - 9,
        width: width - 20,
        height: 3,
        rx: 1.5,
      }),
      svg("rect", { class: "progress done", x: 10, y: height - 9, width: 0, height: 3, rx: 1.5 }),
      svg("text", { class: "name", x: width / 2, y: 22 }, cut(inner.label, width - 20)),
      svg("text", { class: "detail", x: width / 2, y: 39 }, cut(detail, width - 12)),
      svg("title", {}, `${inner.path}\n${detail}\nClick to open`),
    );
  }

  function drawPort(group, kind, { node, name }, width, height) {
    const label = `${kind === "in" ? "from" : "to"} ${name}`;
    group.setAttribute("class", `entry port ${kind}`);
    group.setAttribute("aria-label", `${label}, outside this module`);
    group.append(
      svg("rect", { class: "shape", width, height, rx: height / 2 }),
      svg("text", { class: "detail", x: width / 2, y: height / 2 + 4 }, cut(label, width - 14)),
      svg("title", {}, `${label}\n${node.module || "outside of all modules"}`),
    );
  }

  /* How many contributions (or inputs) of all have come: a mark at the corner of a node. */
  function badge(text, width) {
    return [
      svg("rect", { x: width - 22, y: -9, width: 30, height: 18, rx: 9 }),
      svg("text", { x: width - 7, y: 4 }, text),
    ];
  }

  return Object.freeze({ markers, frame: drawFrame, edge: drawEdge, entry: entryGroup, badge });
})();
