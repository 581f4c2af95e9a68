// The profile of a case in its details: operations with a bar for their part of the step, and files.

/** Headings of an operation's texts; those behind the bar are numbers. */
const OPERATION = ["operation", "shapes", "calls", "self", "total", "device", "MFLOP", "inputs"];

function profileOf(at) {
  const profile = value("profile", at);
  if (profile === null) return "";
  const { head, lines, facts, files, timeline } = profile;
  return element(
    "section",
    { class: "profile" },
    element("h3", {}, "Operations of a step"),
    element("p", { class: "fine" }, head),
    lines.length === 0 ? null : operationTable(lines),
    element(
      "dl",
      {},
      facts.map(([name, said]) => [element("dt", {}, name), element("dd", {}, said)]),
      files.length === 0 ? null : [element("dt", {}, "files"), element("dd", {}, fileList(files))],
    ),
    timeline === null ? null : element("img", { src: timeline, alt: "Memory of a step over time" }),
  );
}

/** The operations, without the columns in which none has anything. */
function operationTable(lines) {
  const numbers = [2, 3, 4, 5, 6, 7].filter((column) => lines.some(([, texts]) => texts[column]));
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Operations of a step" },
    element(
      "table",
      {},
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("th", { scope: "col" }, OPERATION[0]),
          element("th", { scope: "col", class: "part" }, "of the step"),
          numbers.map((at) => element("th", { scope: "col", class: "number" }, OPERATION[at])),
        ),
      ),
      element(
        "tbody",
        {},
        lines.map(([share, texts]) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, texts[0], " ", element("small", {}, texts[1])),
            element("td", { class: "part" }, share === null ? null : shareBar(share)),
            numbers.map((at) => element("td", { class: "number" }, texts[at])),
          ),
        ),
      ),
    ),
  );
}

/** A bar as long as a share, and the share in words. */
function shareBar(share) {
  const bar = element("i", { "aria-hidden": "true" });
  bar.style.width = percent(Math.min(1, Math.max(0, share)));
  return [element("span", { class: "track" }, bar), `${(100 * share).toFixed(1)} %`];
}

const fileList = (files) =>
  element(
    "ul",
    {},
    files.map(({ name, path, size, link }) =>
      element(
        "li",
        {},
        link === null ? name : element("a", { href: link }, name),
        ` (${size}) `,
        element("code", {}, path),
      ),
    ),
  );
