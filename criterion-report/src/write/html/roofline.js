// Cases under the measured roofs of their machine.

function drawRoofline(filtered) {
  const box = byId("roofline-chart");
  const all = filtered.filter((at) => value("place", at) !== null);
  const select = byId("roofline-place");
  const numbers = new Map();
  for (const at of all) numbers.set(value("place", at), (numbers.get(value("place", at)) ?? 0) + 1);
  const byNumber = [...numbers].sort((a, b) => b[1] - a[1]);
  choices(select, byNumber.map(([place, n]) => [String(place), `${data.places[place].label} (${count(n, "case")})`]));
  if (all.length === 0) {
    box.replaceChildren(nothing("None of these cases has a place in a roofline."), without(filtered));
    return;
  }
  const place = data.places[Number(select.value)];
  const places = all.filter((at) => value("place", at) === Number(select.value));
  const own = places.slice(0, POINTS);
  const [intensity, speed] = ["flop_per_byte", "gflop_per_s"].map((name) => (at) => figure(name, at));
  const ridges = place.roofs.map((roof) => roof.ridge);
  const [left, right] = extent([...own.map(intensity), ...ridges]);
  const [low, high] = extent([...own.map(speed), ...place.roofs.map((roof) => roof.peak)]);
  const x = logScale(left / 2.5, right * 2.5);
  const y = logScale(low / 2, high * 2);
  const dtypes = [...new Set([...own.map((at) => text("dtype", at)), ...place.roofs.map((roof) => roof.dtype)])];
  const hue = hues(dtypes);
  const under = own.filter((at) => value("under_roof", at) === 1).length;
  const { plot, px, py } = frame(widthOf(box),
    { scale: x, ticks: (most) => logTicks(x.low, x.high, most), name: plain, title: "arithmetic intensity, FLOP per byte" },
    { scale: y, ticks: (most) => logTicks(y.low, y.high, most), name: plain, title: "GFLOP/s" },
    `Roofline of ${place.label}: ${count(own.length, "case")}, ${under} of them under a measured roof. ${place.roofs.map((roof) => roof.text).join(". ")}`);
  for (const roof of place.roofs) {
    const attainable = (at) => (roof.bandwidth === null ? roof.peak : Math.min(roof.peak, at * roof.bandwidth));
    const from = roof.bandwidth === null ? x.low : Math.max(x.low, y.low / roof.bandwidth);
    const corner = roof.ridge === null ? from : Math.max(from, roof.ridge);
    plot.append(svg("path", { class: `roof ${hue(roof.dtype)}`, "data-tip": roof.text,
      d: `M${px(from)},${py(attainable(from))}L${px(corner)},${py(roof.peak)}H${px(x.high)}` }),
      svg("text", { class: `name ${hue(roof.dtype)}`, x: px(x.high), y: py(roof.peak) - 6, "text-anchor": "end" },
        `${roof.dtype} ${plain(roof.peak)} GFLOP/s`));
  }
  for (const at of own) {
    const filled = value("under_roof", at) === 1 ? "on" : "off";
    plot.append(svg("g", { class: `point ${hue(text("dtype", at))} ${filled}`, "data-tip": `${tipOf(at)}\n${value("roofline_text", at)}` },
      svg("circle", { cx: px(intensity(at)), cy: py(speed(at)), r: 3.5 })));
  }
  const none = own.length - under;
  box.replaceChildren(
    legendOf(dtypes.map((dtype) => [hue(dtype), dtype])), plot,
    none > 0 ? element("p", { class: "remark" },
      `${count(none, "case")} (hollow) under no roof: none was measured of ${none === 1 ? "its" : "their"} dtype on as many threads under this baseline. `,
      element("code", {}, "cargo bench --bench calibration"), " measures them.") : "",
    place.roofs.length > 0 ? element("ul", { class: "remarks" }, [...place.roofs.map((roof) => roof.text), ...place.notes].map((note) => element("li", {}, note))) : "",
    without(filtered), limitOfPoints(own.length, places.length));
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
