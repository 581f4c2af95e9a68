//! The book's tables that follow from this program: options, values, columns, keys of documents. A page
//! has them between `<!-- generated: WHAT -->` and `<!-- end -->`; `UPDATE_BOOK=1` writes them.

mod types;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Command, CommandFactory};
use criterion_report::cli::Cli;
use criterion_report::export::csv;
use criterion_report::model::{Better, Field, MEASURES, ValuePart};
use criterion_report::views::explain::Rule;
use types::types;

/// Words in a cell.
const LONGEST_CELL: usize = 90;
const BOOK: &str = "../docs/book/src";
const BEGIN: &str = "<!-- generated: ";
const CLOSE: &str = " -->\n";
const END: &str = "<!-- end -->";

#[test]
fn generated_tables_say_what_the_program_says() {
    let is_update = std::env::var_os("UPDATE_BOOK").is_some();
    let mut seen = BTreeSet::new();
    let mut stale = Vec::new();
    for page in pages(Path::new(BOOK)) {
        let text = fs::read_to_string(&page).expect("readable");
        let now = renewed(&text, &page, &mut seen);
        if now == text {
            continue;
        }
        if is_update {
            fs::write(&page, now).expect("writable");
        } else {
            stale.push(page);
        }
    }
    assert!(stale.is_empty(), "not as the program says; run with UPDATE_BOOK=1: {stale:#?}");
    let wanted: BTreeSet<String> = wanted().into_iter().collect();
    let missing: Vec<_> = wanted.difference(&seen).collect();
    assert!(missing.is_empty(), "no page has these tables: {missing:#?}");
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the book").map(|it| it.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let here = files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "md"));
    here.chain(folders.iter().flat_map(|it| pages(it))).collect()
}

/// The page with its tables made anew.
fn renewed(text: &str, page: &Path, seen: &mut BTreeSet<String>) -> String {
    let mut parts = text.split(BEGIN);
    let mut now = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (what, rest) = part.split_once(CLOSE).expect("the mark ends");
        let end = rest.find(END);
        let end = end.unwrap_or_else(|| panic!("{}: `{what}` has no {END}", page.display()));
        now.extend([BEGIN, what, CLOSE, "\n", &generated(what, page), "\n", &rest[end..]]);
        seen.insert(what.to_owned());
    }
    now
}

fn generated(what: &str, page: &Path) -> String {
    let words: Vec<&str> = what.split(' ').collect();
    match words[..] {
        ["options", ref path @ ..] => options(path),
        ["values"] => catalogue("value", Field::all()),
        ["measures"] => catalogue("measure", MEASURES.into_iter()),
        ["csv"] => columns(),
        ["statements"] => statements(),
        ["checks"] => {
            let row = |(name, asks): (&str, &str)| [code(name), asks.to_owned()];
            table(["check", "question"], plan::Judged::CHECKS.map(row))
        }
        ["types", document, ref roots @ ..] => {
            let folders = page.strip_prefix(BOOK).expect("a page").components().count() - 1;
            types(document, roots, &format!("{}record.md", "../".repeat(folders)))
        }
        _ => panic!("{}: nothing is called `{what}`", page.display()),
    }
}

/// The tables that the book must have.
fn wanted() -> Vec<String> {
    let fixed = ["options", "values", "measures", "csv", "statements", "checks"].map(str::to_owned);
    let types = [
        "report Record RunManifest",
        "report",
        "compare",
        "summary",
        "calibration",
        "fusion-strategy",
    ];
    let types = types.map(|it| format!("types {it}"));
    let mut commands = Vec::new();
    collect_commands(&Cli::command(), "options", &mut commands);
    fixed.into_iter().chain(types).chain(commands).collect()
}

fn collect_commands(command: &Command, path: &str, names: &mut Vec<String>) {
    for sub in command.get_subcommands() {
        let path = format!("{path} {}", sub.get_name());
        if sub.get_arguments().next().is_some() {
            names.push(path.clone());
        }
        collect_commands(sub, &path, names);
    }
}

fn table<const N: usize>(
    heading: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let line = |cells: [String; N]| format!("| {} |\n", cells.join(" | "));
    let rows = rows.into_iter().map(|row| line(row.map(|cell| one_line(&cell))));
    line(heading.map(str::to_owned))
        + &line([const { "---" }; N].map(str::to_owned))
        + &rows.collect::<String>()
}

/// A cell of a table: its `|` are escaped, its lines joined.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn code(word: &str) -> String {
    format!("`{word}`")
}

fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(code).collect::<Vec<_>>().join(", ")
}

/// A sentence with its stop; an empty text stays empty.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', ':']) { text.to_owned() } else { format!("{text}.") }
}

fn statements() -> String {
    let row = |it: Rule| {
        let threshold = format!("{:.0} %", 100.0 * it.threshold);
        [code(it.name), it.rule.to_owned(), threshold, it.example.to_owned()]
    };
    table(["statement", "share", "from", "example"], Rule::ALL.map(row))
}

fn options(path: &[&str]) -> String {
    let mut command = &Cli::command();
    for name in path {
        let found = command.find_subcommand(name);
        command = found.unwrap_or_else(|| panic!("no command `{name}`"));
    }
    table(["option", "values", "default", "meaning"], command.get_arguments().map(option))
}

fn option(arg: &Arg) -> [String; 4] {
    let value = |name: &str| name.to_uppercase().replace('_', "-");
    let name = match (arg.get_long(), arg.get_short()) {
        (Some(long), Some(short)) => format!("`--{long}`, `-{short}`"),
        (Some(long), None) => format!("`--{long}`"),
        _ => code(&value(arg.get_id().as_str())),
    };
    let takes = arg.get_action().takes_values();
    let possible = if takes { arg.get_possible_values() } else { Vec::new() };
    let words = if takes && possible.is_empty() && !arg.is_positional() {
        list(arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()))
    } else {
        list(possible.iter().map(|it| it.get_name()))
    };
    let several = arg.get_value_delimiter().map(|by| format!(", separated by `{by}`"));
    let short = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let (short, said) = match short.split_once(" [default: ") {
        Some((help, default)) => (help.to_owned(), Some(default.trim_end_matches(']').to_owned())),
        None => (short, None),
    };
    let meaning = |help: &str| {
        let mut text = help.split("\n\n").map(sentence).collect::<Vec<_>>().join(" ");
        for word in &possible {
            if let Some(help) = word.get_help() {
                let help = sentence(&help.to_string());
                text.push_str(&format!(" `{}`: {help}", word.get_name()));
            }
        }
        text
    };
    // Longer help is left to a text of the page.
    let long = arg.get_long_help().map(|help| meaning(&help.to_string()));
    let long = long.filter(|text| text.split_whitespace().count() <= LONGEST_CELL);
    let meaning = long.unwrap_or_else(|| meaning(&short));
    let default = arg.get_default_values().iter().map(|it| it.to_string_lossy().into_owned());
    let default = said.into_iter().chain(default.filter(|_| takes));
    let default = default.map(|it| if it.contains(' ') { it } else { code(&it) }).collect();
    [name, words + &several.unwrap_or_default(), default, meaning]
}

fn catalogue(name: &str, fields: impl Iterator<Item = &'static Field>) -> String {
    let row = |field: &Field| {
        let better = field.better.map(Better::word).unwrap_or_default();
        [code(field.name), field.unit.symbol.into(), better.into(), field.description.into()]
    };
    table([name, "unit", "better", "meaning"], fields.map(row))
}

fn columns() -> String {
    let row = |(name, field, part): csv::Column| {
        let unit = match field.unit.symbol {
            "ns" => "ms",
            symbol => symbol,
        };
        let part = match part {
            ValuePart::Value => "",
            ValuePart::Low => ", lower end",
            ValuePart::High => ", upper end",
        };
        let meaning = format!("{}{part}", field.description);
        [code(&name), unit.into(), code(field.name), meaning]
    };
    table(["column", "unit", "value", "meaning"], csv::columns().into_iter().map(row))
}
