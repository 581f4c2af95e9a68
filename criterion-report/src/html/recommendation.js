// A recommendation: speed against memory and against accuracy, the time of each group, and the tables.

const data = JSON.parse(byId("data").textContent);

/** Speed-ups of points that have an x, and of a line of places from left to right. */
function drawPlot(id, axis, xOf, line) {
  const box = byId(id);
  const own = fromLeft(
    data.points.filter((it) => xOf(it) !== null),
    xOf,
  );
  if (own.length === 0) return box.replaceChildren(nothing("No accuracy was measured."));
  const [low, high] = extent([1, ...own.flatMap((it) => [it.low, it.high]), ...line.map(([, y]) => y)]);
  const y = logScale(low * 0.95, high * 1.08);
  const up = {
    scale: y,
    ticks: (most) => ratioTicks(y.low, y.high, most),
    name: ratioTick,
    title: "↑ faster: speed-up over the unquantized layers",
  };
  const described = own.map((it) => it.said.replaceAll("\n", " ")).join("; ");
  const { plot, px, py } = frame(widthOf(box), axis, up, described);
  const place = (it) => [px(xOf(it)), py(it.speedup)];
  const points = own.map((it) => {
    const [cx, cy] = place(it);
    return svg(
      "g",
      { class: `point ${it.is_chosen ? "hue1 on" : "hue0"}`, ...marked(it.said) },
      svg("line", { x1: cx, x2: cx, y1: py(it.low), y2: py(it.high) }),
      svg("circle", { cx, cy, r: it.is_chosen ? 6 : 4 }),
    );
  });
  const steps = line.map(([x, y], i) => (i === 0 ? `M${px(x)},${py(y)}` : `H${px(x)}V${py(y)}`));
  const ends = { x1: px(axis.scale.low), x2: px(axis.scale.high) };
  plot.append(
    svg("line", { class: "one", ...ends, y1: py(1), y2: py(1) }),
    line.length > 0 ? svg("path", { class: "front", d: steps.join("") }) : "",
    ...points,
    ...labels(own, place, ends.x2, (it) => it.name, (it) => it.is_chosen),
  );
  leadThrough([points]);
  box.replaceChildren(plot);
}

function drawPlots() {
  const line = data.front.map((it) => [it.weight_bytes, it.speedup_factor]);
  const [, most] = extent([...data.points.map((it) => it.bytes), ...line.map(([x]) => x)]);
  const bytes = linearScale(0, most * 1.05);
  const ticks = (n) => byteTicks(bytes.high, n);
  const weights = { scale: bytes, ticks, name: byteTick, title: "weights, larger →" };
  drawPlot("memory-chart", weights, (it) => it.bytes, line);
  const [least, greatest] = extent(data.points.map((it) => it.sqnr_db)) ?? [0, 0];
  const db = linearScale(least - 5, greatest + 5);
  const title = "lowest SQNR of a layer in dB, more accurate →";
  const accuracy = { scale: db, ticks: (n) => linearTicks(db.low, db.high, n), name: plain, title };
  drawPlot("accuracy-chart", accuracy, (it) => it.sqnr_db, []);
}

function drawGroups() {
  const scale = linearScale(0, Math.max(...data.groups.flatMap((it) => [it.before, it.after])));
  const lines = data.groups.map((it) =>
    element(
      "div",
      { class: "line", ...marked(it.said) },
      element("span", { class: "label" }, it.name, element("small", {}, ` ${it.recipe}`)),
      svg(
        "svg",
        { class: "strip", "aria-hidden": "true" },
        bar(scale, 0, it.before, { class: "part outputs", y: 3, height: 8 }),
        bar(scale, 0, it.after, { class: "part weights", y: 12, height: 8 }),
      ),
      element("span", { class: "figure" }, it.speedup),
    ),
  );
  leadThrough([lines]);
  byId("groups-chart").replaceChildren(
    legendOf([
      ["outputs", "unquantized"],
      ["weights", "as recommended"],
    ]),
    element("div", { class: "lines", role: "listbox", "aria-label": "time of each group" }, lines),
  );
}

function drawTable(id, { columns, rows }) {
  const cells = (tag, texts) =>
    columns.map(([, isRight], i) =>
      element(tag, { class: isRight ? "number" : null }, texts[i] ?? null),
    );
  byId(id).replaceChildren(
    element(
      "table",
      { class: "comparison" },
      element("thead", {}, element("tr", {}, cells("th", columns.map(([name]) => name)))),
      element("tbody", {}, rows.map((row) => element("tr", {}, cells("td", row)))),
    ),
  );
}

drawPlots();
drawGroups();
drawTable("layers", data.tables[0]);
drawTable("totals", data.tables[1]);
tips();
addEventListener("resize", () => requestAnimationFrame(drawPlots));
