// A comparison: a table for each verdict, with a line for the interval of each ratio.

const data = JSON.parse(byId("data").textContent);

/** Percent of the width of a chart. */
const percent = (scale, of) => `${(100 * Math.min(1, Math.max(0, scale.at(of)))).toFixed(2)}%`;

/** The scale of all charts: the intervals and the threshold, as far as they lie within a factor of two. */
function commonScale() {
  const rows = data.groups.flatMap((group) => group.rows);
  const limit = 1 + data.threshold;
  const [low, high] = extent([...rows.flatMap((it) => [it.low, it.high, it.ratio]), 1 / limit, limit]);
  return logScale(Math.max(0.5, low * 0.995), Math.min(2, high * 1.005));
}

const colourOf = { regressed: "slower", improved: "faster" };

/** The interval of a ratio beside the threshold. */
function forest(scale, row, verdict) {
  if (row.ratio === null) return null;
  const limit = 1 + data.threshold;
  const [from, to] = [1 / limit, limit].map((it) => scale.at(it) * 100);
  const colour = colourOf[verdict] ?? "open";
  const bounds = [row.low ?? row.ratio, row.high ?? row.ratio].map((it) => percent(scale, it));
  return svg(
    "svg",
    { role: "img", "aria-label": `B over A: ${row.text}` },
    svg("rect", { class: "band", x: `${from}%`, width: `${to - from}%`, y: 0, height: 22 }),
    svg("line", { class: "one", x1: percent(scale, 1), x2: percent(scale, 1), y1: 0, y2: 22 }),
    svg("line", { class: `line ${colour}`, x1: bounds[0], x2: bounds[1], y1: 11, y2: 11 }),
    svg("circle", { class: colour, cx: percent(scale, row.ratio), cy: 11, r: 4 }),
  );
}

/** The names of round ratios above a chart. */
function axis(scale) {
  const ticks = ratioTicks(scale.low, scale.high, 5);
  return svg(
    "svg",
    { "aria-hidden": "true" },
    ticks.map((tick) =>
      svg("text", { class: "axis", x: percent(scale, tick), y: 14, "text-anchor": "middle" }, ratioTick(tick)),
    ),
  );
}

function table(scale, { verdict, rows }) {
  const head = ["case", "measure", "A", "B", "B / A"];
  const charts = rows.some((row) => row.ratio !== null);
  const line = (row) =>
    element(
      "tr",
      {},
      element("td", {}, row.id, row.reason ? element("small", {}, row.reason) : null),
      element("td", {}, row.measure),
      [row.a, row.b, row.text].map((it) => element("td", { class: "number" }, it)),
      charts ? element("td", { class: "forest" }, forest(scale, row, verdict)) : null,
    );
  return element(
    "section",
    {},
    element("h2", {}, `${verdict} (${grouped(rows.length)})`),
    element(
      "table",
      { class: "comparison" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          head.map((it, i) => element("th", { scope: "col", class: i > 1 ? "number" : null }, it)),
          charts ? element("th", { scope: "col", class: "forest" }, axis(scale)) : null,
        ),
      ),
      element("tbody", {}, rows.map(line)),
    ),
  );
}

const scale = commonScale();
byId("comparison").append(...data.groups.map((group) => table(scale, group)));
