// Speed-ups in tables whose fields are coloured: blue is faster, orange slower, 1 has no colour.

/** Rows and columns of a map, and maps, that are shown at most. */
const FIELDS = { rows: 40, columns: 40, maps: 12 };
/** Columns whose names have room without being turned. */
const UPRIGHT = 3;

function drawHeatmap(filtered) {
  const [group, kind] = [byId("heatmap-group"), byId("heatmap-kind")];
  const there = new Set(filtered);
  const has = (map) =>
    map.cells.some((at) => at !== null && there.has(at) && figure("speedup", at) !== null);
  const maps = data.maps.filter(has);
  const names = [...new Set(maps.map((map) => data.texts[map.group]))];
  choices(
    group,
    names.map((name) => [name, name]),
  );
  const ofGroup = maps.filter((map) => data.texts[map.group] === group.value);
  const kinds = {
    crossover: "m × (k×n), with predictions",
    sweep: "m × n at each k",
    shapes: "shape × variant",
  };
  choices(
    kind,
    Object.entries(kinds).filter(([name]) => ofGroup.some((map) => map.kind === name)),
  );
  const own = ofGroup.filter((map) => map.kind === kind.value);
  if (own.length === 0) {
    byId("heatmap-chart").replaceChildren(
      nothing("No group of these cases has speed-ups at more than one shape."),
    );
    return;
  }
  const lines = Math.min(own.length, shown.get("heatmap-chart") ?? FIELDS.maps);
  const shownMaps = own.slice(0, lines);
  const cells = shownMaps.flatMap((map) => map.cells);
  const measured = cells
    .filter((at) => at !== null && there.has(at))
    .map((at) => figure("speedup", at));
  const ratios = measured.concat(shownMaps.flatMap((map) => map.speedups ?? []));
  const [low, high] = extent(ratios) ?? [1, 1];
  const most = Math.max(Math.log(1.1), -Math.log(low), Math.log(high));
  byId("heatmap-chart").replaceChildren(
    colours(most, kind.value === "crossover"),
    element(
      "div",
      { class: "maps" },
      shownMaps.map((map) => heatmap(map, there, most)),
    ),
    limit("heatmap-chart", lines, own.length, "map"),
  );
}

/** The legend: the colours from slowest to fastest. */
function colours(most, predicts) {
  const steps = [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1];
  const [slowest, fastest] = [-most, most].map((end) => ratioTick(Math.exp(end)));
  return element(
    "div",
    {
      class: "colours",
      role: "img",
      "aria-label": `Orange is slower, blue faster, from ${slowest} to ${fastest}`,
    },
    element("span", {}, slowest),
    steps.map((step) => coloured(element("i"), step)),
    element("span", {}, fastest),
    element("span", { class: "aside" }, "~ left open by the interval"),
    predicts ? element("span", { class: "aside" }, "≈ predicted by the cost model; + beyond the measured m") : null,
  );
}

/** Gives an element the colour of a share between −1, slowest, and 1, fastest. */
function coloured(field, share) {
  const side = share < 0 ? "var(--field-slower)" : "var(--field-faster)";
  const part = Math.round(Math.min(1, Math.abs(share)) * 100);
  field.style.setProperty("--fill", `color-mix(in oklab, ${side} ${part}%, var(--level))`);
  return field;
}

function heatmap(map, there, most) {
  const name = (place) => data.texts[place];
  const cell = (row, column) => map.cells[row * map.columns.length + column];
  // Only a crossover has a speed-up for every field.
  const ratioAt = (row, column) => map.speedups?.[row * map.columns.length + column] ?? null;
  const isShown = (row, column) => {
    const at = cell(row, column);
    return ratioAt(row, column) !== null || (at !== null && there.has(at));
  };
  // Rows and columns without a case that passes the filter would only take room.
  const all = { rows: [...map.rows.keys()], columns: [...map.columns.keys()] };
  const rows = all.rows.filter((row) => all.columns.some((column) => isShown(row, column)));
  const columns = all.columns.filter((column) => rows.some((row) => isShown(row, column)));
  const [ownRows, ownColumns] = [rows.slice(0, FIELDS.rows), columns.slice(0, FIELDS.columns)];
  const head = element(
    "tr",
    {},
    element("td", {}, { sweep: "m \\ n", crossover: "m \\ k×n" }[map.kind] ?? ""),
    ownColumns.map((column) =>
      element("th", { scope: "col" }, element("span", {}, name(map.columns[column]))),
    ),
  );
  const fields = ownRows.map((row) =>
    ownColumns.map((column) => field(cell(row, column), there, most, ratioAt(row, column))),
  );
  const isCase = (it) => it.className !== "hole" && !it.classList.contains("guess");
  leadThrough(fields.map((row) => row.map((it) => (isCase(it) ? it : null))));
  const body = ownRows.map((row, i) =>
    element("tr", {}, element("th", { scope: "row" }, name(map.rows[row])), fields[i]),
  );
  const cut = [
    ownRows.length < rows.length ? `${ownRows.length} of ${count(rows.length, "row")}` : "",
    ownColumns.length < columns.length ? `${ownColumns.length} of ${count(columns.length, "column")}` : "",
  ];
  return element(
    "figure",
    { class: "map" },
    element("figcaption", {}, name(map.title)),
    element(
      "div",
      { class: "scroll" },
      element(
        "table",
        {
          role: "grid",
          "aria-label": `Speed-ups: ${name(map.title)}`,
          class: map.kind === "shapes" && ownColumns.length > UPRIGHT ? "turned" : null,
        },
        element("thead", {}, head),
        element("tbody", {}, body),
      ),
    ),
    cut.some(Boolean)
      ? element(
          "p",
          { class: "limit" },
          `First ${cut.filter(Boolean).join(", ")}; filter to see others.`,
        )
      : null,
  );
}

function shortRatio(ratio) {
  return ratio < 1000 ? ratio.toPrecision(3) : grouped(Math.round(ratio));
}

/** A field without a measured case, with what a cost model predicts. */
function guessed(ratio, most) {
  const title = "predicted by the cost model; criterion-report training says how well it fits";
  const attributes = { class: "field guess", role: "gridcell", title };
  const made = element("td", attributes, `≈${shortRatio(ratio)}`);
  return coloured(made, Math.log(ratio) / most);
}

/** A case's field; empty where there is no case, or where it is filtered out, and nothing is predicted. */
function field(at, there, most, given) {
  if (at === null || !there.has(at)) {
    return given === null ? element("td", { class: "hole" }) : guessed(given, most);
  }
  const ratio = given ?? figure("speedup", at);
  if (ratio === null) {
    const why = text("reason", at) ?? text("no_speedup", at) ?? "";
    return element(
      "td",
      {
        class: "without",
        ...marked(`${fullId(at)}\n${text("status", at)}: ${why}`, at, "gridcell"),
      },
      text("status", at) === "measured" ? "no pair" : text("status", at),
    );
  }
  const open = text("verdict", at) === "inconclusive" ? "~" : "";
  const made = element(
    "td",
    { class: "field", ...marked(tipOf(at), at, "gridcell") },
    open + shortRatio(ratio),
  );
  return coloured(made, Math.log(ratio) / most);
}
