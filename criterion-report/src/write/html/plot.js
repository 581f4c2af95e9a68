// A chart of points in two dimensions.

/** Points that a plot shows at most: each is an element. */
const POINTS = 1200;

/** Height and margins of a plot, in pixels. */
const PLOT = { height: 420, left: 62, right: 18, top: 16, bottom: 46 };

/**
 * The frame of a plot: its elements, and functions that place values in it.
 * `x` and `y`: `{scale, ticks(most), name(tick), title}`.
 */
function frame(width, x, y, description) {
  const { height, left, right, top, bottom } = PLOT;
  const [inner, tall] = [Math.max(80, width - left - right), height - top - bottom];
  const px = (of) => left + inner * x.scale.at(of);
  const py = (of) => top + tall * (1 - y.scale.at(of));
  const across = x.ticks(Math.max(2, Math.floor(inner / 72)));
  const up = y.ticks(8);
  const plot = svg(
    "svg",
    {
      class: "plot",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": description,
    },
    across.map((tick) => [
      svg("line", { class: "grid", x1: px(tick), x2: px(tick), y1: top, y2: top + tall }),
      svg("text", { x: px(tick), y: top + tall + 18, "text-anchor": "middle" }, x.name(tick)),
    ]),
    up.map((tick) => [
      svg("line", { class: "grid", x1: left, x2: left + inner, y1: py(tick), y2: py(tick) }),
      svg("text", { x: left - 8, y: py(tick) + 4, "text-anchor": "end" }, y.name(tick)),
    ]),
    svg("text", { class: "title", x: left + inner, y: height - 6, "text-anchor": "end" }, x.title),
    svg(
      "text",
      { class: "title", x: 14, y: top, "text-anchor": "end", transform: `rotate(-90 14 ${top})` },
      y.title,
    ),
  );
  return { plot, px, py, inner, tall };
}

/** Width that a chart has. */
const widthOf = (box) => Math.max(280, Math.floor(box.clientWidth));

/** A colour for each name, in the order of their appearance; they repeat after eight. */
function hues(names) {
  const known = [...new Set(names)];
  return (name) => `hue${known.indexOf(name) % 8}`;
}
