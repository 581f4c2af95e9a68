// Charts of what a step uses: memory at its peak with the parts stacked, energy, and time of the GPU.

const PARTS = [
  ["weights", "weights"],
  ["inputs", "inputs"],
  ["outputs", "preallocated outputs"],
  ["step", "the step's own"],
];

/** Whether a case has a figure in a column. Calibration moves more than any case, so it is left out. */
const takes = (column) => (at) => figure(column, at) !== null && !isCalibration(at);

/** Cases with a figure in a column, in the order that is chosen for its chart; null without any. */
function inOrder(filtered, chart, column, none) {
  const order = byId(`${chart}-order`)?.value ?? "";
  const places = filtered.filter(takes(column));
  const sign = { large: -1, small: 1 }[order] ?? 0;
  if (sign !== 0) places.sort((a, b) => sign * (figure(column, a) - figure(column, b)));
  if (places.length > 0) return { places, flat: order !== "" };
  byId(`${chart}-chart`).replaceChildren(nothing(none));
  return null;
}

function drawMemory(filtered) {
  const own = inOrder(filtered, "memory", "peak", "No memory was recorded of these cases.");
  if (own === null) return;
  rowChart("memory-chart", {
    ...own,
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

function drawEnergy(filtered) {
  const own = inOrder(filtered, "energy", "energy", "No energy was measured of these cases.");
  if (own === null) return;
  rowChart("energy-chart", {
    ...own,
    scaleOf: (places, most) => {
      const [low, high] = extent(places.map((at) => figure("energy", at)));
      // Less the idle machine's, an energy may be below zero.
      const scale = linearScale(Math.min(0, low) * 1.02, (Math.max(0, high) || 1) * 1.02);
      const ticks = linearTicks(scale.low, scale.high, most);
      return { scale, ticks, name: (tick) => `${plain(tick)} J`, title: "energy of a step" };
    },
    draw: (at, scale) => [
      bar(scale, 0, figure("energy", at), { class: "part weights", y: 6, height: 12 }),
    ],
    figureOf: (at) => [
      element("b", {}, text("energy_text", at)),
      element("small", {}, ` ${text("watts_text", at)}`),
    ],
    describe: (all) =>
      `Energy of a step of ${count(all.length, "case")}. It stands behind the bars, with the mean ` +
      "power.",
  });
}

/** Kernels above, memory below: class, columns of the median and of both ends, place in the strip. */
const USES = [
  ["weights", "sm", 3, "a kernel runs"],
  ["step", "busy", 13, "memory is in use"],
];

function drawUtilization(filtered) {
  const none = "No utilization was measured of these cases.";
  const own = inOrder(filtered, "utilization", "sm", none);
  if (own === null) return;
  const scale = linearScale(0, 1);
  rowChart("utilization-chart", {
    ...own,
    scaleOf: (_, most) => ({
      scale,
      ticks: linearTicks(0, 1, Math.min(most, 5)),
      name: (tick) => `${plain(100 * tick)} %`,
      title: "share of time",
    }),
    draw: (at) =>
      USES.map(([name, column, y]) => [
        bar(scale, 0, figure(column, at), { class: `part ${name}`, y, height: 8 }),
        level(scale, figure(`${column}_low`, at), figure(`${column}_high`, at), y + 4, {
          class: "interval",
        }),
      ]),
    figureOf: (at) => [
      element("b", {}, plain(100 * figure("sm", at)), " %"),
      element("small", {}, ` memory ${plain(100 * figure("busy", at))} %`),
    ],
    more: (at) => text("use_text", at),
    legend: legendOf(USES.map(([name, , , words]) => [`part ${name}`, words])),
    describe: (all) => `Share of the time in which the GPU was busy, of ${count(all.length, "case")}.`,
  });
}
