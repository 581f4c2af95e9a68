// What is drawn when.

/** Chart to what draws it. */
const CHARTS = {
  "speedup-chart": drawSpeedup,
  "heatmap-chart": drawHeatmap,
  "frontier-chart": drawFrontier,
  "roofline-chart": drawRoofline,
  "memory-chart": drawMemory,
  "latency-chart": drawLatency,
};

function redraw(id) {
  CHARTS[id]([...filteredPlaces()]);
}

function drawAll() {
  const places = filteredPlaces();
  byId("filter-count").textContent =
    places.length === total
      ? count(total, "case")
      : `${places.length.toLocaleString("en-US")} of ${count(total, "case")}`;
  for (const id of Object.keys(CHARTS)) redraw(id);
  drawTable(places);
}

document.querySelectorAll(".needs-script").forEach((of) => (of.hidden = false));
buildTheme();
buildFilter();
buildTable();
for (const [select, chart] of [
  ["speedup-order", "speedup-chart"],
  ["heatmap-group", "heatmap-chart"],
  ["heatmap-kind", "heatmap-chart"],
  ["frontier-group", "frontier-chart"],
  ["roofline-place", "roofline-chart"],
  ["memory-order", "memory-chart"],
  ["latency-source", "latency-chart"],
  ["latency-scale", "latency-chart"],
]) {
  byId(select).addEventListener("change", () => redraw(chart));
}
drawAll();
tips();

// Plots are as wide as they have room.
let width = byId("frontier-chart").clientWidth;
new ResizeObserver(() => {
  const now = byId("frontier-chart").clientWidth;
  // Paper has a width of its own, for which nothing can be drawn anew in time: plots shrink to it.
  if (now === width || table.printing) return;
  width = now;
  requestAnimationFrame(() => ["frontier-chart", "roofline-chart"].forEach(redraw));
  drawRows();
}).observe(byId("frontier-chart"));

addEventListener("beforeprint", () => printTable(true));
addEventListener("afterprint", () => printTable(false));
