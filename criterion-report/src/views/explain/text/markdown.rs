//! Explanations as Markdown.

use super::words;
use crate::render::markdown::{plain, table};
use crate::render::table::Align;
use crate::views::explain::Explanation;

pub fn page(all: &[Explanation], untimed: usize) -> String {
    let (detailed, others) = words::apart(all);
    let mut blocks: Vec<String> = detailed.into_iter().map(case).collect();
    blocks.extend((!others.is_empty()).then(|| lines(&others)));
    let limits = words::calibrations(all).into_iter();
    blocks.extend(limits.map(|it| format!("Limits: {}\n", plain(&it))));
    blocks.extend(words::without_time(untimed).map(|text| plain(&text) + "\n"));
    blocks.join("\n")
}

fn case(of: &Explanation) -> String {
    let said = |(label, text): (&str, String)| format!("- {label}: {}\n", plain(&text));
    let id = plain(&format!("`{}`", of.full_id));
    let mut out = format!("### {id}\n\n**{}**\n\n", plain(&words::headline(of)));
    out.extend(words::facts(of).into_iter().chain(words::notes(of)).map(said));
    if !of.emulated {
        out.push('\n');
        let columns = [
            ("share", Align::Right),
            ("time", Align::Right),
            ("part", Align::Left),
            ("operation", Align::Left),
        ];
        let rows =
            words::parts(of).into_iter().map(|(_, cells)| in_code(cells)).collect::<Vec<_>>();
        out += &table(&columns, &rows);
    }
    if let Some(difference) = &of.difference {
        let rows = words::changes(difference).into_iter().map(in_code).collect::<Vec<_>>();
        let versus = plain(&words::versus(difference));
        out += &format!("\nAgainst {versus}\n\n{}", table(&words::CHANGES, &rows));
    }
    out
}

/// The last cell, the name of an operation, as code.
fn in_code<const N: usize>(mut cells: [String; N]) -> Vec<String> {
    if !cells[N - 1].is_empty() {
        cells[N - 1] = plain(&format!("`{}`", cells[N - 1]));
    }
    cells.to_vec()
}

fn lines(of: &[&Explanation]) -> String {
    let row = |it: &&Explanation| {
        let [time, said, id] = words::other(it);
        in_code([time, plain(&said), id])
    };
    let rows: Vec<Vec<String>> = of.iter().map(row).collect();
    let commands = words::commands(of).join(", ");
    format!("{}\nProfiles: {}\n", table(&words::OTHERS, &rows), plain(&commands))
}
