// The cases: columns, of which a case has what stands at its place.

const data = JSON.parse(byId("data").textContent);
const total = data.cases.count;
const columns = data.cases.columns;

/** A case's value in a column; null where it has none. */
const value = (name, at) => columns[name]?.[at] ?? null;

/** The text that a column names by its place; null where there is none. */
function text(name, at) {
  const place = value(name, at);
  return place === null ? null : data.texts[place];
}

/** A figure, which may be infinite; null where there is none or it is not a number. */
function figure(name, at) {
  const found = value(name, at);
  if (found === "inf") return Infinity;
  if (found === "-inf") return -Infinity;
  return typeof found === "number" ? found : null;
}

const fullId = (at) => `${text("group", at)}/${text("variant", at)}/${text("parameter", at)}`;

/** The id without the variant, which siblings share. */
const siblings = (at) => `${text("group", at)} · ${text("parameter", at)}`;

const cautions = (at) => (value("cautions", at) ?? []).map((place) => data.texts[place]);

/** Whether its number is none of the run that should have made it. */
const isStale = (at) => value("stale", at) !== null;

/** `12.34 ms [12.30, 12.41]` in two parts. */
function apart(whole) {
  const bracket = whole.indexOf(" [");
  return bracket < 0 ? [whole, ""] : [whole.slice(0, bracket), whole.slice(bracket + 1)];
}

/** Distinct texts of a column with the number of cases of each. */
function distinct(name) {
  const counts = new Map();
  for (let at = 0; at < total; at++) {
    const own = text(name, at);
    if (own !== null) counts.set(own, (counts.get(own) ?? 0) + 1);
  }
  return counts;
}

/** A sign beside a number that is to be read with care; what it stands beside says why. */
const cautionSign = (at) =>
  cautions(at).length === 0
    ? null
    : element("span", { class: "caution", "aria-hidden": "true" }, "!");
