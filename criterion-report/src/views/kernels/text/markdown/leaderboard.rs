//! The leaderboards.

use crate::render::markdown::{ABSENT, or_absent, plain};
use crate::render::table::Cell;
use crate::render::units;
use crate::views::kernels::{Contest, KernelResult, contests};
use crate::views::view::{Column, left, markdown_rows, right};

/// Lines per problem, as upstream has.
const TOP: usize = 10;
/// Lines of all problems, which share them evenly.
const LINES: usize = 80;
/// Problems that there is room for.
const PROBLEMS: usize = 100;
const RULE: &str = "Ranked by the median of single calls (p50) among the cases of one kernel at one \
                    problem size on one machine; unlike problems are not ranked against each other. \
                    `step` is criterion's median with its interval; `speed-up` is over the kernel's \
                    `kernel.rs`, from runs in turn, with its interval.";

/// A case at its place in a contest.
struct Ranked<'r, 'a> {
    place: usize,
    result: &'r KernelResult<'a>,
    /// Its config, where those of the contest differ.
    config: Option<&'a str>,
}

fn columns<'r, 'a>() -> [Column<Ranked<'r, 'a>>; 10] {
    [
        right("#", |it| or_absent(it.result.latency().map(|_| it.place.to_string())).into()),
        left("Implementation", |it| {
            let config = it.config.map(|config| format!(" ({config})")).unwrap_or_default();
            format!("{}{config}", it.result.implementation).into()
        }),
        left("Backend", |it| it.result.backend.into()),
        left("Precision", |it| precision(it.result).into()),
        right("p50 (ms)", |it| ms(it.result.latency().map(|latency| latency.p50_ns))),
        right(P90, |it| ms(it.result.latency().and_then(|latency| latency.p90_ns))),
        right(P99, |it| ms(it.result.latency().and_then(|latency| latency.p99_ns))),
        right("Throughput (ops/s)", |it| {
            let rate = it.result.latency().map(|latency| 1e9 / latency.mean_ns);
            or_absent(rate.map(|rate| units::significant(rate, 4))).into()
        }),
        right("step", |it| {
            let time = it.result.time();
            or_absent(time.map(|it| units::time_with_interval(it.median_ns, it.interval))).into()
        }),
        right("speed-up", |it| {
            let speedup = it.result.entry.and_then(|entry| entry.speedup());
            or_absent(speedup.map(|it| units::ratio(it.ratio, Some(it.interval)))).into()
        }),
    ]
}

const P90: &str = "p90 (ms)";
const P99: &str = "p99 (ms)";

fn ms(ns: Option<f64>) -> Cell {
    or_absent(ns.map(|ns| units::significant(ns / 1e6, 4))).into()
}

pub fn section(results: &[KernelResult<'_>]) -> String {
    let contests = contests(results);
    if contests.is_empty() {
        return "No case was measured.".to_owned();
    }
    let shown = contests.len().min(PROBLEMS);
    let per_problem = (LINES / shown).clamp(1, TOP);
    let tables: Vec<_> = contests.iter().take(shown).map(|it| ranked(it, per_problem)).collect();
    let (used, dropped): (Vec<_>, Vec<_>) = columns()
        .into_iter()
        .partition(|it| tables.iter().flatten().any(|row| (it.cell)(row).text != ABSENT));
    let mut out = format!("{RULE}{}\n", without(&dropped));
    for (contest, ranked) in contests.iter().zip(&tables) {
        out.push_str(&format!("\n**{}**{}\n\n", contest.0[0].kernel, problem(contest)));
        out.push_str(&markdown_rows(&used, ranked));
    }
    let cases: usize = contests.iter().map(|contest| contest.0.len()).sum();
    let left_out = cases - tables.iter().map(Vec::len).sum::<usize>();
    if left_out > 0 {
        let cases = units::count(left_out, "further measured case");
        out.push_str(&format!("\n{cases} in `kernels/`.\n"));
    }
    out
}

/// The note on columns that are dropped because they have no value.
fn without(dropped: &[Column<Ranked<'_, '_>>]) -> String {
    let named = dropped.iter().filter_map(|column| match &*column.heading {
        P90 => Some("p90 (takes 50 calls)"),
        P99 => Some("p99 (takes 500)"),
        _ => None,
    });
    let named: Vec<&str> = named.collect();
    if named.is_empty() { String::new() } else { format!(" No case has {}.", named.join(" and ")) }
}

fn problem(contest: &Contest<'_, '_>) -> String {
    let fields = contest.0[0].problem_size().map(units::fields).unwrap_or_default();
    if fields.is_empty() { fields } else { format!(", {}", plain(&fields)) }
}

/// The lines that there is room for: the best ones, and the last one for the width of the field.
fn ranked<'r, 'a>(contest: &Contest<'r, 'a>, room: usize) -> Vec<Ranked<'r, 'a>> {
    let results = &contest.0;
    let config = |result: &KernelResult<'a>| result.case.map(|case| &*case.config);
    let several = results.iter().any(|it| config(it) != config(results[0]));
    let cases = results.len();
    let best = if cases > room { room.saturating_sub(1).max(1) } else { cases };
    let places = (0..best).chain((room > 1 && best < cases).then_some(cases - 1));
    let at = |place: usize| {
        let result = results[place];
        Ranked { place: place + 1, result, config: config(result).filter(|_| several) }
    };
    places.map(at).collect()
}

/// The word of the `bench.yaml`.
pub fn precision(result: &KernelResult<'_>) -> String {
    or_absent(result.precision.map(|precision| precision.precision().to_owned()))
}
