// Cases under the measured roofs of their machine.

function drawRoofline(filtered) {
  const box = byId("roofline-chart");
  const place = chosenPlace(filtered);
  if (place === null) {
    const none = nothing("None of these cases has a place in a roofline.");
    box.replaceChildren(none, without(filtered));
    return;
  }
  const { roofs, notes, label } = data.places[place];
  const places = filtered.filter((at) => value("place", at) === place);
  const own = fromLeft(places.slice(0, POINTS), (at) => figure("flop_per_byte", at));
  const dtypes = [...own.map((at) => text("dtype", at)), ...roofs.map((roof) => roof.dtype)];
  const hue = hues(dtypes);
  const under = own.filter((at) => value("under_roof", at) === 1).length;
  const texts = roofs.map((roof) => roof.text);
  const words =
    `Roofline of ${label}: ${count(own.length, "case")}, ${under} of them under a measured ` +
    `roof. ${texts.join(". ")}`;
  const { x, y } = rooflineAxes(own, roofs);
  const { plot, px, py } = frame(widthOf(box), x, y, words);
  const lines = roofs.map((roof) => roofOf(roof, hue(roof.dtype), x.scale, y.scale, px, py));
  const points = own.map((at) => rooflinePoint(at, hue(text("dtype", at)), px, py));
  plot.append(...lines.flat(), ...points);
  leadThrough([[...lines.map(([path]) => path), ...points]]);
  box.replaceChildren(
    legendOfHues(dtypes),
    plot,
    underNone(own.length - under),
    element(
      "ul",
      { class: "remarks" },
      (roofs.length > 0 ? [...texts, ...notes] : []).map((note) => element("li", {}, note)),
    ),
    without(filtered),
    limitOfPoints(own.length, places.length),
  );
}

/** The place that is chosen among those of the cases: at first one with roofs, that of most of them. */
function chosenPlace(filtered) {
  const numbers = new Map();
  for (const at of filtered) {
    const place = value("place", at);
    if (place !== null) numbers.set(place, (numbers.get(place) ?? 0) + 1);
  }
  const select = byId("roofline-place");
  const name = ([place, n]) => [String(place), `${data.places[place].label} (${count(n, "case")})`];
  const hasRoofs = ([place]) => data.places[place].roofs.length > 0;
  const order = (a, b) => hasRoofs(b) - hasRoofs(a) || b[1] - a[1];
  choices(select, [...numbers].sort(order).map(name));
  return numbers.size === 0 ? null : Number(select.value);
}

function rooflineAxes(own, roofs) {
  const ridges = roofs.map((roof) => roof.ridge);
  const peaks = roofs.map((roof) => roof.peak);
  const [left, right] = extent([...own.map((at) => figure("flop_per_byte", at)), ...ridges]);
  const [low, high] = extent([...own.map((at) => figure("gflop_per_s", at)), ...peaks]);
  const axis = (scale, title) => ({
    scale,
    ticks: (most) => logTicks(scale.low, scale.high, most),
    name: plain,
    title,
  });
  return {
    x: axis(logScale(left / 2.5, right * 2.5), "arithmetic intensity, FLOP per byte"),
    y: axis(logScale(low / 2, high * 2), "GFLOP/s"),
  };
}

/** The slope of the bandwidth up to the ridge, and the peak from there on. */
function roofOf(roof, hue, x, y, px, py) {
  const sloped = roof.bandwidth !== null;
  const from = sloped ? Math.max(x.low, y.low / roof.bandwidth) : x.low;
  const start = sloped ? Math.min(roof.peak, from * roof.bandwidth) : roof.peak;
  const corner = sloped ? Math.max(from, roof.ridge) : from;
  const [right, top] = [px(x.high), py(roof.peak)];
  const path = `M${px(from)},${py(start)}L${px(corner)},${top}H${right}`;
  const name = `${roof.dtype} ${plain(roof.peak)} GFLOP/s`;
  const above = { x: right, y: top - 6, "text-anchor": "end" };
  return [
    svg("path", { class: `roof ${hue}`, d: path, ...marked(roof.text) }),
    svg("text", { class: "name", "aria-hidden": "true", ...above }, name),
  ];
}

/** The place of a case in a roofline, or why it has none. */
const placeInWords = (at) =>
  value("roofline_text", at) === null
    ? text("no_placement", at)
    : `${value("roofline_text", at)}, ${text("under_text", at)}`;

function rooflinePoint(at, hue, px, py) {
  const filled = value("under_roof", at) === 1 ? "on" : "off";
  const tip = `${tipOf(at)}\n${placeInWords(at)}`;
  const [cx, cy] = [px(figure("flop_per_byte", at)), py(figure("gflop_per_s", at))];
  return svg(
    "g",
    { class: `point ${hue} ${filled}`, ...marked(tip, at) },
    svg("circle", { cx, cy, r: 3.5 }),
  );
}

/** That so many cases are under no roof, and what measures one. */
function underNone(cases) {
  if (cases === 0) return "";
  const their = cases === 1 ? "its" : "their";
  return element(
    "p",
    { class: "remark" },
    `${count(cases, "case")} (hollow) under no roof: none was measured of ${their} dtype on as ` +
      "many threads under this baseline. ",
    element("code", {}, "cargo bench --bench calibration"),
    " measures them.",
  );
}

/** Which of the cases are in no roofline, and why. */
function without(filtered) {
  const reasons = new Map();
  for (const at of filtered) {
    const why = text("no_placement", at);
    if (why !== null) reasons.set(why, (reasons.get(why) ?? 0) + 1);
  }
  if (reasons.size === 0) return "";
  const said = [...reasons].map(([why, n]) => `${count(n, "case")}: ${why}`).join("; ");
  return element("p", { class: "remark" }, `In no roofline: ${said}.`);
}
