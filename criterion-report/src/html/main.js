// Draws the parts of the page.

/** Chart to what draws it and the cases that it is about: without any, its section is left out. */
const CHARTS = {
  "recipes-chart": [(places) => drawSpeedup("recipes", places), (at) => isOf("recipes", at)],
  "fusion-chart": [(places) => drawSpeedup("fusion", places), (at) => isOf("fusion", at)],
  "kernels-chart": [(places) => drawSpeedup("kernels", places), (at) => isOf("kernels", at)],
  "roofline-chart": [drawRoofline, (at) => value("place", at) !== null],
  "heatmap-chart": [drawHeatmap, () => data.maps.length > 0],
  "frontier-chart": [drawFrontier, isInFrontier],
  "memory-chart": [drawMemory, takes("peak")],
  "energy-chart": [drawEnergy, takes("energy")],
  "utilization-chart": [drawUtilization, takes("sm")],
  "latency-chart": [
    drawLatency,
    (at) => value("calls", at) !== null || value("samples", at) !== null,
  ],
};

/** Leaves out the sections that have nothing to show, whatever is filtered. */
function dropEmpty() {
  const all = [...Array(total).keys()];
  for (const [id, [, isAbout]] of Object.entries(CHARTS)) {
    if (all.some(isAbout)) continue;
    const section = byId(id).closest("section");
    document.querySelector(`.contents a[href="#${section.id}"]`).remove();
    section.remove();
    delete CHARTS[id];
  }
}

/** Charts that show other cases than those that pass the filter now. */
const stale = new Set();

function redraw(id) {
  const box = byId(id);
  // A mark that had the focus has it again, whatever the chart is drawn anew for.
  const focused = box.contains(document.activeElement) ? document.activeElement.dataset.case : null;
  stale.delete(id);
  box.removeAttribute("aria-busy");
  CHARTS[id][0]([...filteredPlaces()]);
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
dropEmpty();
for (const id of Object.keys(CHARTS)) {
  for (const select of byId(id).closest("section").querySelectorAll("select"))
    select.addEventListener("change", () => redraw(id));
}
drawAll();
drawAllStale();
tips();

// Plots are as wide as they have room.
const PLOTS = ["roofline-chart", "frontier-chart"];
let width = byId("table").clientWidth;
new ResizeObserver(() => {
  const now = byId("table").clientWidth;
  // Paper has a width of its own, for which nothing can be drawn anew in time: plots shrink to it.
  if (now === width || table.printing) return;
  width = now;
  requestAnimationFrame(() => PLOTS.filter((id) => id in CHARTS).forEach(redraw));
  drawRows();
}).observe(byId("table"));

// Paper has nothing to unfold.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const of of folded) of.open = true;
  drawAllStale();
  printTable(true);
});
addEventListener("afterprint", () => {
  for (const of of folded) of.open = false;
  printTable(false);
});
