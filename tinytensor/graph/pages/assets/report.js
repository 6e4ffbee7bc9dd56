/* The report: a summary, notes, charts and heat maps, one below the other. */
"use strict";

{
  const { element } = TT;
  const report = TT.data("report");
  const root = document.getElementById("report");
  const settings = { smoothing: 0.8, logarithmic: false };

  const summary = element("dl", { class: "summary panel" }, report.summary.map(([name, text]) =>
    element("div", {}, element("dt", { class: "quiet" }, name), element("dd", {}, text))));
  const notes = report.notes.map((note) => element("p", { class: "note" }, note));
  const charts = report.charts.map((chart) => Chart.chart(chart.title, chart.curves));
  const heats = report.heats.map((heat) => Heat.heatMap(heat));

  function draw() {
    charts.forEach((chart) => chart.draw(settings));
    heats.forEach((heat) => heat.draw());
  }

  const smoothing = element("input", {
    type: "range", id: "smoothing", min: "0", max: "0.98", step: "0.02",
    value: String(settings.smoothing),
    oninput: () => { settings.smoothing = Number(smoothing.value); draw(); },
  });
  const logarithmic = element("button", {
    type: "button", id: "log", "aria-pressed": "false",
    onclick: () => {
      settings.logarithmic = !settings.logarithmic;
      logarithmic.setAttribute("aria-pressed", String(settings.logarithmic));
      draw();
    },
  }, "Logarithmic");
  const label = element("label", {}, "Smoothing ", smoothing);
  document.getElementById("tools").append(label, logarithmic);

  root.append(summary, ...notes, element("div", { class: "charts" }, charts), ...heats);
  draw();
  TT.onTheme(draw);
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(draw, 80);
  });
}
