// Why a case takes its time, in its details: statements, the parts of the time, and what differs from
// its baseline.

/** Kinds of parts in the order of their colours. */
const PART_HUES = [
  "memory_limit",
  "weight_conversion",
  "compute_limit",
  "page_faults",
  "call_overhead",
  "outside_operations",
  "idle_threads",
  "unexplained",
];

const partHue = (kind) => `hue${PART_HUES.indexOf(kind)}`;

function explanationOf(at) {
  const explanation = value("explanation", at);
  if (explanation === null) return "";
  const { statements, limit, parts, difference, notes } = explanation;
  return element(
    "section",
    { class: "explanation" },
    element("h3", {}, "Why it takes this long"),
    statements.map((said, i) => element("p", { class: i === 0 ? "statement" : null }, said)),
    limit === null ? null : element("p", { class: "fine" }, limit),
    parts.length === 0 ? null : [stackOf(parts), listOfParts(parts)],
    difference === null ? null : differenceOf(difference),
    notes.map((note) => element("p", { class: "fine" }, note)),
  );
}

/** The parts beside each other, as long as their shares. */
const stackOf = (parts) =>
  element(
    "div",
    { class: "stack", "aria-hidden": "true" },
    parts.map(([kind, , share]) => {
      const part = element("i", { class: partHue(kind) });
      part.style.width = percent(Math.min(1, Math.max(0, share)));
      return part;
    }),
  );

const listOfParts = (parts) =>
  element(
    "table",
    { class: "parts" },
    element(
      "tbody",
      {},
      parts.map(([kind, name, share, time]) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, element("i", { class: partHue(kind) }), name),
          element("td", { class: "number" }, inPercent(share)),
          element("td", { class: "number" }, time),
        ),
      ),
    ),
  );

const inPercent = (share) => `${(100 * share).toFixed(1)} %`.replace("-", "−");

const DIFFERENCE = ["operation", "", "baseline → this case", "difference", "share of it"];

/** Operations that the baseline does not run, or runs in another time. */
const differenceOf = ({ head, lines }) => [
  element("h4", {}, head),
  element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": head },
    element(
      "table",
      {},
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          DIFFERENCE.map((name, at) =>
            element("th", { scope: "col", class: at > 1 ? "number" : null }, name),
          ),
        ),
      ),
      element(
        "tbody",
        {},
        lines.map(([share, texts]) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, texts[0]),
            element("td", {}, texts[1]),
            texts.slice(2).map((said) => element("td", { class: "number" }, said)),
            element("td", { class: "number" }, share === null ? "" : inPercent(share)),
          ),
        ),
      ),
    ),
  ),
];
