// A chart of one line per case: its name, a strip with marks on a common scale, its figure.

/** Lines that a chart begins with; a button adds as many again. */
const LINES = 40;
const shown = new Map();

const percent = (share) => `${(100 * share).toFixed(3)}%`;

/** A line in a strip; its length in shares of the strip. */
function bar(scale, from, to, attributes) {
  const [a, b] = [scale.at(from), scale.at(to)].map((it) => Math.min(1, Math.max(0, it)));
  const [left, right] = [Math.min(a, b), Math.max(a, b)];
  return svg("rect", { x: percent(left), width: percent(right - left), ...attributes });
}

function upright(scale, at, attributes) {
  const x = percent(Math.min(1, Math.max(0, scale.at(at))));
  return svg("line", { x1: x, x2: x, ...attributes });
}

function level(scale, from, to, y, attributes) {
  const [x1, x2] = [from, to].map((it) => percent(Math.min(1, Math.max(0, scale.at(it)))));
  return svg("line", { x1, x2, y1: y, y2: y, ...attributes });
}

/**
 * Draws the chart into the box with this id.
 * `places`: cases in order;
 * `scaleOf(places, most)`: scale, at most so many ticks, their names and the axis's title;
 * `draw(at, scale)`: marks of a strip 24 high; `figureOf(at)`: text behind it;
 * `describe(places)`: the chart in words; `flat`: no headings of groups, longer names;
 * `more(at)`: what is said of a case besides.
 */
function rowChart(id, chart) {
  const { places, scaleOf, draw, figureOf, describe, legend = null, flat = false } = chart;
  const { more = () => null } = chart;
  const box = byId(id);
  const lines = Math.min(places.length, shown.get(id) ?? LINES);
  const own = places.slice(0, lines);
  const { scale, ticks, name, title } = scaleOf(own, ticksOf(box));
  const grid = () =>
    ticks.map((tick) => upright(scale, tick, { class: "grid", y1: 0, y2: "100%" }));
  const axis = () =>
    element(
      "div",
      { class: "line axis", "aria-hidden": "true" },
      element("span", { class: "label" }, title),
      svg(
        "svg",
        { class: "strip" },
        ticks.map((tick) => {
          const at = scale.at(tick);
          const anchor = at < 0.04 ? "start" : at > 0.96 ? "end" : "middle";
          return svg("text", { x: percent(at), y: 16, "text-anchor": anchor }, name(tick));
        }),
      ),
      element("span", { class: "figure" }),
    );
  const line = (at) =>
    element(
      "div",
      { class: "line", ...marked([tipOf(at), more(at)].filter(Boolean).join("\n"), at) },
      element(
        "span",
        { class: "label" },
        breakable(text("variant", at)),
        flat ? element("small", {}, ` ${siblings(at)}`) : "",
      ),
      svg("svg", { class: "strip", "aria-hidden": "true" }, grid(), draw(at, scale)),
      element("span", { class: "figure" }, figureOf(at), cautionSign(at)),
    );
  const groups = flat ? [own] : [...Map.groupBy(own, siblings).values()];
  const made = groups.map((of) => ({ first: of[0], lines: of.map(line) }));
  leadThrough([made.flatMap((it) => it.lines)]);
  box.replaceChildren(
    element("p", { class: "visually-hidden" }, describe(places)),
    legend ?? "",
    element(
      "div",
      { class: "lines", role: "listbox", "aria-label": title },
      axis(),
      flat ? made[0].lines : made.map(groupOfLines),
      own.length > 12 ? axis() : null,
    ),
    limit(id, lines, places.length),
  );
}

/** Lines of siblings under their name. */
const groupOfLines = ({ first, lines }) =>
  element(
    "div",
    { class: "group", role: "group", "aria-label": siblings(first) },
    element(
      "p",
      { class: "siblings", "aria-hidden": "true" },
      text("group", first),
      " ",
      element("b", {}, text("parameter", first)),
    ),
    lines,
  );

/** A variant that may be broken behind each of its parts. */
const breakable = (variant) => variant.split(/(?<=[+-])/).flatMap((part) => [element("wbr"), part]);

/** Names that an axis has room for: on narrow screens a strip is as wide as the chart. */
function ticksOf(box) {
  const room = innerWidth <= 640 ? box.clientWidth : 0.78 * box.clientWidth - 230;
  return Math.max(3, Math.floor(room / 60));
}

/** The tooltip of a case wherever it is a mark. */
function tipOf(at) {
  const lines = [
    fullId(at),
    value("time_text", at),
    value("speedup_text", at),
    text("memory_text", at),
  ];
  return [
    ...lines.filter((line) => line !== null),
    ...cautions(at).map((said) => `! ${said}`),
  ].join("\n");
}

/** That not everything is shown, and what shows more. */
function limit(id, lines, all, noun = "case") {
  if (lines >= all) return "";
  const more = Math.min(LINES, all - lines);
  const add = () => {
    shown.set(id, lines + LINES);
    redraw(id);
    byId(id).querySelector(".limit button")?.focus();
  };
  return element(
    "p",
    { class: "limit" },
    `${firstOf(lines, all, noun)}; filter to see others. `,
    element("button", { type: "button", class: "quiet", on: { click: add } }, `Show ${more} more`),
  );
}

/** A legend of classes and what they mean. */
function legendOf(items) {
  return element(
    "ul",
    { class: "legend" },
    items.map(([name, text]) => element("li", {}, element("i", { class: name }), text)),
  );
}
