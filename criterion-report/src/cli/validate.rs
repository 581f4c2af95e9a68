//! `validate`: what would go wrong in the PyTorch OSS benchmark database without an error message.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::read::database::{Checked, Finding, Severity, Trap, validate};
use crate::render::units;
use crate::visible;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Files that are uploaded together
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Places of one trap in one file that are named; the others are counted.
const PLACES: usize = 3;

impl Options {
    pub fn run(&self) -> Checked {
        validate(&self.files)
    }
}

impl Checked {
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.trap.severity() == severity).count()
    }

    /// For people: each trap of a file once, errors first, with its places, what happens upstream and
    /// the remedy.
    pub fn text(&self) -> String {
        let mut groups: BTreeMap<_, Vec<&Finding>> = BTreeMap::new();
        for finding in &self.findings {
            let rank = std::cmp::Reverse(finding.trap.severity());
            let key = (&finding.file, rank, finding.trap);
            groups.entry(key).or_default().push(finding);
        }
        let mut out = String::new();
        for ((file, _, trap), findings) in groups {
            out.push_str(&group(file, trap, &findings));
        }
        let [errors, warnings] = [Severity::Error, Severity::Warning].map(|it| self.count(it));
        out.push_str(&format!(
            "{} checked: {}, {}\n",
            units::count(self.files, "file"),
            units::count(errors, "error"),
            units::count(warnings, "warning"),
        ));
        visible::lines(&out).into_owned()
    }
}

fn group(file: &Path, trap: Trap, findings: &[&Finding]) -> String {
    let (code, severity, upstream, remedy) = trap.entry();
    let word = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let name = file.display().to_string();
    let mut out = format!("{word}[{code}]: {}\n", visible::line(&name));
    for finding in findings.iter().take(PLACES) {
        let place = finding.record.map(|record| match finding.path.as_str() {
            "" => format!("record {record}: "),
            path => format!("record {record} {path}: "),
        });
        let place = place.unwrap_or_default();
        out.push_str(&format!("  {}\n", visible::line(&(place + &finding.found))));
    }
    let more = findings.len().saturating_sub(PLACES);
    if more > 0 {
        out.push_str(&format!("  and {} more\n", units::count(more, "place")));
    }
    out.push_str(&format!("  upstream: {upstream}\n  remedy: {remedy}\n\n"));
    out
}
