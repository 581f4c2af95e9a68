// A recommendation: speed against memory and against accuracy, the time of each group, and the tables.

const data = JSON.parse(byId("data").textContent);
const [layers, totals, blocks] = data.tables;
/** The figures of each total as its table has them. */
const said = totals.rows.filter(([name]) => name).map((row) => row.filter(Boolean).join("\n"));

const axisOf = (scale, ticks, name, title) =>
  ({ scale, ticks: (n) => ticks(scale.low, scale.high, n), name, title });

/** Speed-ups of the totals that have an x, and of a line of places from left to right. */
function drawPlot(id, axis, xOf, line) {
  const box = byId(id);
  const own = fromLeft(data.totals.filter((it) => xOf(it) !== null), xOf);
  if (own.length === 0) return box.replaceChildren(nothing("No accuracy was measured."));
  const bounds = own.flatMap((it) => [it.speedup_low, it.speedup_high]);
  const [low, high] = extent([1, ...bounds, ...line.map((it) => it.speedup_factor)]);
  const y = logScale(low * 0.95, high * 1.08);
  const up = axisOf(y, ratioTicks, ratioTick, "↑ faster: speed-up over the unquantized layers");
  const textOf = (it) => said[data.totals.indexOf(it)];
  const { plot, px, py } = frame(widthOf(box), axis, up, own.map(textOf).join("; "));
  const place = (it) => [px(xOf(it)), py(it.speedup_factor)];
  const isChosen = (it) => it.name === "recommended";
  const points = own.map((it) => {
    const [cx, cy] = place(it);
    return svg(
      "g",
      { class: `point ${isChosen(it) ? "hue1 on" : "hue0"}`, ...marked(textOf(it)) },
      svg("line", { x1: cx, x2: cx, y1: py(it.speedup_low), y2: py(it.speedup_high) }),
      svg("circle", { cx, cy, r: isChosen(it) ? 6 : 4 }),
    );
  });
  const steps = line.map(place).map(([x, y], i) => (i === 0 ? `M${x},${y}` : `H${x}V${y}`));
  const [x1, x2] = [px(axis.scale.low), px(axis.scale.high)];
  plot.append(
    svg("line", { class: "one", x1, x2, y1: py(1), y2: py(1) }),
    svg("path", { class: "front", d: steps.join("") || "M0,0" }),
    ...points,
    ...labels(own, place, x2, (it) => it.name, isChosen),
  );
  leadThrough([points]);
  box.replaceChildren(plot);
}

function drawPlots() {
  const weights = (it) => it.weight_bytes;
  const bytes = linearScale(0, extent([...data.totals, ...data.front].map(weights))[1] * 1.05);
  const ticks = (_, high, n) => byteTicks(high, n);
  const memory = axisOf(bytes, ticks, byteTick, "weights, larger →");
  drawPlot("memory-chart", memory, weights, data.front);
  const [least, greatest] = extent(data.totals.map((it) => it.sqnr_db)) ?? [0, 0];
  const decibels = linearScale(least - 5, greatest + 5);
  const accuracy = axisOf(decibels, linearTicks, plain, "lowest SQNR of a layer in dB, better →");
  drawPlot("accuracy-chart", accuracy, (it) => it.sqnr_db, []);
}

function drawGroups() {
  const scale = linearScale(0, extent(data.groups.flatMap(([, , , times]) => times))[1]);
  const strip = (at, class_, y) => bar(scale, 0, at, { class: `part ${class_}`, y, height: 8 });
  const lines = data.groups.map(([name, recipe, speedup, [before, after]]) =>
    element(
      "div",
      { class: "line", ...marked(`${name}\n${recipe} ${speedup}`) },
      element("span", { class: "label" }, name, element("small", {}, ` ${recipe}`)),
      svg("svg", { class: "strip" }, strip(before, "outputs", 3), strip(after, "weights", 12)),
      element("span", { class: "figure" }, speedup),
    ),
  );
  leadThrough([lines]);
  byId("groups-chart").replaceChildren(
    legendOf([["outputs", "unquantized"], ["weights", "as recommended"]]),
    element("div", { class: "lines", role: "listbox", "aria-label": "time of each group" }, lines),
  );
}

function drawTable(id, { columns, rows }) {
  const cell = (name, text, isRight) => element(name, { class: isRight && "number" }, text);
  const head = columns.map(([name, isRight]) => cell("th", name, isRight));
  const line = (row) => columns.map(([, isRight], i) => cell("td", row[i] ?? "", isRight));
  const body = rows.map((row) => element("tr", {}, line(row)));
  const parts = [element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)];
  byId(id).replaceChildren(element("table", { class: "comparison" }, parts));
}

drawPlots();
drawGroups();
drawTable("layers", layers);
drawTable("totals", totals);
if (blocks.rows.length > 0) {
  drawTable("blocks", blocks);
  byId("one-block").hidden = false;
}
tips();
addEventListener("resize", () => requestAnimationFrame(drawPlots));
