// The roofline of a case in its details: the case is marked among its siblings.

function rooflineOf(at) {
  const place = value("place", at);
  const roofs = place === null ? [] : data.places[place].roofs;
  if (roofs.length === 0) return "";
  const isNear = (other) => value("place", other) === place && siblings(other) === siblings(at);
  const near = [...Array(total).keys()].filter((other) => other !== at && isNear(other));
  const own = [...near.slice(0, POINTS), at];
  const dtypes = new Set(own.map((other) => text("dtype", other)));
  const over = roofs.filter((roof) => dtypes.has(roof.dtype));
  const shown = over.length > 0 ? over : roofs;
  const hue = hues([text("dtype", at), ...shown.map((roof) => roof.dtype)]);
  const { x, y } = rooflineAxes(own, shown);
  const words = `Roofline with this case marked: ${placeInWords(at)}`;
  const { plot, px, py } = frame(700, x, y, words);
  plot.setAttribute("role", "img");
  const roof = (it) => roofOf(it, hue(it.dtype), x.scale, y.scale, px, py);
  plot.append(...shown.flatMap(roof), ...own.map((other) => placed(other, at, hue, px, py)));
  // A picture has no marks to be led through.
  for (const of of plot.querySelectorAll("[data-tip]")) {
    for (const name of ["data-tip", "tabindex", "role", "aria-label"]) of.removeAttribute(name);
  }
  return element(
    "section",
    { class: "placed" },
    element("h3", {}, "Under the roof of this machine"),
    plot,
    near.length === 0
      ? null
      : element("p", { class: "fine" }, "The named point is this case, the others are its siblings."),
  );
}

/** A case in the plot; the one that it is about has its name. */
function placed(at, chosen, hue, px, py) {
  const [cx, cy] = [px(figure("flop_per_byte", at)), py(figure("gflop_per_s", at))];
  const colour = hue(text("dtype", at));
  if (at !== chosen) {
    const title = svg("title", {}, text("variant", at));
    return svg("g", { class: `point off ${colour}` }, svg("circle", { cx, cy, r: 3.5 }, title));
  }
  return svg(
    "g",
    { class: `point on chosen ${colour}` },
    svg("circle", { cx, cy, r: 6.5 }),
    svg("text", { x: cx, y: cy + 22, "text-anchor": "middle" }, text("variant", at)),
  );
}
