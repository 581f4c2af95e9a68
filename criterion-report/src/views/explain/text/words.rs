//! The facts of an explanation in words, for text and Markdown alike.

use crate::model::{Interval, once};
use crate::render::table::Align;
use crate::render::units;
use crate::views::explain::{Bound, Change, Changed, Difference, Explanation, StepLimit};
use crate::views::profile;

/// The columns of a difference from the baseline.
pub const CHANGES: [(&str, Align); 5] = [
    ("difference", Align::Right),
    ("of it", Align::Right),
    ("change", Align::Left),
    ("calls", Align::Left),
    ("operation", Align::Left),
];

/// The columns of cases without a profile.
pub const OTHERS: [(&str, Align); 3] =
    [("time", Align::Right), ("without a profile", Align::Left), ("case", Align::Left)];

/// A case without a profile.
pub fn other(of: &Explanation) -> [String; 3] {
    let said = if of.emulated { "emulated".to_owned() } else { headline(of) };
    [units::time(of.time_ns), said, of.full_id.clone()]
}

/// Parts and operations of less than this share are summed up in one line.
const SMALL: f64 = 0.01;
/// Lines of a table.
const LINES: usize = 8;

/// The first line of a case.
pub fn headline(of: &Explanation) -> String {
    match of.primary() {
        Some(statement) => statement.to_string(),
        None => "emulated: its products run dequantized on this device, so its time says nothing \
                 of the recipe's speed"
            .to_owned(),
    }
}

/// The other facts, each with its label.
pub fn facts(of: &Explanation) -> Vec<(&'static str, String)> {
    let also = of.statements.iter().skip(1).map(|it| ("also", it.to_string()));
    let mut facts: Vec<(&str, String)> = also.collect();
    facts.push(("time", time(of)));
    let limit = match (&of.limit, &of.no_limit) {
        (Some(limit), _) => Some(limited(of, limit)),
        (None, why) => why.as_ref().map(|why| format!("unknown: {why}")),
    };
    facts.extend(limit.filter(|_| !of.emulated).map(|text| ("limit", text)));
    facts.extend(of.gpu.as_ref().map(|it| ("counters", profile::gpu_counters(it))));
    facts
}

/// Cautions, and commands that would show more.
pub fn notes(of: &Explanation) -> Vec<(&'static str, String)> {
    let command = of.profile_command.as_ref();
    let command = command.map(|it| ("profile", format!("none; `{it}` takes one")));
    // If the case itself has no profile, that is already said.
    let compared = of.no_difference.iter().filter(|_| of.profile.is_some());
    let compared = compared.map(|why| ("against", why.clone()));
    let cautions = of.cautions.iter().map(|it| ("note", it.clone()));
    command.into_iter().chain(compared).chain(cautions).collect()
}

fn time(of: &Explanation) -> String {
    let bounds = of.time_low_ns.zip(of.time_high_ns);
    let interval = bounds.map(|(low, high)| Interval { low, high });
    let threads = units::count(of.threads as usize, "thread");
    let mut parts = vec![units::time_with_interval(of.time_ns, interval)];
    parts.push(match of.utilization {
        Some(busy) => format!("{threads}, busy for {:.0} %", 100.0 * busy),
        None => threads,
    });
    let faults = of.page_faults.map(|it| units::count(it.round() as usize, "page fault"));
    parts.extend(faults.map(|it| format!("{it} per step")));
    parts.join("; ")
}

fn limited(of: &Explanation, limit: &StepLimit) -> String {
    let rate = |value: f64| units::significant(value, 3);
    let by = match limit.bound {
        Bound::Memory => {
            let bytes = of.bytes.map(units::bytes).unwrap_or_default();
            let gbps = limit.bandwidth_gbps.map(rate).unwrap_or_default();
            let level = limit.level.as_deref().unwrap_or_default();
            let certain =
                if limit.level_is_certain { "" } else { ", the nearest that was measured" };
            format!("{bytes} at the {gbps} GB/s of {level}{certain}")
        }
        Bound::Compute => {
            let flops = of.flops.map(flop).unwrap_or_default();
            let gflops = limit.peak_gflops.map(rate).unwrap_or_default();
            format!("{flops} at the {gflops} GFLOP/s of the best product")
        }
    };
    format!("{}: {by}; the case reaches {:.0} % of it", units::time(limit.ns), 100.0 * limit.share)
}

/// `16.8 MFLOP`
fn flop(count: u64) -> String {
    let (unit, scale) = if count < 1_000_000_000 { ("MFLOP", 1e6) } else { ("GFLOP", 1e9) };
    format!("{} {unit}", units::significant(count as f64 / scale, 3))
}

/// The calibrations behind the limits, each once.
pub fn calibrations(all: &[Explanation]) -> Vec<String> {
    let of = all.iter().filter_map(|it| it.calibration.as_ref());
    once(of.map(|it| {
        let threads = units::count(it.threads as usize, "thread");
        format!("measured by `calibration` on {threads} of {}", it.machine)
    }))
}

/// The lines of the parts: share, time, kind and operation. Small parts are combined into one line.
pub fn parts(of: &Explanation) -> Vec<(f64, [String; 4])> {
    let shown = of.parts.iter().take_while(|it| it.share >= SMALL).take(LINES).count();
    let (shown, others) = of.parts.split_at(shown);
    let mut lines: Vec<(f64, [String; 4])> = shown
        .iter()
        .map(|it| line(it.share, it.ns, it.kind.to_string(), it.operation.clone()))
        .collect();
    if !others.is_empty() {
        let (share, ns) =
            (others.iter().map(|it| it.share).sum(), others.iter().map(|it| it.ns).sum());
        lines.push(line(share, ns, units::count(others.len(), "other"), None));
    }
    lines
}

fn line(share: f64, ns: f64, kind: String, operation: Option<String>) -> (f64, [String; 4]) {
    (share, [units::percent(share), units::time(ns), kind, operation.unwrap_or_default()])
}

/// `against inference/…/baseline/…, 1.200 ms: 1.145 ms more`
pub fn versus(of: &Difference) -> String {
    let word = if of.difference_ns < 0.0 { "less" } else { "more" };
    let apart = units::time(of.difference_ns.abs());
    let speedup = of.speedup_factor.map(|it| format!("; speed-up {}", units::ratio(it, None)));
    let Difference { baseline, baseline_ns, .. } = of;
    let speedup = speedup.unwrap_or_default();
    format!("{baseline}, {}: {apart} {word}{speedup}", units::time(*baseline_ns))
}

/// The lines of a difference: time, share of the whole, change, calls, operation. Small ones are combined into one
/// line.
pub fn changes(of: &Difference) -> Vec<[String; 5]> {
    let is_large = |it: &&Changed| {
        let whole = of.difference_ns.abs().max(SMALL * of.baseline_ns);
        it.difference_ns.abs() >= SMALL * whole
    };
    let (large, small): (Vec<&Changed>, Vec<&Changed>) = of.operations.iter().partition(is_large);
    let kept = large.len().min(LINES);
    let others: Vec<&Changed> = large[kept..].iter().copied().chain(small).collect();
    let mut lines: Vec<[String; 5]> = large[..kept].iter().map(|it| changed(it)).collect();
    if !others.is_empty() {
        let ns = others.iter().map(|it| it.difference_ns).sum();
        let share = others.iter().map(|it| it.share).sum::<Option<f64>>();
        let count = units::count(others.len(), "other");
        lines.push([signed(ns), percent(share), count, String::new(), String::new()]);
    }
    lines
}

fn changed(of: &Changed) -> [String; 5] {
    let word = match of.change {
        Change::Added => "added",
        Change::Removed => "removed",
        Change::Changed => "changed",
        Change::Replaced => "replaced",
        Change::Outside => "outside operations",
    };
    let calls = match of.operation {
        Some(_) => {
            format!("{} → {}", profile::calls(of.baseline_calls), profile::calls(of.calls))
        }
        None => String::new(),
    };
    let before = of.instead_of.as_ref().map(|name| format!("{name} → ")).unwrap_or_default();
    let shapes = of.shapes.as_ref().map(|shapes| format!(" ({})", profile::of_shapes(shapes)));
    let name = of.operation.clone().unwrap_or_default() + &shapes.unwrap_or_default();
    let name = before + &name;
    [signed(of.difference_ns), percent(of.share), word.to_owned(), calls, name]
}

fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "−" } else { "+" };
    format!("{sign}{}", units::time(ns.abs()))
}

fn percent(share: Option<f64>) -> String {
    share.map(|it| format!("{:.1} %", 100.0 * it).replace('-', "−")).unwrap_or_default()
}

/// Splits the cases into those shown with tables and those shown on one line. With many cases, those without a profile
/// get one line.
pub fn apart(all: &[Explanation]) -> (Vec<&Explanation>, Vec<&Explanation>) {
    /// Up to this many cases are all shown with tables.
    const FEW: usize = 3;
    all.iter().partition(|it| all.len() <= FEW || it.profile.is_some())
}

/// The commands that profile these cases, all of a bench target at once.
pub fn commands(of: &[&Explanation]) -> Vec<String> {
    let whole = |command: &String| {
        let all = command.split_once(" --exact ").map_or(&**command, |(all, _)| all);
        format!("`{all}`")
    };
    let mut commands: Vec<String> =
        of.iter().filter_map(|it| it.profile_command.as_ref()).map(whole).collect();
    commands.sort_unstable();
    commands.dedup();
    commands
}

/// Says that some cases have no time.
pub fn without_time(untimed: usize) -> Option<String> {
    let cases = units::count(untimed, "case");
    (untimed > 0).then(|| format!("{cases} without a time: `criterion-report show` says why"))
}
