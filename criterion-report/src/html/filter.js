// The filter of cases, for charts and table alike.

const CHOICES = [
  ["filter-target", "target"],
  ["filter-status", "status"],
  ["filter-device", "device"],
  ["filter-dtype", "dtype"],
];

/** The texts in which the filter looks for its words, made when they are first needed. */
let haystacks = null;
let current = null;

function buildFilter() {
  for (const [id, column] of CHOICES) {
    const counts = [...distinct(column)];
    choices(
      byId(id),
      counts.map(([name, n]) => [name, `${name} (${grouped(n)})`]),
      "all",
    );
    byId(id).closest("label").hidden = counts.length < 2;
  }
  const form = byId("filter");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", changed);
  // A form is as it was only after the event.
  form.addEventListener("reset", () => requestAnimationFrame(changed));
}

let pending = false;

/** Draws again at the next frame, once for several changes. */
function changed() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    current = null;
    shown.clear();
    drawAll();
  });
}

function filteredPlaces() {
  current ??= find();
  return current;
}

function find() {
  haystacks ??= Array.from({ length: total }, (_, at) =>
    `${fullId(at)} ${text("status", at)} ${text("reason", at) ?? ""}`.toLowerCase(),
  );
  const words = byId("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = CHOICES.map(([id, column]) => [column, byId(id).value]).filter(
    ([, chosen]) => chosen !== "",
  );
  const careful = byId("filter-cautions").checked;
  const found = [];
  for (let at = 0; at < total; at++) {
    if (careful && value("cautions", at) === null) continue;
    if (!wanted.every(([column, chosen]) => text(column, at) === chosen)) continue;
    if (words.every((word) => haystacks[at].includes(word))) found.push(at);
  }
  return found;
}
