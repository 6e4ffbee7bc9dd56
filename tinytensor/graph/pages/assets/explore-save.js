/* The picture on the screen as an SVG or PNG file: its styles are written into it. */
"use strict";

const Save = (() => {
  const { svg } = TT;
  const PROPERTIES = [
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "font-family",
    "font-size",
    "font-weight",
    "text-anchor",
    "opacity",
    "visibility",
    "marker-end",
    "marker-start",
  ];

  /* A copy of the canvas that looks the same without the page's styles. whole: all of the picture,
     not only the part in sight. */
  function copy(whole) {
    const { canvas } = View;
    const made = canvas.cloneNode(true);
    const theirs = made.querySelectorAll("*");
    canvas.querySelectorAll("*").forEach((element, i) => {
      const style = getComputedStyle(element);
      const text = PROPERTIES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
      theirs[i].setAttribute("style", text.replaceAll('"', "'"));
      theirs[i].removeAttribute("tabindex");
    });
    const { width, height } = canvas.getBoundingClientRect();
    const box = whole ? wholeBox() : visibleBox(width, height);
    made.setAttribute("viewBox", [box.x, box.y, box.w, box.h].join(" "));
    made.setAttribute("width", Math.round(box.w));
    made.setAttribute("height", Math.round(box.h));
    made.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    made.prepend(
      svg("rect", {
        ...{ x: box.x, y: box.y, width: box.w, height: box.h },
        fill: TT.css("--page"),
      }),
    );
    return { made, box };
  }

  function wholeBox() {
    const [w, h] = View.picture().layout.size;
    return { x: -24, y: -24, w: w + 48, h: h + 48 };
  }

  /* The viewBox, widened to the shape of the window that it is shown in. */
  function visibleBox(width, height) {
    const { x, y, w, h } = View.viewBox();
    const scale = Math.min(width / w, height / h) || 1;
    const [seenW, seenH] = [width / scale, height / scale];
    return { x: x + (w - seenW) / 2, y: y + (h - seenH) / 2, w: seenW, h: seenH };
  }

  const name = (suffix) => {
    const room = Graph.rooms[View.room()];
    return `${(room.path || "graph").replace(/[^\w.-]+/g, "_")}.${suffix}`;
  };

  const text = (whole) => new XMLSerializer().serializeToString(copy(whole).made);

  function saveSvg() {
    TT.save(name("svg"), text(false), "image/svg+xml");
  }

  function savePng() {
    const { made, box } = copy(false);
    const picture = new Image();
    const scale = Math.min(2, 8000 / Math.max(box.w, box.h));
    picture.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = Math.round(box.w * scale);
      canvas.height = Math.round(box.h * scale);
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => TT.save(name("png"), blob));
    };
    const source = new XMLSerializer().serializeToString(made);
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  }

  return Object.freeze({ saveSvg, savePng, text });
})();
