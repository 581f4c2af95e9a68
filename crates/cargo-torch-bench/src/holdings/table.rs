//! What the cache holds, for people.

use std::time::SystemTime;

use super::Holdings;
use super::compiled::{Compiled, Package};
use super::found::{self, Found};
use crate::age;
use crate::partial;
use crate::size;

/// A line for each kind of thing, and for each of those that are large.
pub fn show(holdings: &Holdings, now: SystemTime) -> String {
    let Holdings { folder, provisioned, partials, kernels, compiled, bound } = holdings;
    let packages: Vec<&Found> = compiled.packages.iter().map(|package| &package.found).collect();
    let files: Vec<&Found> = kernels.files.iter().collect();
    let unfinished: Vec<&Found> = kernels.partials.iter().chain(&compiled.partials).collect();
    let all = [provisioned, partials].into_iter().flatten();
    let all = weight(all.chain(packages.iter().chain(&files).chain(&unfinished).copied()));

    let mut rows: Vec<[String; 3]> = provisioned
        .iter()
        .map(|found| [found.name(), weight([found]), ago("installed", [found], now)])
        .collect();
    rows.push([
        format!("compiled: {}", packages.len()),
        weight(packages.iter().copied()),
        join([format!("{} at most", size::human(*bound)), ago("used", packages, now)]),
    ]);
    rows.push([
        format!("kernels: {}", files.len()),
        weight(files.iter().copied()),
        ago("made", files, now),
    ]);
    if !unfinished.is_empty() {
        rows.push([
            format!("unfinished: {}", unfinished.len()),
            weight(unfinished.iter().copied()),
            ago("begun", unfinished, now),
        ]);
    }
    rows.extend(partials.iter().map(|found| {
        let state = if partial::is_leftover(&found.path) {
            "left by an interrupted setup; cargo xtask setup removes it"
        } else {
            "being installed"
        };
        [found.name(), weight([found]), state.to_owned()]
    }));
    format!("{}: {all}\n{}", folder.display(), aligned(&rows))
}

/// A line for each package.
pub fn list(compiled: &Compiled, now: SystemTime) -> String {
    if compiled.packages.is_empty() {
        return "no compiled packages\n".to_owned();
    }
    let head = ["key", "mode", "size", "compiled in", "used", "by"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head)
        .chain(compiled.packages.iter().map(|Package { found, facts }| {
            let fact = |text: Option<String>| text.unwrap_or_else(|| "unknown".to_owned());
            let facts = facts.as_ref();
            [
                found.name(),
                fact(facts.map(|facts| facts.mode.clone())),
                size::human(found.bytes),
                fact(facts.map(|facts| format!("{:.1} s", facts.seconds))),
                format!("{} ago", age::human(age::since(found.used, now))),
                fact(facts.map(|facts| facts.compiler.clone())),
            ]
        }))
        .collect();
    aligned(&rows)
}

fn weight<'f>(found: impl IntoIterator<Item = &'f Found>) -> String {
    size::human(found::bytes(found))
}

/// "used 5 s to 3 days ago"; nothing of nothing.
fn ago<'f>(verb: &str, found: impl IntoIterator<Item = &'f Found>, now: SystemTime) -> String {
    let ages: Vec<_> = found.into_iter().map(|found| age::since(found.used, now)).collect();
    match (ages.iter().min(), ages.iter().max()) {
        (Some(&newest), Some(&oldest)) => {
            let (newest, oldest) = (age::human(newest), age::human(oldest));
            let range = if newest == oldest { newest } else { format!("{newest} to {oldest}") };
            format!("{verb} {range} ago")
        }
        _ => String::new(),
    }
}

fn join(parts: [String; 2]) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

/// Columns as wide as their widest, two spaces apart.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("  {}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}
