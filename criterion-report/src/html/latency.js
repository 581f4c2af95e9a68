// How single measurements of a case spread.

/** A scale relative to the median ends here: a rare interruption takes many times as long. */
const MOST_MEDIANS = 4;

const QUANTILES = ["fastest", "quarter", "median", "three quarters", "90 %", "99 %", "slowest"];

function spreadInWords(source, at) {
  const spread = value(source, at);
  if (spread === null) return null;
  const [times, measurements] = spread;
  const named = times.map((time, i) => (time === null ? null : `${QUANTILES[i]} ${time}`));
  return `${named.filter((it) => it !== null).join(", ")} of ${grouped(measurements)}`;
}

/** Nanoseconds of a time to be read; null of none. */
function nanoseconds(time) {
  if (time === null) return null;
  const [number, unit] = time.split(" ");
  return Number(number) * data.time_units.find(([name]) => name === unit)[1];
}

function drawLatency(filtered) {
  const source = byId("latency-source").value;
  const relative = byId("latency-scale").value === "relative";
  const places = filtered.filter((at) => value(source, at) !== null);
  if (places.length === 0) {
    byId("latency-chart").replaceChildren(
      nothing(
        source === "calls"
          ? "No calls of these cases were timed one by one."
          : "Criterion has no samples of these cases.",
      ),
    );
    return;
  }
  /** Fastest, quartiles around the median, percentiles, slowest; over the median if asked. */
  const spread = (at) => {
    const figures = value(source, at)[0].map(nanoseconds);
    return relative ? figures.map((it) => (it === null ? null : it / figures[2])) : figures;
  };
  rowChart("latency-chart", {
    places,
    scaleOf: (own, most) => {
      const [low, all] = extent(own.flatMap(spread));
      const isCut = relative && all > MOST_MEDIANS;
      const high = isCut ? MOST_MEDIANS : all;
      const scale = logScale(low / 1.03, high * 1.03);
      return relative
        ? {
            scale,
            ticks: ratioTicks(scale.low, scale.high, most),
            name: ratioTick,
            title: isCut ? `cut at ${MOST_MEDIANS} medians` : "relative to the median",
          }
        : { scale, ticks: logTicks(scale.low, scale.high, most), name: timeTick, title: "time" };
    },
    draw: (at, scale) => {
      const [fastest, quarter, median, threeQuarters, p90, p99, slowest] = spread(at);
      return [
        level(scale, fastest ?? median, slowest, 12, { class: "reach" }),
        quarter === null
          ? null
          : bar(scale, quarter, threeQuarters, { class: "box", y: 6, height: 12, rx: 1 }),
        p90 === null ? null : upright(scale, p90, { class: "p90", y1: 8, y2: 16 }),
        p99 === null ? null : upright(scale, p99, { class: "p99", y1: 8, y2: 16 }),
        slowest > scale.high ? null : upright(scale, slowest, { class: "end", y1: 10, y2: 14 }),
        upright(scale, median, { class: "median", y1: 5, y2: 19 }),
      ];
    },
    figureOf: (at) => element("small", {}, value(source, at)[0][2]),
    more: (at) => spreadInWords(source, at),
    legend: legendOf([
      ["median", "median"],
      ["box", "middle half"],
      ["reach", "fastest to slowest"],
      ["p90", "90 %"],
      ["p99", "99 %"],
    ]),
    describe: (all) =>
      `Spread of the ${source === "calls" ? "single calls" : "samples"} of ` +
      `${count(all.length, "case")}. The same figures are in the details of each case.`,
  });
}
