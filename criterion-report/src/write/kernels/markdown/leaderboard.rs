//! The leaderboards.

use crate::model::kernels::{Contest, KernelResult, contests};
use crate::units;
use crate::write::Align;
use crate::write::markdown::{ABSENT, or_absent, plain, table};

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
const COLUMNS: &[(&str, Align)] = &[
    ("#", Align::Right),
    ("Implementation", Align::Left),
    ("Backend", Align::Left),
    ("Precision", Align::Left),
    ("p50 (ms)", Align::Right),
    ("p90 (ms)", Align::Right),
    ("p99 (ms)", Align::Right),
    ("Throughput (ops/s)", Align::Right),
    ("step", Align::Right),
    ("speed-up", Align::Right),
];

pub fn section(results: &[KernelResult<'_>]) -> String {
    let contests = contests(results);
    if contests.is_empty() {
        return "No case was measured.".to_owned();
    }
    let shown = contests.len().min(PROBLEMS);
    let per_problem = (LINES / shown).clamp(1, TOP);
    let tables: Vec<_> = contests.iter().take(shown).map(|it| rows(it, per_problem)).collect();
    let is_used = |column: usize| tables.iter().flatten().any(|row| row[column] != ABSENT);
    let used: Vec<usize> = (0..COLUMNS.len()).filter(|&column| is_used(column)).collect();
    let columns: Vec<(&str, Align)> = used.iter().map(|&column| COLUMNS[column]).collect();
    let mut out = format!("{RULE}{}\n", dropped(&used));
    for (contest, rows) in contests.iter().zip(&tables) {
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| used.iter().map(|&column| row[column].clone()).collect())
            .collect();
        out.push_str(&format!("\n**{}**{}\n\n", contest.kernel, problem(contest)));
        out.push_str(&table(&columns, &rows));
    }
    let cases: usize = contests.iter().map(|contest| contest.ranked.len()).sum();
    let left_out = cases - tables.iter().map(Vec::len).sum::<usize>();
    if left_out > 0 {
        let cases = units::count(left_out, "further measured case");
        out.push_str(&format!("\n{cases} in `kernels/`.\n"));
    }
    out
}

/// The note on columns that are dropped because they have no value.
fn dropped(used: &[usize]) -> String {
    let dropped: Vec<&str> = (0..COLUMNS.len())
        .filter(|column| !used.contains(column))
        .filter_map(|column| match COLUMNS[column].0 {
            "p90 (ms)" => Some("p90 (takes 50 calls)"),
            "p99 (ms)" => Some("p99 (takes 500)"),
            _ => None,
        })
        .collect();
    if dropped.is_empty() {
        return String::new();
    }
    format!(" No case has {}.", dropped.join(" and "))
}

fn problem(contest: &Contest<'_, '_>) -> String {
    match units::fields(&contest.problem_size).as_str() {
        "" => String::new(),
        fields => format!(", {}", plain(fields)),
    }
}

/// The lines that there is room for: the best ones, and the last one for the width of the field.
fn rows(contest: &Contest<'_, '_>, room: usize) -> Vec<Vec<String>> {
    let config = |result: &KernelResult<'_>| result.case.map(|case| case.config.clone());
    let several = contest.ranked.iter().any(|it| config(it) != config(contest.ranked[0]));
    let cases = contest.ranked.len();
    let best = if cases > room { room.saturating_sub(1).max(1) } else { cases };
    let places = (0..best).chain((room > 1 && best < cases).then_some(cases - 1));
    places.map(|place| row(place + 1, contest.ranked[place], several)).collect()
}

fn row(place: usize, result: &KernelResult<'_>, with_config: bool) -> Vec<String> {
    let latency = result.latency();
    let ms = |ns: Option<f64>| or_absent(ns.map(|ns| units::significant(ns / 1e6, 4)));
    let config = result.case.filter(|_| with_config).map(|case| format!(" ({})", case.config));
    let time = result.time().map(|time| units::time_with_interval(time.median_ns, time.interval));
    let speedup =
        result.speedup().map(|speedup| units::ratio(speedup.ratio, Some(speedup.interval)));
    vec![
        latency.map_or_else(|| ABSENT.to_owned(), |_| place.to_string()),
        format!("{}{}", result.implementation, config.unwrap_or_default()),
        result.backend.to_owned(),
        precision(result),
        ms(latency.map(|latency| latency.p50_ns)),
        ms(latency.and_then(|latency| latency.p90_ns)),
        ms(latency.and_then(|latency| latency.p99_ns)),
        or_absent(latency.map(|latency| units::significant(1e9 / latency.mean_ns, 4))),
        or_absent(time),
        or_absent(speedup),
    ]
}

/// The word of the `bench.yaml`.
pub fn precision(result: &KernelResult<'_>) -> String {
    or_absent(result.precision.map(|precision| precision.precision().to_owned()))
}
