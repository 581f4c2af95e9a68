// Memory at the peak of a step, its parts on each other.

const PARTS = [
  ["weights", "weights"],
  ["inputs", "inputs"],
  ["outputs", "preallocated outputs"],
  ["step", "the step's own"],
];

function drawMemory(filtered) {
  const order = byId("memory-order").value;
  const places = filtered.filter((at) => figure("peak", at) !== null);
  if (order === "large") places.sort((a, b) => figure("peak", b) - figure("peak", a));
  if (order === "small") places.sort((a, b) => figure("peak", a) - figure("peak", b));
  if (places.length === 0) {
    byId("memory-chart").replaceChildren(nothing("No memory was recorded of these cases."));
    return;
  }
  rowChart("memory-chart", {
    places,
    flat: order !== "",
    scaleOf: (own, most) => {
      const [, high] = extent(own.map((at) => figure("peak", at)));
      const scale = linearScale(0, Math.max(1, high) * 1.02);
      return { scale, ticks: byteTicks(scale.high, most), name: byteTick, title: "bytes" };
    },
    draw: (at, scale) => {
      let from = 0;
      return PARTS.map(([name]) => {
        const size = figure(name, at) ?? 0;
        from += size;
        return size > 0
          ? bar(scale, from - size, from, { class: `part ${name}`, y: 6, height: 12 })
          : null;
      });
    },
    figureOf: (at) => [
      element("b", {}, text("peak_text", at)),
      element("small", {}, ` ${text("peak_change", at) ?? ""}`),
    ],
    legend: legendOf(PARTS.map(([name, words]) => [`part ${name}`, words])),
    describe: (all) =>
      `Memory at the peak of a step of ${count(all.length, "case")}: weights, inputs, ` +
      "preallocated outputs and the step's own allocations on each other. The sum stands behind " +
      "the bars, the parts in the details of each case.",
  });
}
