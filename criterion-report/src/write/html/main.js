// Draws the parts of the page.

/** Chart to what draws it. */
const CHARTS = {
  "speedup-chart": drawSpeedup,
  "heatmap-chart": drawHeatmap,
  "frontier-chart": drawFrontier,
  "roofline-chart": drawRoofline,
  "memory-chart": drawMemory,
  "latency-chart": drawLatency,
};

/** Charts that show other cases than those that pass the filter now. */
const stale = new Set();

function redraw(id) {
  const box = byId(id);
  // A mark that had the focus has it again, whatever the chart is drawn anew for.
  const focused = box.contains(document.activeElement) ? document.activeElement.dataset.case : null;
  stale.delete(id);
  box.removeAttribute("aria-busy");
  CHARTS[id]([...filteredPlaces()]);
  box.querySelector(`[data-tip][data-case="${focused}"]`)?.focus({ preventScroll: true });
}

function drawAll() {
  const places = filteredPlaces();
  byId("filter").classList.toggle("leaves-out", places.length < total);
  byId("filter-count").textContent =
    places.length === total
      ? count(total, "case")
      : `${grouped(places.length)} of ${count(total, "case")}`;
  drawTable(places);
  for (const id of Object.keys(CHARTS)) {
    if (stale.size === 0) requestAnimationFrame(drawOneStale);
    stale.add(id);
    byId(id).setAttribute("aria-busy", true);
  }
}

/** One chart in each frame, those in view first: between them the next key is heard. */
function drawOneStale() {
  const inView = (id) => {
    const { top, bottom } = byId(id).getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  const next = [...stale].find(inView) ?? [...stale][0];
  if (next !== undefined) redraw(next);
  if (stale.size > 0) requestAnimationFrame(drawOneStale);
}

const drawAllStale = () => [...stale].forEach(redraw);

document.querySelectorAll(".needs-script").forEach((of) => (of.hidden = false));
buildTheme();
buildFilter();
buildTable();
for (const [select, chart] of [
  ["speedup-order", "speedup-chart"],
  ["heatmap-group", "heatmap-chart"],
  ["heatmap-kind", "heatmap-chart"],
  ["frontier-group", "frontier-chart"],
  ["frontier-shape", "frontier-chart"],
  ["roofline-place", "roofline-chart"],
  ["memory-order", "memory-chart"],
  ["latency-source", "latency-chart"],
  ["latency-scale", "latency-chart"],
]) {
  byId(select).addEventListener("change", () => redraw(chart));
}
drawAll();
drawAllStale();
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

addEventListener("beforeprint", () => {
  drawAllStale();
  printTable(true);
});
addEventListener("afterprint", () => printTable(false));
