// Speed-up against accuracy, of one group at a time: only siblings compete.

function drawFrontier(filtered) {
  const box = byId("frontier-chart");
  const places = chosenSiblings(filtered.filter(isInFrontier));
  if (places.length === 0) {
    box.replaceChildren(nothing("None of these cases has both a speed-up and an accuracy."));
    return;
  }
  // Where not all have room, those on the front have it first.
  const own = fromLeft(
    [...places].sort((a, b) => isOnFront(b) - isOnFront(a)).slice(0, POINTS),
    ratioOf,
  );
  const axes = frontierAxes(own);
  const { plot, px, py } = frame(widthOf(box), axes.x, axes.y, frontierInWords(own));
  const point = (at) => [px(ratioOf(at)), py(axes.height(at))];
  const areSiblings = new Set(own.map(siblings)).size === 1;
  const variants = variantsByFront(own);
  // Siblings are named where they stand; of several shapes each variant has a colour.
  const hue = areSiblings ? () => "hue0" : hues(variants);
  const points = new Map(
    own.map((at) => [at, frontierPoint(at, hue(text("variant", at)), point, px)]),
  );
  // Points on the front are drawn above the others.
  const drawn = [...own].sort((a, b) => isOnFront(a) - isOnFront(b));
  plot.append(
    ...frontierLines(axes, px, py),
    areSiblings ? frontOf(own, point) : "",
    ...drawn.map((at) => points.get(at)),
    ...(areSiblings
      ? labels(own, point, px(axes.x.scale.high), (at) => text("variant", at), isOnFront)
      : []),
  );
  leadThrough([[...points.values()]]);
  box.replaceChildren(
    areSiblings ? "" : legendOfHues(variants),
    plot,
    own.length < places.length
      ? element(
          "p",
          { class: "limit" },
          `${grouped(own.length)} of ${count(places.length, "case")}, those on the front before ` +
            "others; choose a shape or filter to see the rest.",
        )
      : "",
  );
}

/** Whether a case has both a speed-up and an accuracy. */
function isInFrontier(at) {
  return value("front", at) !== null && !isCalibration(at);
}

/** Speed-up over the baseline, which is 1 of that itself. */
const ratioOf = (at) => figure("speedup", at) ?? 1;

const isOnFront = (at) => value("front", at) === 1;

/** The cases of the chosen group and shape. */
function chosenSiblings(all) {
  const [group, shape] = [byId("frontier-group"), byId("frontier-shape")];
  const options = (names) => names.map((name) => [name, name]);
  // Groups of a baseline alone have no comparison; the largest group comes first.
  const groups = [...Map.groupBy(all, (at) => text("group", at))]
    .filter(([, places]) => places.some((at) => figure("speedup", at) !== null))
    .sort(([, a], [, b]) => b.length - a.length);
  choices(group, options(groups.map(([name]) => name)));
  const own = all.filter((at) => text("group", at) === group.value);
  const shapes = [...new Set(own.map((at) => text("parameter", at)))];
  choices(shape, options(shapes), `all ${grouped(shapes.length)}`);
  shape.closest("label").hidden = shapes.length < 2;
  return own.filter((at) => shape.value === "" || text("parameter", at) === shape.value);
}

/** The variants, those first that are most often on the front. */
function variantsByFront(own) {
  const times = new Map(own.map((at) => [text("variant", at), 0]));
  for (const at of own.filter(isOnFront))
    times.set(text("variant", at), times.get(text("variant", at)) + 1);
  return [...times].sort(([, a], [, b]) => b - a).map(([variant]) => variant);
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
      title: "speed-up over the baseline, faster →",
    },
    y: {
      scale: linearScale(bottom, top),
      ticks: (most) => linearTicks(bottom, highest, most),
      name: plain,
      title: "↑ more accurate: SQNR, dB",
    },
    exact,
    height: (at) => Math.max(bottom, Math.min(exact ?? top, figure("sqnr", at))),
  };
}

function frontierInWords(own) {
  const front = own.filter(isOnFront);
  const some = front
    .slice(0, 8)
    .map((at) => `${text("variant", at)} ${ratioOf(at)}× at ${text("sqnr_text", at)} dB`);
  return (
    `Speed-up against accuracy of ${count(own.length, "case")}, ${grouped(front.length)} of them on the ` +
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
  const said = `SQNR ${text("sqnr_text", at)} dB${isOnFront(at) ? ", on the front" : ""}`;
  return svg(
    "g",
    {
      class: `point ${hue} ${isOnFront(at) ? "on" : "off"}`,
      ...marked(`${tipOf(at)}\n${said}`, at),
    },
    low === null ? null : svg("line", { x1: px(low), x2: px(high), y1: y, y2: y }),
    svg("circle", { cx: x, cy: y, r: isOnFront(at) ? 5 : 4 }),
  );
}

/** The front of siblings as steps: beyond them, more of one costs of the other. */
function frontOf(own, point) {
  const steps = own
    .filter(isOnFront)
    .map(point)
    .map(([x, y], i) => (i === 0 ? `M${x},${y}` : `H${x}V${y}`));
  return svg("path", { class: "front", d: steps.join("") || "M0,0" });
}
