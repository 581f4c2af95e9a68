// A chart of points in two dimensions.

/** Points that a plot shows at most: each is an element. */
const POINTS = 1200;

/** Height and margins of a plot, in pixels. */
const PLOT = { height: 420, left: 62, right: 18, top: 30, bottom: 46 };

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
      role: "listbox",
      "aria-label": description,
    },
    svg(
      "g",
      { "aria-hidden": "true" },
      across.map((tick) => [
        svg("line", { class: "grid", x1: px(tick), x2: px(tick), y1: top, y2: top + tall }),
        svg("text", { x: px(tick), y: top + tall + 18, "text-anchor": "middle" }, x.name(tick)),
      ]),
      up.map((tick) => [
        svg("line", { class: "grid", x1: left, x2: left + inner, y1: py(tick), y2: py(tick) }),
        svg("text", { x: left - 8, y: py(tick) + 4, "text-anchor": "end" }, y.name(tick)),
      ]),
      svg("text", { class: "title", x: left, y: 12 }, y.title),
      svg(
        "text",
        { class: "title", x: left + inner, y: height - 6, "text-anchor": "end" },
        x.title,
      ),
    ),
  );
  return { plot, px, py, inner, tall };
}

/** Cases in the order in which arrows lead from point to point. */
const fromLeft = (places, of) => [...places].sort((a, b) => of(a) - of(b));

/** Width that a chart has. */
const widthOf = (box) => Math.max(280, Math.floor(box.clientWidth));

/** Colours that can be told apart. */
const HUES = 8;

/** A colour for each name; the last is that of all names for which there is none left. */
function hues(names) {
  const known = [...new Set(names)];
  return (name) => `hue${Math.min(known.indexOf(name), HUES - 1)}`;
}

function legendOfHues(names) {
  const known = [...new Set(names)];
  const own = known.length > HUES ? known.slice(0, HUES - 1) : known;
  const items = own.map((name, i) => [`hue${i}`, name]);
  if (own.length < known.length)
    items.push([`hue${HUES - 1}`, count(known.length - own.length, "other")]);
  return legendOf(items);
}

/** That a plot does not show all cases. */
function limitOfPoints(lines, all) {
  if (lines >= all) return "";
  return element("p", { class: "limit" }, `${firstOf(lines, all)}; filter to see others.`);
}

/** Names of points where they lie neither on each other nor on points, those that stand out first. */
function labels(own, point, right, nameOf, standsOut) {
  const taken = own.map(point).map(([x, y]) => ({ x: x - 6, y: y - 6, width: 12, height: 12 }));
  const isFree = (box) =>
    box.x > PLOT.left &&
    box.x + box.width < right &&
    !taken.some(
      (it) =>
        box.x < it.x + it.width &&
        it.x < box.x + box.width &&
        box.y < it.y + it.height &&
        it.y < box.y + box.height,
    );
  const made = [];
  for (const at of [...own].sort((a, b) => standsOut(b) - standsOut(a))) {
    const name = nameOf(at);
    const [[x, y], width] = [point(at), name.length * 6.6 + 2];
    const corners = [8, -8 - width].flatMap((dx) => [-16, 4].map((dy) => [x + dx, y + dy]));
    const corner = corners.find(([x, y]) => isFree({ x, y, width, height: 13 }));
    if (corner === undefined) continue;
    taken.push({ x: corner[0], y: corner[1], width, height: 13 });
    made.push(
      svg(
        "text",
        {
          class: `name ${standsOut(at) ? "on" : ""}`,
          "aria-hidden": "true",
          x: corner[0] < x ? x - 8 : x + 8,
          y: corner[1] + 10,
          "text-anchor": corner[0] < x ? "end" : "start",
        },
        name,
      ),
    );
  }
  return made;
}
