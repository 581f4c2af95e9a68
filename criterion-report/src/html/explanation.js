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
  const { statements, facts, parts, difference } = explanation;
  return element(
    "section",
    { class: "explanation" },
    element("h3", {}, "Why it takes this long"),
    statements.map((said, i) => element("p", { class: i === 0 ? "statement" : null }, said)),
    parts.length === 0 ? null : [stackOf(parts), listOfParts(parts)],
    element(
      "dl",
      {},
      facts.map(([label, said]) => [element("dt", {}, label), element("dd", {}, said)]),
    ),
    difference === null ? null : differenceOf(difference),
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

const inPercent = (share) => `${(100 * share).toFixed(1)} %`;

const DIFFERENCE = ["operation", "", "calls", "difference", "of it"];
const kindOfColumn = (column) => (column > 1 ? "number" : null);

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
          DIFFERENCE.map((name, at) => element("th", { scope: "col", class: kindOfColumn(at) }, name)),
        ),
      ),
      element(
        "tbody",
        {},
        lines.map(([name, ...texts]) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, name),
            texts.map((said, at) => element("td", { class: kindOfColumn(at + 1) }, said)),
          ),
        ),
      ),
    ),
  ),
];
