// The table of all cases. Only the rows in view are elements; what lies above and below them is
// two rows as high as theirs would be.

const ROW = 46;
/** Rows beyond the view on either side. */
const MARGIN = 8;
/** Rows that are printed at most. */
const PRINTED = 2000;

/** Title, class, what to sort by (null last), and the cell. */
const COLUMNS = [
  ["Case", "id", fullId, caseCell],
  ["Outcome", "status", (at) => text("status", at), statusCell],
  ["Time", "number", (at) => figure("time", at), timeCell],
  ["Speed-up", "number", (at) => figure("speedup", at), speedupCell],
  ["Peak memory", "number", (at) => figure("peak", at), memoryCell],
  ["SQNR, dB", "number", (at) => figure("sqnr", at), (at) => [text("sqnr_text", at) ?? ""]],
  ...(columns.machine === undefined ? [] : [["Machine", "id", machineOf, machineCell]]),
  ["Notes", "notes", (at) => noteOf(at), notesCell],
];

const table = { places: [], sorted: null, direction: 1, printing: false, first: 0, last: 0 };

function two(first, second, attributes = {}) {
  return [
    element("span", { class: "first", ...attributes }, first),
    element("span", { class: "second" }, second),
  ];
}

function caseCell(at) {
  const name = element(
    "button",
    {
      type: "button",
      class: "case",
      "data-case": at,
      title: fullId(at),
      on: { click: () => openDetails(at) },
    },
    text("variant", at),
    " ",
    element("i", {}, text("parameter", at)),
  );
  return [name, element("span", { class: "second", title: text("group", at) }, text("group", at))];
}

function statusCell(at) {
  return [
    element(
      "span",
      { class: `status ${text("status", at).replace(" ", "-")}` },
      text("status", at),
    ),
  ];
}

function timeCell(at) {
  const whole = value("time_text", at);
  if (whole !== null) return two(...apart(whole));
  return isStale(at)
    ? [element("span", { class: "status stale", title: text("reason", at) ?? "" }, "stale")]
    : [""];
}

function speedupCell(at) {
  const whole = value("speedup_text", at);
  if (whole !== null) {
    const [number, bounds] = apart(whole);
    const called = value("called_text", at);
    const below = called === null ? bounds : `${bounds}, as called ${apart(called)[0]}`;
    return two(number, below, { class: `first ${text("verdict", at)}` });
  }
  return [value("baseline", at) === 1 ? element("span", { class: "second" }, "baseline") : ""];
}

function memoryCell(at) {
  return two(text("peak_text", at) ?? "", text("peak_change", at) ?? "");
}

/** The note on a case: why it has no number, or what qualifies it. */
function noteOf(at) {
  const why =
    value("speedup", at) === null && value("baseline", at) !== 1 ? text("no_speedup", at) : null;
  const said = [
    text("reason", at),
    ...cautions(at),
    text("status", at) === "measured" ? why : null,
  ];
  return [...new Set(said.filter((it) => it !== null))].join("; ") || null;
}

function notesCell(at) {
  const said = noteOf(at);
  return said === null ? [""] : [element("span", { class: "note", title: said }, cautionSign(at), said)];
}

/** The machine that measured a case; only the cases of several machines name theirs. */
function machineOf(at) {
  return text("machine", at);
}

function machineCell(at) {
  const name = machineOf(at);
  return name === null ? [""] : [element("span", { class: "note", title: name }, name)];
}

function buildTable() {
  const head = element(
    "tr",
    { "aria-rowindex": 1 },
    COLUMNS.map(([title, kind], column) =>
      element(
        "th",
        { scope: "col", class: kind, "aria-sort": "none", "data-title": title },
        element("button", { type: "button", on: { click: () => sortBy(column) } }, title),
      ),
    ),
  );
  const body = element("tbody");
  const scroll = element(
    "div",
    { class: "scroll cases", tabindex: 0, role: "region", "aria-label": "Table of all cases" },
    element(
      "table",
      { id: "cases-table" },
      element(
        "colgroup",
        {},
        COLUMNS.map(([, kind]) => element("col", { class: kind })),
      ),
      element("thead", {}, head),
      body,
    ),
  );
  scroll.addEventListener("scroll", () => requestAnimationFrame(() => drawRows()), {
    passive: true,
  });
  byId("table").replaceChildren(
    scroll,
    element("p", { class: "limit", id: "table-limit", hidden: true }),
  );
  Object.assign(table, { scroll, body, head });
}

function sortBy(column) {
  if (table.sorted !== column) [table.sorted, table.direction] = [column, 1];
  else if (table.direction === 1) table.direction = -1;
  else table.sorted = null;
  [...table.head.cells].forEach((cell, at) =>
    cell.setAttribute(
      "aria-sort",
      at !== table.sorted ? "none" : table.direction === 1 ? "ascending" : "descending",
    ),
  );
  drawTable(filteredPlaces());
}

const collator = new Intl.Collator("en", { numeric: true });

function drawTable(filtered) {
  table.places = [...filtered];
  if (table.sorted !== null) {
    const key = new Map(table.places.map((at) => [at, COLUMNS[table.sorted][2](at)]));
    table.places.sort((a, b) => {
      const [one, other] = [key.get(a), key.get(b)];
      if (one === null || other === null) return (one === null) - (other === null);
      const order = typeof one === "number" ? Math.sign(one - other) : collator.compare(one, other);
      return (Number.isNaN(order) ? 0 : order) * table.direction;
    });
  }
  table.scroll.querySelector("table").setAttribute("aria-rowcount", table.places.length + 1);
  table.scroll.scrollTop = 0;
  drawRows(true);
}

/** Makes the rows in view, where they are not the ones that are there. */
function drawRows(anew = false) {
  const { places, scroll, body, printing } = table;
  const most = printing ? Math.min(places.length, PRINTED) : places.length;
  // It is as high as its rows, but never as the window.
  const visible = Math.ceil(innerHeight / ROW);
  const first = printing
    ? 0
    : Math.max(0, Math.min(Math.floor(scroll.scrollTop / ROW) - MARGIN, most - visible));
  const last = printing ? most : Math.min(most, first + visible + 2 * MARGIN);
  if (!anew && first === table.first && last === table.last) return;
  Object.assign(table, { first, last });
  const focused = document.activeElement?.closest?.("#cases-table tbody button")?.dataset.case;
  const space = (rows) => {
    const high = element("td", { colspan: COLUMNS.length });
    high.style.height = `${rows * ROW}px`;
    return element("tr", { class: "space", "aria-hidden": "true" }, high);
  };
  body.replaceChildren(
    ...(first > 0 ? [space(first)] : []),
    ...places.slice(first, last).map((at, i) =>
      element(
        "tr",
        { "aria-rowindex": first + i + 2, "data-case": at, class: (first + i) % 2 ? "odd" : null },
        COLUMNS.map(([, kind, , cell]) => element("td", { class: kind }, cell(at))),
      ),
    ),
    ...(last < most ? [space(most - last)] : []),
  );
  if (places.length === 0) {
    body.replaceChildren(
      element(
        "tr",
        {},
        element("td", { colspan: COLUMNS.length, class: "nothing" }, "No case matches the filter."),
      ),
    );
  }
  // Rows are made anew when they scroll: what had the focus keeps it as long as it is there.
  if (focused !== undefined)
    body.querySelector(`button[data-case="${focused}"]`)?.focus({ preventScroll: true });
  const limited = byId("table-limit");
  limited.hidden = !(printing && most < places.length);
  limited.textContent = `${firstOf(most, places.length)}; filter to print others.`;
}

/** On paper there is nothing to scroll. */
function printTable(printing) {
  table.printing = printing;
  drawRows(true);
}
