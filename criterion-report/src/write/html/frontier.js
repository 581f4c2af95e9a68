// Speed-up against accuracy.

function drawFrontier(filtered) {
  const box = byId("frontier-chart");
  const all = filtered.filter((at) => value("front", at) !== null);
  const names = [...new Set(all.map(siblings))];
  choices(byId("frontier-group"), names.map((name) => [name, name]), `all ${names.length}`);
  byId("frontier-group").closest("label").hidden = names.length < 2;
  const chosen = byId("frontier-group").value;
  const places = all.filter((at) => chosen === "" || siblings(at) === chosen);
  if (places.length === 0) {
    box.replaceChildren(nothing("None of these cases has both a speed-up and an accuracy."));
    return;
  }
  const own = places.slice(0, POINTS);
  const ratio = (at) => figure("speedup", at) ?? 1;
  const [low, high] = extent(own.flatMap((at) => [ratio(at), figure("speedup_low", at), figure("speedup_high", at)]));
  const decibels = own.map((at) => figure("sqnr", at));
  const [least, greatest] = extent(decibels) ?? [0, 40];
  // What is equal to its reference has no place on the scale: it stands above all others.
  const exact = decibels.includes(Infinity);
  const span = Math.max(6, greatest - least);
  const [bottom, top] = [least - 0.06 * span, greatest + (exact ? 0.2 : 0.08) * span];
  const sqnr = (at) => (figure("sqnr", at) === Infinity ? greatest + 0.13 * span : figure("sqnr", at));
  const scale = logScale(Math.min(0.8, low * 0.95), Math.max(1.25, high * 1.05));
  const front = own.filter((at) => value("front", at) === 1);
  const { plot, px, py } = frame(widthOf(box),
    { scale, ticks: (most) => ratioTicks(scale.low, scale.high, most), name: ratioTick, title: "speed-up over the baseline" },
    { scale: linearScale(bottom, top), ticks: (most) => linearTicks(bottom, greatest, most), name: plain, title: "SQNR, dB" },
    `Speed-up against accuracy of ${count(own.length, "case")}, ${front.length} of them on the Pareto front of their siblings: ${front.slice(0, 8).map((at) => `${text("variant", at)} ${ratio(at)}× at ${text("sqnr_text", at)} dB`).join("; ")}`);
  const [from, to] = [px(scale.low), px(scale.high)];
  if (exact) {
    const y = py(greatest + 0.13 * span);
    plot.append(svg("line", { class: "grid exact", x1: from, x2: to, y1: y, y2: y }),
      svg("text", { x: from - 8, y: y + 4, "text-anchor": "end" }, "∞"));
  }
  plot.append(svg("line", { class: "one", x1: px(1), x2: px(1), y1: py(bottom), y2: py(top) }));
  const several = new Set(own.map(siblings)).size;
  if (several <= 6) plot.append(...frontLines(front, ratio, sqnr, px, py));
  // Colours that repeat tell nothing apart.
  const hue = several === 1 || several > 8 ? () => "hue0" : hues(own.map(siblings));
  for (const at of own) {
    const [x, y] = [px(ratio(at)), py(sqnr(at))];
    const filled = value("front", at) === 1 ? "on" : "off";
    const bounds = figure("speedup_low", at);
    plot.append(svg("g", { class: `point ${hue(siblings(at))} ${filled}`, "data-tip": `${tipOf(at)}\nSQNR ${text("sqnr_text", at)} dB${filled === "on" ? ", on the front" : ""}` },
      bounds === null ? null : svg("line", { x1: px(bounds), x2: px(figure("speedup_high", at)), y1: y, y2: y }),
      svg("circle", { cx: x, cy: y, r: 4.5 })));
  }
  if (own.length <= 24) plot.append(...labels(own, ratio, sqnr, px, py, to));
  box.replaceChildren(plot,
    several > 1 && several <= 8
      ? legendOf([...new Set(own.map(siblings))].map((name) => [hue(name), name])) : "",
    limitOfPoints(own.length, places.length));
}

/** The fronts as steps: right of and below a step nothing is given up for nothing. */
function frontLines(front, ratio, sqnr, px, py) {
  const lines = new Map();
  for (const at of front) {
    if (!lines.has(siblings(at))) lines.set(siblings(at), []);
    lines.get(siblings(at)).push(at);
  }
  return [...lines.values()].map((points) => {
    points.sort((a, b) => ratio(a) - ratio(b));
    let path = "";
    for (const at of points) {
      const [x, y] = [px(ratio(at)), py(sqnr(at))];
      path += path === "" ? `M${x},${y}` : `V${y}`.replace("V", `H${x}V`);
    }
    return svg("path", { class: "front", d: path });
  });
}

/** Names of points, where they do not lie on each other. */
function labels(own, ratio, sqnr, px, py, right) {
  const taken = [];
  const made = [];
  const ordered = [...own].sort((a, b) => (value("front", b) ?? 0) - (value("front", a) ?? 0));
  for (const at of ordered) {
    const name = text("variant", at);
    const [x, y, width] = [px(ratio(at)), py(sqnr(at)), name.length * 6.4 + 10];
    const end = x + width > right;
    const box = { x: end ? x - width : x + 8, y: y - 16, width, height: 14 };
    const hits = (it) => box.x < it.x + it.width && it.x < box.x + box.width
      && box.y < it.y + it.height && it.y < box.y + box.height;
    if (taken.some(hits)) continue;
    taken.push(box);
    made.push(svg("text", { class: "name", x: end ? x - 8 : x + 8, y: y - 6, "text-anchor": end ? "end" : "start" }, name));
  }
  return made;
}

function limitOfPoints(lines, all) {
  if (lines >= all) return "";
  return element("p", { class: "limit" },
    `First ${lines.toLocaleString("en-US")} of ${count(all, "case")}; filter to see others.`);
}
