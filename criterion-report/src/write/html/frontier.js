// Speed-up against accuracy.

function drawFrontier(filtered) {
  const box = byId("frontier-chart");
  const places = chosenSiblings(filtered.filter((at) => value("front", at) !== null));
  if (places.length === 0) {
    box.replaceChildren(nothing("None of these cases has both a speed-up and an accuracy."));
    return;
  }
  const own = places.slice(0, POINTS);
  const names = [...new Set(own.map(siblings))];
  const axes = frontierAxes(own);
  const { plot, px, py } = frame(widthOf(box), axes.x, axes.y, frontierInWords(own));
  const point = (at) => [px(ratioOf(at)), py(axes.height(at))];
  plot.append(...frontierLines(axes, px, py));
  if (names.length <= 6) plot.append(...names.map((name) => frontOf(own, name, point)));
  // Colours that repeat tell nothing apart.
  const hue = names.length === 1 || names.length > 8 ? () => "hue0" : hues(names);
  plot.append(...own.map((at) => frontierPoint(at, hue(siblings(at)), point, px)));
  if (own.length <= 24) plot.append(...labels(own, point, px(axes.x.scale.high)));
  const several = names.length > 1 && names.length <= 8;
  box.replaceChildren(
    plot,
    several ? legendOf(names.map((name) => [hue(name), name])) : "",
    limitOfPoints(own.length, places.length),
  );
}

/** Speed-up over the baseline, which is 1 of that itself. */
const ratioOf = (at) => figure("speedup", at) ?? 1;

/** Those of the cases that are of the chosen siblings, or all. */
function chosenSiblings(all) {
  const names = [...new Set(all.map(siblings))];
  const select = byId("frontier-group");
  choices(
    select,
    names.map((name) => [name, name]),
    `all ${names.length}`,
  );
  select.closest("label").hidden = names.length < 2;
  return all.filter((at) => select.value === "" || siblings(at) === select.value);
}

/** Both axes, and where on the second a case stands: what is infinite has a place beyond all. */
function frontierAxes(own) {
  const ratios = own.flatMap((at) => [
    ratioOf(at),
    figure("speedup_low", at),
    figure("speedup_high", at),
  ]);
  const [low, high] = extent(ratios);
  const x = logScale(Math.min(0.8, low * 0.95), Math.max(1.25, high * 1.05));
  const decibels = own.map((at) => figure("sqnr", at));
  const [least, greatest] = extent(decibels) ?? [0, 40];
  // Cases that are all about as accurate stand in the middle of at least 6 dB.
  const room = Math.max(0, 6 - (greatest - least)) / 2;
  const [lowest, highest] = [least - room, greatest + room];
  const span = highest - lowest;
  const exact = decibels.includes(Infinity) ? highest + 0.13 * span : null;
  const [bottom, top] = [lowest - 0.06 * span, highest + (exact === null ? 0.08 : 0.2) * span];
  return {
    x: {
      scale: x,
      ticks: (most) => ratioTicks(x.low, x.high, most),
      name: ratioTick,
      title: "speed-up over the baseline",
    },
    y: {
      scale: linearScale(bottom, top),
      ticks: (most) => linearTicks(bottom, highest, most),
      name: plain,
      title: "SQNR, dB",
    },
    exact,
    height: (at) => Math.max(bottom, Math.min(exact ?? top, figure("sqnr", at))),
  };
}

function frontierInWords(own) {
  const front = own.filter((at) => value("front", at) === 1);
  const some = front
    .slice(0, 8)
    .map((at) => `${text("variant", at)} ${ratioOf(at)}× at ${text("sqnr_text", at)} dB`);
  return (
    `Speed-up against accuracy of ${count(own.length, "case")}, ${front.length} of them on the ` +
    `Pareto front of their siblings: ${some.join("; ")}`
  );
}

/** A line at 1, and one for what is equal to its reference. */
function frontierLines({ x, y, exact }, px, py) {
  const [from, to] = [px(x.scale.low), px(x.scale.high)];
  const ends = { y1: py(y.scale.low), y2: py(y.scale.high) };
  const one = svg("line", { class: "one", x1: px(1), x2: px(1), ...ends });
  if (exact === null) return [one];
  const at = py(exact);
  return [
    svg("line", { class: "grid exact", x1: from, x2: to, y1: at, y2: at }),
    svg("text", { x: from - 8, y: at + 4, "text-anchor": "end" }, "∞"),
    one,
  ];
}

function frontierPoint(at, hue, point, px) {
  const [x, y] = point(at);
  const [low, high] = [figure("speedup_low", at), figure("speedup_high", at)];
  const onFront = value("front", at) === 1;
  const said = `SQNR ${text("sqnr_text", at)} dB${onFront ? ", on the front" : ""}`;
  return svg(
    "g",
    { class: `point ${hue} ${onFront ? "on" : "off"}`, "data-tip": `${tipOf(at)}\n${said}` },
    low === null ? null : svg("line", { x1: px(low), x2: px(high), y1: y, y2: y }),
    svg("circle", { cx: x, cy: y, r: 4.5 }),
  );
}

/** The front of these siblings as steps: beyond them, more of one costs of the other. */
function frontOf(own, name, point) {
  const front = own.filter((at) => value("front", at) === 1 && siblings(at) === name);
  const points = front.map(point).sort(([a], [b]) => a - b);
  const steps = points.map(([x, y], i) => (i === 0 ? `M${x},${y}` : `H${x}V${y}`));
  return svg("path", { class: "front", d: steps.join("") || "M0,0" });
}

/** Names of points, where they do not lie on each other. */
function labels(own, point, right) {
  const taken = [];
  const made = [];
  const ordered = [...own].sort((a, b) => (value("front", b) ?? 0) - (value("front", a) ?? 0));
  for (const at of ordered) {
    const name = text("variant", at);
    const [[x, y], width] = [point(at), name.length * 6.4 + 10];
    const end = x + width > right;
    const box = { x: end ? x - width : x + 8, y: y - 16, width, height: 14 };
    const hits = (it) =>
      box.x < it.x + it.width &&
      it.x < box.x + box.width &&
      box.y < it.y + it.height &&
      it.y < box.y + box.height;
    if (taken.some(hits)) continue;
    taken.push(box);
    made.push(
      svg(
        "text",
        { class: "name", x: end ? x - 8 : x + 8, y: y - 6, "text-anchor": end ? "end" : "start" },
        name,
      ),
    );
  }
  return made;
}

function limitOfPoints(lines, all) {
  if (lines >= all) return "";
  return element("p", { class: "limit" }, `${firstOf(lines, all)}; filter to see others.`);
}
