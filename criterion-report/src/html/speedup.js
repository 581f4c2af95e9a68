// Speed-ups as bars from 1, each with its interval.

/** The suites that answer a question. Calibration answers none: its cases are the machine's limits. */
const SUITES = {
  recipes: ["inference", "training"],
  fusion: ["fusion"],
  kernels: ["operators", "kernels"],
};

const isOf = (question, at) => SUITES[question].includes(text("target", at));

const isCalibration = (at) => text("target", at) === "calibration";

function drawSpeedup(question, filtered) {
  const id = `${question}-chart`;
  const order = byId(`${question}-order`).value;
  const places = filtered.filter((at) => isOf(question, at) && figure("speedup", at) !== null);
  const ratio = (at) => figure("speedup", at);
  if (order === "fast") places.sort((a, b) => ratio(b) - ratio(a));
  if (order === "slow") places.sort((a, b) => ratio(a) - ratio(b));
  if (places.length === 0) {
    byId(id).replaceChildren(
      nothing(
        "None of these cases has a speed-up: that takes pairs of a candidate and the baseline of its " +
          "group.",
      ),
    );
    return;
  }
  rowChart(id, {
    places,
    flat: order !== "",
    scaleOf: (own, most) => {
      const bounds = own.flatMap((at) => [
        figure("speedup_low", at),
        figure("speedup_high", at),
        ratio(at),
      ]);
      const [low, high] = extent(bounds.filter((it) => it > 0)) ?? [1, 1];
      const scale = logScale(Math.min(0.8, low * 0.96), Math.max(1.25, high * 1.04));
      const ticks = ratioTicks(scale.low, scale.high, most);
      return { scale, ticks, name: ratioTick, title: "speed-up" };
    },
    draw: (at, scale) => [
      bar(scale, 1, ratio(at), { class: `bar ${text("verdict", at)}`, y: 6, height: 12, rx: 2 }),
      upright(scale, 1, { class: "one", y1: 0, y2: "100%" }),
      interval(scale, figure("speedup_low", at), figure("speedup_high", at)),
    ],
    figureOf: (at) => {
      const [number, bounds] = apart(value("speedup_text", at));
      return [
        element("b", { class: text("verdict", at) }, number),
        " ",
        element("small", {}, bounds),
      ];
    },
    legend: legendOf([
      ["faster", "faster"],
      ["slower", "slower"],
      ["same", "same to ±1 %"],
      ["inconclusive", "left open by the interval"],
    ]),
    describe: (all) => {
      const verdicts = new Map();
      for (const at of all)
        verdicts.set(text("verdict", at), (verdicts.get(text("verdict", at)) ?? 0) + 1);
      const said = [...verdicts].map(([verdict, n]) => `${grouped(n)} ${verdict}`).join(", ");
      return (
        `Speed-ups of ${count(all.length, "candidate")} over the baselines of their groups: ` +
        `${said}. The figures stand behind the bars and in the table of all cases.`
      );
    },
  });
}

/** A line from bound to bound with its ends. */
function interval(scale, low, high) {
  return [
    level(scale, low, high, 12, { class: "interval" }),
    upright(scale, low, { class: "interval", y1: 9, y2: 15 }),
    upright(scale, high, { class: "interval", y1: 9, y2: 15 }),
  ];
}
