// Marks of charts, and what is said of them. A chart is one stop of Tab, however many marks it has:
// arrows lead from mark to mark, whose text then stands beside it, Enter opens its case, and Escape
// closes the text.

/** A mark to the rows of marks of its chart; a hole in them is null. */
const neighbours = new WeakMap();
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Attributes of a mark: what is said of it, to the eye and to the ear, and the case it opens. */
const marked = (said, at = null, role = "option") => ({
  role,
  tabindex: -1,
  "data-tip": said,
  "data-case": at,
  "aria-label": said.replaceAll("\n", "; "),
});

/** Makes these rows of marks a chart that keys lead through. */
function leadThrough(rows) {
  const marks = rows.flat().filter((mark) => mark !== null);
  for (const mark of marks) neighbours.set(mark, rows);
  marks[0]?.setAttribute("tabindex", 0);
}

/** The mark that a key leads to from another; null where there is none. */
function ledTo(from, key) {
  const rows = neighbours.get(from);
  if (key === "Home") return rows.flat().find((mark) => mark !== null);
  if (key === "End") return rows.flat().findLast((mark) => mark !== null);
  const [down, right] = STEPS[key];
  // Through a single row all four arrows lead.
  const step = rows.length === 1 ? [0, down + right] : [down, right];
  let row = rows.findIndex((marks) => marks.includes(from));
  let column = rows[row].indexOf(from);
  do {
    row += step[0];
    column += step[1];
  } while (rows[row]?.[column] === null);
  return rows[row]?.[column] ?? null;
}

function leadByKey(event) {
  const mark = event.target;
  if (!neighbours.has(mark) || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Enter" || event.key === " ") openCaseOf(mark);
  else if (event.key in STEPS || event.key === "Home" || event.key === "End")
    ledTo(mark, event.key)?.focus();
  else return;
  // The page does not scroll by the same key.
  event.preventDefault();
}

function openCaseOf(mark) {
  if (mark.dataset.case !== undefined) openDetails(Number(mark.dataset.case));
}

/** The mark that has the focus is the one to which Tab comes back. */
function rememberMark(mark) {
  for (const other of neighbours.get(mark).flat()) other?.setAttribute("tabindex", -1);
  mark.setAttribute("tabindex", 0);
}

/** Shows the text of the mark under the pointer, or else of the one with the focus. */
function tips() {
  const tip = byId("tip");
  const hide = () => (tip.hidden = true);
  const show = (of, left, below, above) => {
    tip.hidden = false;
    tip.textContent = of.dataset.tip;
    const { width, height } = tip.getBoundingClientRect();
    const right = document.documentElement.clientWidth - width - 8;
    const top = below + height > innerHeight ? above - height : below;
    tip.style.left = `${Math.max(8, Math.min(left, right))}px`;
    tip.style.top = `${Math.max(8, top)}px`;
  };
  const showFocused = () => {
    const mark = document.activeElement;
    if (!neighbours.has(mark) || !mark.matches(":focus-visible")) return hide();
    const { left, top, bottom } = mark.getBoundingClientRect();
    show(mark, left, bottom + 6, top - 6);
  };
  const follow = (event) => {
    const of = event.target.closest?.("[data-tip]");
    if (of) show(of, event.clientX + 14, event.clientY + 18, event.clientY - 12);
    else if (!document.activeElement.matches("[data-tip]:focus-visible")) hide();
  };
  document.addEventListener("pointermove", follow);
  document.addEventListener("pointerdown", follow);
  document.addEventListener("pointerleave", hide);
  // The focused mark may have been scrolled into view just now.
  document.addEventListener("scroll", () => tip.hidden || showFocused(), {
    passive: true,
    capture: true,
  });
  document.addEventListener("focusin", (event) => {
    if (neighbours.has(event.target)) rememberMark(event.target);
    showFocused();
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    else leadByKey(event);
  });
  document.addEventListener("click", (event) => {
    const mark = event.target.closest?.("[data-tip]");
    // A reader who marked a text wants to copy it.
    if (mark && getSelection().isCollapsed) openCaseOf(mark);
  });
}
