//! The contents of the cache as tables, for people.

use std::time::SystemTime;

use super::contents::{CacheEntry, Contents, Installation, Package};
use crate::human;
use ::libtorch::command;

/// A line for each kind of thing, and for each of those that are large.
pub fn show(contents: &Contents, now: SystemTime) -> String {
    let Contents { folder, provisioned, partial, kernels, compiled } = contents;
    let provisioned: Vec<&CacheEntry> = provisioned.iter().collect();
    let partials: Vec<&CacheEntry> = partial.iter().map(|it| &it.found).collect();
    let packages: Vec<&CacheEntry> =
        compiled.packages.iter().map(|package| &package.found).collect();
    let files: Vec<&CacheEntry> = kernels.files.iter().collect();
    let unfinished: Vec<&CacheEntry> =
        kernels.unfinished.iter().chain(&compiled.unfinished).collect();
    let all = [&provisioned, &partials, &packages, &files, &unfinished];
    let all = all.into_iter().flatten().copied().collect::<Vec<_>>();

    let mut rows: Vec<[String; 3]> = Vec::new();
    for found in &provisioned {
        rows.push([found.name.clone(), weight(&[found]), ago("installed", &[found], now)]);
    }
    let bound = format!("{} at most", human::bytes(compiled.bound_bytes));
    let used = ago("used", &packages, now);
    rows.push([
        format!("compiled: {}", packages.len()),
        weight(&packages),
        if used.is_empty() { bound } else { format!("{bound}, {used}") },
    ]);
    rows.push([format!("kernels: {}", files.len()), weight(&files), ago("made", &files, now)]);
    if !unfinished.is_empty() {
        let begun = ago("begun", &unfinished, now);
        rows.push([format!("unfinished: {}", unfinished.len()), weight(&unfinished), begun]);
    }
    for Installation { found, left_over } in partial {
        let state = if *left_over {
            format!("left by an interrupted setup; {} removes it", command::with_arguments("setup"))
        } else {
            "being installed".to_owned()
        };
        rows.push([found.name.clone(), weight(&[found]), state]);
    }
    format!("{}: {}\n{}", folder.display(), weight(&all), aligned(&rows))
}

/// A line for each package.
pub fn list(packages: &[Package], now: SystemTime) -> String {
    if packages.is_empty() {
        return "no compiled packages\n".to_owned();
    }
    let head = ["key", "mode", "size", "compiled in", "used", "by"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head)
        .chain(packages.iter().map(|Package { found, facts }| {
            let unknown = || "unknown".to_owned();
            let [mode, seconds, compiler] = match facts {
                Some(facts) => [
                    facts.mode.as_str().to_owned(),
                    format!("{:.1} s", facts.seconds),
                    facts.compiler.clone(),
                ],
                None => [unknown(), unknown(), unknown()],
            };
            let used = format!("{} ago", human::age(human::elapsed(found.used, now)));
            [found.name.clone(), mode, human::bytes(found.bytes), seconds, used, compiler]
        }))
        .collect();
    aligned(&rows)
}

fn weight(found: &[&CacheEntry]) -> String {
    human::bytes(found.iter().map(|found| found.bytes).sum())
}

/// "used 5 s to 3 days ago"; nothing of nothing.
fn ago(verb: &str, found: &[&CacheEntry], now: SystemTime) -> String {
    let ages = || found.iter().map(|found| human::elapsed(found.used, now));
    match (ages().min(), ages().max()) {
        (Some(newest), Some(oldest)) => {
            let (newest, oldest) = (human::age(newest), human::age(oldest));
            let range = if newest == oldest { newest } else { format!("{newest} to {oldest}") };
            format!("{verb} {range} ago")
        }
        _ => String::new(),
    }
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
