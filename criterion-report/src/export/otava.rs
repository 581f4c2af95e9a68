//! Apache Otava's CSV importer: a history for each case, to which each export adds a row, and the
//! configuration that names them. A file of its own for each case because the importer refuses an
//! empty cell in a column that a test reads, and no run measures every case.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Cursor, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::figures;
use crate::model::{Better, Entry, Field};
use crate::output;
use crate::read::{Report, file};
use crate::render::in_order::in_order;
use crate::render::units;
use crate::views::written::Notes;
use anyhow::{Context, Result, ensure};

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Folder of the histories, one CSV file per case
    #[arg(long, value_name = "DIR")]
    pub history: PathBuf,
}

/// The first columns of every row.
const ATTRIBUTES: [&str; 4] = ["time", "commit", "branch", "run"];

/// The rows of a case, each as long as the heading.
#[derive(Debug, Default, PartialEq)]
struct History {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl History {
    fn read(path: &Path) -> Result<Self> {
        let text = match file::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).context(path.display().to_string()),
        };
        let mut rows = rows(text).with_context(|| format!("{}: not a history", path.display()))?;
        if rows.is_empty() {
            return Ok(Self::default());
        }
        let heading = rows.remove(0);
        if !heading.iter().map(String::as_str).take(ATTRIBUTES.len()).eq(ATTRIBUTES) {
            anyhow::bail!(
                "{}: its columns are not those of a history, which start with {}",
                path.display(),
                ATTRIBUTES.join(",")
            );
        }
        Ok(Self { heading, rows })
    }

    /// Adds a row unless it is there; a measure that earlier rows lack is empty in them.
    fn add(&mut self, attributes: [String; 4], values: &[(&'static str, f64)]) -> bool {
        if self.rows.iter().any(|row| row[..ATTRIBUTES.len()] == attributes) {
            return false;
        }
        if self.heading.is_empty() {
            self.heading = ATTRIBUTES.map(str::to_owned).into();
        }
        for (slug, _) in values {
            if !self.heading.iter().any(|column| column == slug) {
                self.heading.push((*slug).to_owned());
            }
        }
        let value = |column: &String| values.iter().find(|(slug, _)| slug == column);
        let columns = self.heading[ATTRIBUTES.len()..].iter();
        let values =
            columns.map(|column| value(column).map(|(_, it)| it.to_string()).unwrap_or_default());
        self.rows.push(attributes.into_iter().chain(values).collect());
        // In the order of time, whichever is exported first.
        self.rows.sort();
        for row in &mut self.rows {
            row.resize(self.heading.len(), String::new());
        }
        true
    }

    fn write(&self, path: &Path) -> Result<()> {
        output::stream(Some(path), |out| {
            let mut out = csv::Writer::from_writer(out);
            out.write_record(&self.heading)?;
            self.rows.iter().try_for_each(|row| out.write_record(row))?;
            Ok(out.flush()?)
        })?;
        Ok(())
    }

    /// The measures that every row has, and those that some row lacks.
    fn metrics(&self) -> (Vec<&'static Field>, Vec<&'static Field>) {
        let columns = self.heading.iter().enumerate().skip(ATTRIBUTES.len());
        let measures = columns.filter_map(|(place, slug)| Field::named(slug).map(|it| (place, it)));
        let full = |place: usize| self.rows.iter().all(|row| !row[place].is_empty());
        let (full, gaps): (Vec<_>, Vec<_>) = measures.partition(|(place, _)| full(*place));
        let measure = |(_, measure)| measure;
        (full.into_iter().map(measure).collect(), gaps.into_iter().map(measure).collect())
    }
}

/// The rows of a file, all as long as the first.
fn rows(text: Vec<u8>) -> Result<Vec<Vec<String>>> {
    thread_local! {
        // One reader for all files: to build its tables takes longer than to read a history.
        static READER: RefCell<csv::Reader<Cursor<Vec<u8>>>> = RefCell::new(
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(Cursor::default()),
        );
    }
    READER.with_borrow_mut(|reader| {
        *reader.get_mut() = Cursor::new(text);
        reader.seek_raw(SeekFrom::Start(0), csv::Position::new())?;
        let mut rows: Vec<Vec<String>> = Vec::new();
        for row in reader.records() {
            let row: Vec<String> = row?.iter().map(str::to_owned).collect();
            let columns = rows.first().map_or(row.len(), Vec::len);
            ensure!(
                row.len() == columns,
                "row {} has {} of {columns} columns",
                rows.len() + 1,
                row.len()
            );
            rows.push(row);
        }
        Ok(rows)
    })
}

/// Adds the report to the histories, and writes the configuration that reads them.
pub fn write(report: &Report, options: &Options, out: &mut dyn Write) -> Result<Notes> {
    let mut notes = super::without_figures(report);
    let mut tests = BTreeMap::new();
    let mut gaps = Gaps::default();
    let mut known = 0;
    let _alone = alone(&options.history)?;
    let entries: Vec<Entry<'_>> = report.entries().collect();
    in_order(
        &entries,
        |entry| Added::from_entry(entry, &options.history),
        |added| {
            let Some(Added { full_id, path, lacking, test, is_new }) = added else { return Ok(()) };
            known += usize::from(!is_new);
            gaps.add(lacking, &path);
            tests.extend(test.map(|test| (full_id, test)));
            Ok(())
        },
    )?;
    notes.extend(gaps.notes());
    if known > 0 {
        notes.push(format!("{} in the histories already", units::count(known, "measurement")));
    }
    out.write_all(if tests.is_empty() { "tests: {}\n" } else { TESTS }.as_bytes())?;
    tests.values().try_for_each(|test| out.write_all(test.as_bytes()))?;
    Ok(notes)
}

/// A case whose history holds its values now.
struct Added {
    full_id: String,
    path: PathBuf,
    /// Measures that some row of the history lacks.
    lacking: Vec<&'static Field>,
    /// The lines of its test; none where every measure is lacking.
    test: Option<String>,
    /// Whether its values were not there before.
    is_new: bool,
}

impl Added {
    /// Adds the values of a case to its history; none where it has no values.
    fn from_entry(entry: &Entry<'_>, histories: &Path) -> Result<Option<Self>> {
        let values: Vec<_> = figures(entry).map(|it| (it.field.name, it.value)).collect();
        if values.is_empty() {
            return Ok(None);
        }
        let path = file(entry, histories);
        let mut history = History::read(&path)?;
        let is_new = history.add(attributes(entry), &values);
        if is_new {
            let folder = path.parent().expect("a file in the folder of histories");
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            history.write(&path)?;
        }
        let (full, lacking) = history.metrics();
        let full_id = entry.row.full_id().to_owned();
        let test = (!full.is_empty()).then(|| test(&full_id, &path, full)).transpose()?;
        Ok(Some(Self { full_id, path, lacking, test, is_new }))
    }
}

/// The first line of the configuration.
const TESTS: &str = "tests:\n";

/// A test as it stands below [`TESTS`].
fn test(full_id: &str, file: &Path, mut measures: Vec<&Field>) -> Result<String> {
    let [time_column, attributes @ ..] = ATTRIBUTES;
    let path = file.to_str();
    let path = path.with_context(|| format!("{}: a path that is not UTF-8", file.display()))?;
    let (id, path) = (scalar(full_id)?, scalar(path)?);
    let mut text = format!(
        "  {id}:\n    type: csv\n    file: {path}\n    time_column: {time_column}\n    attributes:\n"
    );
    text.extend(attributes.map(|attribute| format!("    - {attribute}\n")));
    text.push_str("    metrics:\n");
    measures.sort_unstable_by_key(|measure| measure.name);
    measures.dedup_by_key(|measure| measure.name);
    for Field { name, better, .. } in measures {
        // Our own words need no quotes, and there are a dozen of them in each test.
        let direction = if *better == Some(Better::Bigger) { 1 } else { -1 };
        text.push_str(&format!(
            "      {name}:\n        column: {name}\n        direction: {direction}\n"
        ));
    }
    Ok(text)
}

/// A text of YAML, which is nearly always a path of plain letters.
fn scalar(text: &str) -> Result<Cow<'_, str>> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/_-".contains(letter);
    let is_path = text.contains('/') && text.starts_with(|first: char| first != '-');
    if is_path && text.chars().all(|letter| plain(letter) || letter == '.') {
        return Ok(text.into());
    }
    Ok(serde_yaml::to_string(text)?.trim_end().to_owned().into())
}

/// Lets one export at a time read and write the histories of a folder: of two at once each would
/// lose what the other adds.
fn alone(folder: &Path) -> Result<File> {
    let path = folder.join(".lock");
    let lock = || {
        fs::create_dir_all(folder)?;
        let file = File::create(&path)?;
        file.lock()?;
        io::Result::Ok(file)
    };
    lock().with_context(|| path.display().to_string())
}

/// Measures that are in no test, for rows that lack them, and the histories that it is so in: the
/// first, and how many.
#[derive(Default)]
struct Gaps(BTreeMap<&'static str, (PathBuf, usize)>);

impl Gaps {
    fn add(&mut self, measures: Vec<&'static Field>, path: &Path) {
        for measure in measures {
            self.0.entry(measure.name).or_insert_with(|| (path.to_owned(), 0)).1 += 1;
        }
    }

    fn notes(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|(slug, (path, histories))| {
            let more = match histories - 1 {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            format!(
                "`{slug}` is not in the test of {}{more}: some row lacks it; move the file away to \
                 begin a history that has it",
                path.display()
            )
        })
    }
}

fn file(entry: &Entry<'_>, history: &Path) -> PathBuf {
    let mut path = history.join(entry.row.record.case.id.directory()).into_os_string();
    path.push(".csv");
    path.into()
}

fn attributes(entry: &Entry<'_>) -> [String; 4] {
    let record = &entry.row.record;
    let environment = &record.environment;
    [
        units::rfc3339(record.timestamp),
        environment.git_revision.clone().unwrap_or_default(),
        // In a history of several branches, an empty name could not be asked for.
        environment.git_branch.clone().unwrap_or_else(|| "none".to_owned()),
        record.run_id.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time: &str) -> [String; 4] {
        [time, "1f0c", "main", "run"].map(str::to_owned)
    }

    #[test]
    fn a_row_is_added_once_in_the_order_of_time_and_new_columns_are_empty_before() {
        let mut history = History::default();
        assert!(history.add(row("2026-11-21T00:00:00Z"), &[("latency", 2.0)]));
        assert!(!history.add(row("2026-11-21T00:00:00Z"), &[("latency", 3.0)]));
        assert!(history.add(row("2026-11-20T00:00:00Z"), &[("latency", 1.0), ("energy", 0.5)]));
        assert_eq!(history.heading[4..], ["latency", "energy"]);
        let values: Vec<_> = history.rows.iter().map(|row| row[4..].to_vec()).collect();
        assert_eq!(values, [["1", "0.5"], ["2", ""]]);
        let slugs = |measures: Vec<&Field>| -> Vec<&str> {
            measures.iter().map(|measure| measure.name).collect()
        };
        let (full, gaps) = history.metrics();
        assert_eq!((slugs(full), slugs(gaps)), (vec!["latency"], vec!["energy"]));
    }

    #[test]
    fn a_history_comes_back_as_it_was_and_no_other_file_is_taken_for_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("case.csv");
        assert_eq!(History::read(&path).expect("nothing yet"), History::default());
        let mut history = History::default();
        history.add(row("2026-11-21T00:00:00Z"), &[("latency", 1.25e-3)]);
        history.write(&path).expect("written");
        assert_eq!(History::read(&path).expect("a history"), history);
        for other in ["name,value\na,1\n", "time\n", "time,commit,branch\n1,2,3\n", "\"\"\n"] {
            fs::write(&path, other).expect("written");
            let error = History::read(&path).expect_err(other).to_string();
            assert!(error.ends_with("which start with time,commit,branch,run"), "{error}");
        }
    }
}
