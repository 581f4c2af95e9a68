//! Our own document, as far as it is read back. What follows from the rest is passed over.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use plan::Record;
use serde::Deserialize;
use serde::de::Error as _;

use crate::model::criterion_result::CriterionResult;
use crate::model::row::NoTime;
use crate::model::runs::Run;
use crate::units;

#[derive(Clone, Deserialize)]
pub struct Head {
    pub baseline: String,
    #[serde(default)]
    pub run_names: Vec<String>,
    pub runs: Vec<Run>,
    pub older: HashSet<String>,
    #[serde(default)]
    pub cut_off: HashMap<String, String>,
    pub left_out: HashSet<String>,
    pub foreign: Vec<String>,
    pub warnings: Vec<String>,
    pub unreadable: Vec<String>,
}

#[derive(Deserialize)]
pub struct Case {
    pub record: Box<Record>,
    pub criterion: Option<CriterionResult>,
    pub no_time: Option<NoTime>,
    /// The case as several runs left it; then the rest follows from them.
    #[serde(default)]
    pub in_runs: Vec<CaseInRun>,
}

/// A case as one of several runs left it; without a record, why follows from the runs.
#[derive(Deserialize)]
pub struct CaseInRun {
    pub run_name: String,
    pub record: Option<Box<Record>>,
    pub criterion: Option<CriterionResult>,
    pub no_time: Option<NoTime>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(flatten)]
    head: Head,
    cases: Vec<Case>,
}

/// How many lines follow the first.
#[derive(Deserialize)]
struct Count {
    cases: usize,
}

pub fn whole(text: &[u8]) -> serde_json::Result<(Head, Vec<Case>)> {
    let Document { head, cases } = serde_json::from_slice(text)?;
    Ok((head, cases))
}

/// A document whose first line is the head and each further one a case. A line that cannot be used
/// costs itself alone.
pub fn lines(text: &[u8], path: &Path) -> serde_json::Result<(Head, Vec<Case>)> {
    let mut lines = text.split(|byte| *byte == b'\n').enumerate();
    let (_, first) = lines.next().ok_or_else(|| serde_json::Error::custom("it is empty"))?;
    let mut head: Head = serde_json::from_slice(first)?;
    let Count { cases: expected } = serde_json::from_slice(first)?;
    let mut cases = Vec::with_capacity(expected.min(text.len()));
    let mut found = 0;
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        found += 1;
        match serde_json::from_slice(line) {
            Ok(case) => cases.push(case),
            Err(why) => {
                let place = format!("{}:{}", path.display(), index + 1);
                head.unreadable.push(format!("{place}: not a case: {why}; export it again"));
            }
        }
    }
    if found != expected {
        head.unreadable.push(format!(
            "{}: {} of {expected}: cut off, or two files in one; export it again",
            path.display(),
            units::count(found, "case"),
        ));
    }
    Ok((head, cases))
}
