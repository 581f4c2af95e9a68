//! Files for the PyTorch OSS benchmark database, anyone's: what its uploader, its columns and its
//! dashboards do in silence. The rules that `dashboard` writes by are those that `validate` checks.

mod columns;
mod file;
mod record;
mod text;
mod trap;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use columns::SCHEMA;
pub use record::{Series, is_storable};
pub use trap::{Severity, Trap};

#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub trap: Trap,
    pub file: PathBuf,
    /// Index of the record, from 0; none where the file itself is meant.
    pub record: Option<usize>,
    /// JSON pointer into the record.
    pub path: String,
    /// The text in question.
    pub found: String,
}

/// The findings in files that are uploaded together.
#[derive(Debug, Default)]
pub struct Checked {
    /// In the order of the files and of what happens to them.
    pub findings: Vec<Finding>,
    /// Files, or lines of them, that cannot be read, each with its place.
    pub unreadable: Vec<String>,
    /// How many files have something that could be checked.
    pub files: usize,
}

/// Checks files that are to be uploaded together.
pub fn validate(files: &[PathBuf]) -> Checked {
    let mut checked = Checked { findings: names(files), ..Checked::default() };
    let mut known = Known { files, series: HashMap::new(), cut: Vec::new() };
    for (index, path) in files.iter().enumerate() {
        let mut number = 0;
        let read = file::read(path, |record| {
            checked.findings.extend(known.record([index, number], &record));
            number += 1;
        });
        let is_empty = read.records == 0 && read.unusable.is_empty();
        let whole = |trap, found: &str| Finding {
            trap,
            file: path.clone(),
            record: None,
            path: String::new(),
            found: found.to_owned(),
        };
        if read.byte_order_mark {
            checked.findings.push(whole(Trap::ByteOrderMark, "it starts with one"));
        }
        if is_empty {
            checked.findings.push(whole(Trap::NoRecord, "it holds no record"));
        }
        checked.files += usize::from(is_empty || read.records > 0);
        checked.unreadable.extend(read.unusable.of_file(path));
    }
    checked.findings.extend(known.cut());
    checked
}

/// The facts about earlier records that later ones are checked against.
struct Known<'a> {
    files: &'a [PathBuf],
    /// File and record in which each series was met last.
    series: HashMap<Series<'static>, [usize; 2]>,
    /// Times of which too little is left, and the series that would have them in a finer unit.
    cut: Vec<(Finding, Series<'static>)>,
}

impl Known<'_> {
    fn record(&mut self, place: [usize; 2], record: &Value) -> Vec<Finding> {
        let [file, number] = place;
        let finding = |(trap, path, found)| Finding {
            trap,
            file: self.files[file].clone(),
            record: Some(number),
            path,
            found,
        };
        let series = record::series(record);
        let finer = series.as_ref().and_then(Series::in_microseconds).map(Series::into_owned);
        let mut findings: Vec<Finding> = record::check(record).into_iter().map(finding).collect();
        if let Some(finer) = finer {
            let cut = findings.extract_if(.., |it| it.trap == Trap::TwoDecimals);
            self.cut.extend(cut.map(|finding| (finding, finer.clone())));
        }
        let Some(series) = series else { return findings };
        let found = format!("`{}` of `{}`", series.metric(), series.model());
        if let Some([file, number]) = self.series.insert(series.into_owned(), place) {
            let found = format!("{found}, as {} record {number}", self.files[file].display());
            findings.push(finding((Trap::SameSeries, "/metric/name".to_owned(), found)));
        }
        findings
    }

    /// The times that are not there in a finer unit, too: those lose nothing by what is cut of them.
    fn cut(self) -> impl Iterator<Item = Finding> {
        let Self { cut, series, .. } = self;
        cut.into_iter().filter(move |(_, finer)| !series.contains_key(finer)).map(|(it, _)| it)
    }
}

fn pointer(parent: &str, key: &str) -> String {
    format!("{parent}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Whether the uploader takes the file.
pub fn has_upload_name(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "json")
}

fn names(files: &[PathBuf]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut first: BTreeMap<_, &PathBuf> = BTreeMap::new();
    let folder = files.first().and_then(|file| file.parent());
    for file in files {
        let mut add = |trap, found: String| {
            let (file, path) = (file.clone(), String::new());
            findings.push(Finding { trap, file, record: None, path, found });
        };
        if !has_upload_name(file) {
            add(Trap::FileName, "its name does not end in .json".to_owned());
        }
        if let Some(other) = first.insert(file.file_name(), file) {
            add(Trap::SameName, format!("so is {}", other.display()));
        } else if file.parent() != folder {
            add(Trap::Folder, format!("{} is in another folder", files[0].display()));
        }
    }
    findings
}
