//! The commands that rows name: what they measure, without measuring it; and Python, which reads what they write.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use plan::Case;

use crate::document::skip;
use crate::page::Row;

/// The cases that the row's `cargo torch-bench …` measures. The command line has to be understood.
pub fn cases(row: &Row) -> Vec<Case> {
    let words = words(row, "cargo torch-bench");
    let configs = cargo_torch_bench::configs(words.into_iter().map(Into::into).collect());
    let configs = configs.unwrap_or_else(|error| panic!("{}: {error}", row.ours));
    assert!(!configs.is_empty(), "{}", row.ours);
    let parsed = configs.iter().map(|(mode, text)| {
        let file = format!("{mode}.yml");
        plan::Config::parse(Path::new(&file), text)
            .unwrap_or_else(|error| panic!("{error}: {text}"))
    });
    let plan = plan::expand(&parsed.collect::<Vec<_>>()).expect("it expands");
    plan.cases().cloned().collect()
}

/// The words of the row's command after the program's name.
pub fn words(row: &Row, program: &str) -> Vec<String> {
    let codes = row.code();
    let command = codes.iter().find_map(|code| code.strip_prefix(program));
    let command = command.unwrap_or_else(|| panic!("no `{program}` in {}", row.ours));
    std::iter::once(program).chain(command.split_whitespace()).map(str::to_owned).collect()
}

/// Checks that the row's `cargo torch-bench …` or `cargo xtask …` is understood.
pub fn understood(row: &Row, program: &str) {
    let words = words(row, program).into_iter().map(Into::into).collect();
    let check = match program {
        "cargo xtask" => cargo_torch_bench::check::<xtask::Cli>,
        _ => cargo_torch_bench::check::<cargo_torch_bench::cli::Cli>,
    };
    check(words).unwrap_or_else(|error| panic!("{}: {error}", row.ours));
}

/// The third parts of the ids of a mode: its probes, patterns or operators.
pub fn works<'c>(cases: &'c [Case], mode: &str) -> BTreeSet<&'c str> {
    let of_mode = cases.iter().filter(|case| case.mode.as_str() == mode);
    of_mode.filter_map(|case| case.id.group.split('/').nth(2)).collect()
}

/// Output of python3 running a script on a file; none without python3.
pub fn python(script: &str, file: &Path) -> Option<String> {
    let Ok(output) = Command::new("python3").args(["-c", script]).arg(file).output() else {
        skip::tool("no python3");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}
