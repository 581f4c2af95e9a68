// Axes: where values lie, from 0 to 1, and which of them are named.

/** A scale on which equal factors are equally long. */
function logScale(low, high) {
  const [from, to] = [Math.log(low), Math.log(high)];
  return { low, high, at: (of) => (Math.log(of) - from) / (to - from || 1) };
}

/** A scale on which equal differences are equally long. */
function linearScale(low, high) {
  return { low, high, at: (of) => (of - low) / (high - low || 1) };
}

/** Round values between two bounds, at most about so many. */
function linearTicks(low, high, most) {
  const rough = (high - low) / Math.max(1, most);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

/** Round numbers between two bounds by equal factors: as many as there is room for. */
function logTicks(low, high, most) {
  const within = (factors) => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const factor of factors) {
        const tick = Number((factor * 10 ** power).toPrecision(12));
        if (tick >= low * 0.999999 && tick <= high * 1.000001) ticks.push(tick);
      }
    }
    return ticks;
  };
  const sets = [[1, 1.5, 2, 3, 4, 5, 7], [1, 2, 5], [1, 3], [1]].map(within);
  const fitting = sets.find((ticks) => ticks.length <= most && ticks.length > 0);
  if (fitting) return fitting;
  const powers = sets.at(-1).length ? sets.at(-1) : sets[0];
  const every = Math.ceil(powers.length / most);
  return powers.filter((_, i) => i % every === 0);
}

/** Ticks of ratios, which often lie so near to 1 that equal steps say more. */
const ratioTicks = (low, high, most) =>
  high / low < 4 ? linearTicks(low, high, most) : logTicks(low, high, most);

/** A round number without superfluous digits. */
const plain = (number) => grouped(Number(number.toPrecision(3)));

/** A round number of a unit that leaves it at least 1: the units are those of all other texts. */
function withUnit(units, number) {
  if (number === 0) return "0";
  const [name, scale] = units.findLast(([, scale]) => number >= scale * 0.9999999) ?? units[0];
  return `${plain(number / scale)} ${name}`;
}

const timeTick = (ns) => withUnit(data.time_units, ns);
const byteTick = (bytes) => withUnit(data.byte_units, bytes);
const ratioTick = (ratio) => `${plain(ratio)}×`;

/** Round numbers of bytes: 1, 2, 4, 8, … of a unit. */
function byteTicks(high, most) {
  let step = 1;
  while (high / step > most) step *= 2;
  const ticks = [];
  for (let tick = 0; tick <= high * 1.0001; tick += step) ticks.push(tick);
  return ticks;
}

/** Lowest and highest of what is there. */
function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const each of values) {
    if (each === null || !Number.isFinite(each)) continue;
    low = Math.min(low, each);
    high = Math.max(high, each);
  }
  return low <= high ? [low, high] : null;
}
