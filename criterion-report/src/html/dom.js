// Elements, made without any markup: text stays text whatever it holds.

/** An element with attributes and children; children that are null are left out. */
function element(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children);
}

/** An element of SVG. */
function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  return furnish(made, attributes, children);
}

function furnish(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listen] of Object.entries(value)) made.addEventListener(event, listen);
    } else {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

const byId = (id) => document.getElementById(id);

/** Options of a choice; the first is for all where `all` names it. */
function choices(select, values, all = null) {
  const before = select.value;
  const wanted = all === null ? values : [["", all], ...values];
  const isThere = ([value, text], i) =>
    select.options[i]?.value === value && select.options[i].text === text;
  // Thousands of options take long to make.
  if (select.options.length === wanted.length && wanted.every(isThere)) return;
  select.replaceChildren(...wanted.map(([value, text]) => element("option", { value }, text)));
  if ([...select.options].some((option) => option.value === before)) select.value = before;
  select.closest("label").hidden = select.options.length < 2;
}

/** A number as all texts have it: digits are in groups where there are more than four. */
const grouped = (number) =>
  String(number).replace(/^\d{5,}/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, "\u202f"));

/** `1 case`, `2 cases`. */
const count = (n, noun) => `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;

/** `First 40 of 870 cases`: nothing is cut off in silence. */
const firstOf = (lines, all, noun = "case") =>
  `First ${grouped(lines)} of ${count(all, noun)}`;

/** The text in place of a chart that has nothing to show. */
const nothing = (text) => element("p", { class: "nothing" }, text);
