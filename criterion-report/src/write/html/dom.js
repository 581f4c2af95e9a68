// Elements, made without any markup: text stays text whatever it holds.

/** An element with attributes and children; children that are null are left out. */
function element(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children);
}

/** The same of SVG. */
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
  const options = values.map(([value, text]) => element("option", { value }, text));
  if (all !== null) options.unshift(element("option", { value: "" }, all));
  select.replaceChildren(...options);
  if ([...select.options].some((option) => option.value === before)) select.value = before;
  select.closest("label").hidden = select.options.length < 2;
}

/** `1 case`, `2 cases`. */
const count = (n, noun) => `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : "s"}`;

/** `First 40 of 870 cases`: nothing is cut off in silence. */
const firstOf = (lines, all, noun = "case") =>
  `First ${lines.toLocaleString("en-US")} of ${count(all, noun)}`;

/** What is said in the place of a chart that has nothing to show. */
const nothing = (text) => element("p", { class: "nothing" }, text);

/** A text beside the pointer for whatever has a `data-tip`. */
function tips() {
  const tip = byId("tip");
  const show = (event) => {
    const of = event.target.closest?.("[data-tip]");
    tip.hidden = !of;
    if (!of) return;
    tip.textContent = of.dataset.tip;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - width - 8);
    const below = event.clientY + 18;
    const top = below + height > innerHeight ? event.clientY - height - 12 : below;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, top)}px`;
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("pointerleave", () => (tip.hidden = true));
  document.addEventListener("scroll", () => (tip.hidden = true), { passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });
}
