//! `csv --torchao-output`: the folders that torchao's runner leaves, `<output_dir>/<mode>` for each config, with the
//! results and what the profiler wrote.

mod place;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use indexmap::IndexSet;
use plan::{Mode, ProfileFile};

use crate::export::csv::{self, Layout};
use crate::model::Row;
use crate::output;
use crate::read::Report;
use crate::read::profile_files::is_inside;
use crate::render::units;
use crate::views::{profile, written::Notes};
use place::{CasePaths, Kind};

/// The modes of torchao's runner.
pub const MODES: &[Mode] = &[Mode::Inference, Mode::Training];

/// The written files: a line for each folder, and remarks.
#[derive(Debug, Default)]
pub struct Written {
    pub lines: Vec<String>,
    pub notes: Notes,
}

/// Writes the folders for a report's cases: into `folder` if it is given, else into the `output_dir` of each config.
/// `now` is in seconds since the Unix epoch.
pub fn write(
    report: &mut Report,
    options: &csv::Options,
    folder: Option<&Path>,
    now: u64,
) -> Result<Written> {
    let Some(records) = report.records.clone() else {
        bail!("--torchao-output copies traces from the folder of the records: omit --from");
    };
    if options.layout == Layout::Training {
        bail!("--torchao-output takes the layout of training for its cases alone: omit --layout");
    }
    let of = |row: &Row| Folder::from_row(row, folder);
    let folders: IndexSet<Folder> = report.entries().map(|entry| of(entry.row)).collect();
    if folders.is_empty() {
        bail!("no record of a model; measure first with `cargo bench --bench inference`");
    }
    if folder.is_none() {
        folders.iter().try_for_each(Folder::stays_here)?;
    }
    let mut written = Written::default();
    for folder in &folders {
        report.showing(
            |row| of(row) == *folder,
            |report| {
                let copied = copy(report, folder, &records, &mut written.notes)?;
                let options = csv::Options { layout: folder.layout(options), ..options.clone() };
                let (file, notes) = results(report, &folder.path, &options, now)?;
                written.notes.extend(notes);
                let cases = units::count(report.entries().count(), "case");
                written.lines.push(format!("{}: {cases}{copied}", file.display()));
                anyhow::Ok(())
            },
        )?;
    }
    let missing = report.missing.iter().map(|case| format!("{}: {}", case.full_id, case.reason));
    written.notes.extend(missing);
    Ok(written)
}

/// `<output_dir>/<mode>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Folder {
    path: PathBuf,
    mode: Mode,
}

impl Folder {
    fn from_row(row: &Row, instead: Option<&Path>) -> Self {
        let case = &row.record.case;
        let folder = instead.unwrap_or(Path::new(&case.settings.output_dir));
        Self { path: folder.join(case.mode.as_str()), mode: case.mode }
    }

    /// Refuses an `output_dir` that leads out of the current folder: a record may be of somebody else's config.
    fn stays_here(&self) -> Result<()> {
        let here = Path::new(".").canonicalize().context("the current folder")?;
        // A path that does not exist yet is no link.
        let real = self.path.ancestors().find_map(|it| it.canonicalize().ok());
        let is_inside = self.path.to_str().is_some_and(is_inside);
        if !is_inside || real.is_some_and(|real| !real.starts_with(&here)) {
            bail!(
                "the output_dir of a record leads out of the current folder, to {}: say where to write with \
                 --torchao-output=FOLDER",
                self.path.display()
            );
        }
        Ok(())
    }

    fn layout(&self, options: &csv::Options) -> Layout {
        if self.mode == Mode::Training { Layout::Training } else { options.layout }
    }
}

/// Copies the profiles of the shown cases and makes their records name the copies. Returns a text with the number of
/// files of each kind.
fn copy(report: &mut Report, folder: &Folder, records: &Path, notes: &mut Notes) -> Result<String> {
    let places = CasePaths::from_rows(report.entries().map(|entry| entry.row));
    let mut copied: BTreeMap<Kind, usize> = BTreeMap::new();
    for row in report.shown_mut() {
        let place = places.of_case(row);
        let id = row.full_id().to_owned();
        let Some(profile) = &mut row.record.profile else { continue };
        let mut files = Vec::new();
        for file in std::mem::take(&mut profile.files) {
            let Some(source) = profile::file(records, &file.path) else {
                notes.push(format!("{id}: {} is no longer there", file.path));
                continue;
            };
            let kind = Kind::from_profile_file(file.kind);
            let target = folder.path.join(place.file(kind, &source));
            put(kind, &source, &target)?;
            *copied.entry(kind).or_insert(0) += 1;
            files.push(ProfileFile { path: target.to_string_lossy().into_owned(), ..file });
        }
        profile.files = files;
        notes.extend(profile.absent.get("files").map(|why| format!("{id}: files {why}")));
    }
    notes.extend(places.shared().map(|name| {
        format!(
            "{}: several cases have the name {name}; each lies in a folder of its id",
            folder.path.display()
        )
    }));
    let said = |(kind, count): (&Kind, &usize)| format!(", {}", units::count(*count, kind.noun()));
    Ok(copied.iter().map(said).collect())
}

/// Writes beside the target, then takes its place.
fn put(kind: Kind, source: &Path, target: &Path) -> Result<()> {
    make_folder(target)?;
    let read =
        |error| anyhow::Error::new(error).context(format!("cannot read {}", source.display()));
    if kind == Kind::Page {
        let svg = fs::read_to_string(source).map_err(read)?;
        return output::put(&profile::page(&svg, target), Some(target));
    }
    let mut file = fs::File::open(source).map_err(read)?;
    output::stream(Some(target), |out| Ok(std::io::copy(&mut file, out)?))?;
    Ok(())
}

fn make_folder(of: &Path) -> Result<()> {
    let folder = of.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Writes the CSV of the shown cases under an unused file name.
fn results(
    report: &Report,
    folder: &Path,
    options: &csv::Options,
    now: u64,
) -> Result<(PathBuf, Notes)> {
    let moment = stamp(now);
    let mut names = (1..).map(|number| match number {
        1 => format!("results_{moment}.csv"),
        _ => format!("results_{moment}_{number}.csv"),
    });
    let is_free = |file: &PathBuf| !file.exists();
    let file = names.find_map(|name| Some(folder.join(name)).filter(is_free));
    let file = file.expect("numbers do not end");
    make_folder(&file)?;
    let notes = output::stream(Some(&file), |out| csv::write(report, options, out))?;
    Ok((file, notes.unwrap_or_default()))
}

/// A moment as torchao names files, `%d%m%Y_%H%M%S`, in UTC.
fn stamp(now: u64) -> String {
    let moment = units::rfc3339(now);
    let part = |from: usize, to: usize| &moment[from..to];
    let (year, month, day) = (part(0, 4), part(5, 7), part(8, 10));
    format!("{day}{month}{year}_{}{}{}", part(11, 13), part(14, 16), part(17, 19))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_named_as_upstream_names_it() {
        // python3 -c "print(datetime.fromtimestamp(1763647391, UTC).strftime('%d%m%Y_%H%M%S'))"
        assert_eq!(stamp(1_763_647_391), "20112025_140311");
    }
}
