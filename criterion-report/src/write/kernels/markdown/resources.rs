//! Memory and energy.

use std::collections::BTreeSet;

use super::leaderboard::precision;
use crate::model::kernels::KernelResult;
use crate::units;
use crate::write::Align;
use crate::write::markdown::{code, or_absent, plain, table};

const LINES: usize = 30;

const COLUMNS: &[(&str, Align)] = &[
    ("Case", Align::Left),
    ("Backend", Align::Left),
    ("Precision", Align::Left),
    ("Peak (MiB)", Align::Right),
    ("of it the step (MiB)", Align::Right),
    ("Energy (J)", Align::Right),
    ("Power (W)", Align::Right),
];

pub fn section(results: &[KernelResult<'_>]) -> String {
    let mut measured: Vec<&KernelResult<'_>> =
        results.iter().filter(|result| result.measured().is_some()).collect();
    if measured.is_empty() {
        return "No case was measured.".to_owned();
    }
    // The largest first; a stable sort keeps the order of the cases besides.
    measured.sort_by_key(|result| std::cmp::Reverse(result.peak_bytes()));
    let rows: Vec<Vec<String>> = measured.iter().take(LINES).map(|result| row(result)).collect();
    let mut out = table(COLUMNS, &rows);
    if measured.len() > LINES {
        let more = units::count(measured.len() - LINES, "further case");
        out.push_str(&format!("\n{more} in `kernels/`.\n"));
    }
    for (measure, what) in [("memory", "memory"), ("energy", "energy")] {
        let reasons: BTreeSet<&String> = measured
            .iter()
            .filter_map(|result| result.measured()?.measures.absent.get(measure))
            .collect();
        for reason in reasons {
            out.push_str(&format!("\nNo {what}: {}\n", plain(reason)));
        }
    }
    out
}

fn row(result: &KernelResult<'_>) -> Vec<String> {
    let measures = result.measured().map(|record| &record.measures);
    let mib = |bytes: u64| units::significant(bytes as f64 / f64::from(1 << 20), 4);
    let memory = measures.and_then(|measures| measures.memory);
    let energy = measures.and_then(|measures| measures.energy.as_ref());
    let parameter = result.case.map_or("", |case| &case.id.parameter);
    vec![
        code(&format!("{}/{}/{parameter}", result.kernel, result.implementation)),
        result.backend.to_owned(),
        precision(result),
        or_absent(memory.map(|memory| mib(memory.peak_bytes()))),
        or_absent(memory.map(|memory| mib(memory.step.peak_bytes))),
        or_absent(energy.map(|energy| units::significant(energy.joules, 3))),
        or_absent(energy.map(|energy| units::significant(energy.watts, 3))),
    ]
}
