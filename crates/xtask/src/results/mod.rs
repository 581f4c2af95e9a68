//! `cargo xtask results`: measures what the documents publish.

mod entry;
mod header;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use cargo_torch_bench::cargo::{self, CASES_FAILED};
use cargo_torch_bench::error::{Error, Result};
use cargo_torch_bench::files;
use cargo_torch_bench::results::HOME;
use cargo_torch_bench::setup;
use cargo_torch_bench::workspace::{self, Workspace};
use cargo_torch_bench::{eprintln, print};
use entry::{Entry, File};
use header::Header;
use plan::git;

/// Folders of results and of pictures in the clone.
pub const RESULTS: &str = "docs/results";
const IMAGES: &str = "docs/images";

/// The options of `results`.
#[derive(Debug, PartialEq, Eq, clap::Args)]
pub struct Options {
    /// Measure these alone; without a name, all that do not take too long, about 21 minutes
    #[arg(value_name = "NAME", value_parser = entry::parser())]
    names: Vec<&'static Entry>,
    /// Write them from the results in this folder, which a run elsewhere has left, such as a bundle's
    ///
    /// Nothing is measured. The folder has `criterion` and `criterion-torch` in it; commit, date and machine are those of its
    /// records.
    #[arg(long, value_name = "DIR", requires = "names")]
    from: Option<PathBuf>,
    /// The commit of those results, where their records name none: programs that no runner of a bundle has started
    #[arg(long, value_name = "COMMIT", requires = "from")]
    commit: Option<String>,
    /// Print names, how long each takes, and files
    #[arg(long, exclusive = true)]
    list: bool,
}

pub fn command(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let root = workspace.root();
    if options.list {
        print!("{}", entry::list());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(from) = &options.from {
        let place = workspace::current_folder()?.join(from);
        for entry in &options.names {
            write(root, &place, entry, |records| {
                Header::of_records(records, options.commit.clone())
            })?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    clean(root)?;
    setup::ensure(workspace)?;
    for entry in entry::chosen(&options.names) {
        measure(root, entry)?;
    }
    eprintln!("README has the summary: UPDATE_BOOK=1 cargo test -p criterion-torch-documents");
    Ok(ExitCode::SUCCESS)
}

/// A result names a commit, so nothing else may be measured. Documents are not measured, and results
/// are documents.
fn clean(root: &Path) -> Result<()> {
    let changed = git::git(root, &["status", "--porcelain", "--", ".", ":!docs", ":!*.md"])?;
    match changed.lines().next() {
        None => Ok(()),
        Some(first) => Err(Error::new(format!(
            "{} files are not as they are committed, the first: {}",
            changed.lines().count(),
            first.trim()
        ))
        .remedy("commit them, or `git stash --include-untracked`: a result names its commit")),
    }
}

/// Takes a result, in a folder of its own, so that nothing from before is in the reports.
fn measure(root: &Path, entry: &Entry) -> Result<()> {
    eprintln!("{}: about {} min", entry.name, entry.minutes);
    let place = cargo::target(root)?.join("results").join(entry.name);
    files::remove_folder(&place)?;
    files::make_folder(&place)?;
    for line in entry.runs {
        let status = cargo::status(prepared(root, &place, line))?;
        ended(line, status.code())?;
    }
    write(root, &place, entry, |records| Header::new(root, records))
}

/// Writes a result's files from what was measured in a folder.
fn write(
    root: &Path,
    place: &Path,
    entry: &Entry,
    header: impl Fn(&Path) -> Result<Header>,
) -> Result<()> {
    for file in entry.files {
        let mut header = header(&place.join("criterion-torch"))?;
        header.commands(entry.runs.iter().copied().chain([file.command]));
        publish(root, place, file, &header)?;
    }
    Ok(())
}

/// A command whose results are in the folder `place`.
fn prepared(root: &Path, place: &Path, line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(root);
    command.env(HOME, place.join("criterion")).stdin(Stdio::null());
    command
}

/// A measurement with failed cases is a result; one that could not run is none.
fn ended(line: &str, code: Option<i32>) -> Result<()> {
    let measures =
        ["cargo bench", "xtask bench", "compare-torchao"].iter().any(|it| line.contains(it));
    match code {
        Some(0) => Ok(()),
        Some(CASES_FAILED) if measures => {
            eprintln!("warning: `{line}` ended with {CASES_FAILED}: something in it failed");
            Ok(())
        }
        _ => Err(Error::new(format!("`{line}` failed ({code:?})"))),
    }
}

fn publish(root: &Path, place: &Path, file: &File, header: &Header) -> Result<()> {
    let mut command = prepared(root, place, file.command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| cargo::not_run(&command, &error))?;
    ended(file.command, output.status.code())?;
    let folder = match (file.is_picture(), header.folder()) {
        (true, _) => root.join(IMAGES),
        (false, Some(folder)) => root.join(RESULTS).join(folder),
        (false, None) => return Err(Error::new(format!("the machine has no name: {header}"))),
    };
    let path = folder.join(file.name);
    if file.is_picture() {
        files::make_folder(&folder)?;
        picture(place, &output.stdout, &path)?;
        // A picture cannot hold its header.
        files::write(&path.with_extension("txt"), header.to_string())?;
    } else {
        let text = [header.to_string().as_bytes(), &output.stdout].concat();
        files::write(&path, text)?;
    }
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// Has a browser draw the page.
fn picture(place: &Path, html: &[u8], path: &Path) -> Result<()> {
    let page = place.join("report.html");
    files::write(&page, html)?;
    let mut browser = Command::new("chromium");
    let option = |name: &str, value: PathBuf| {
        let mut option = OsString::from(name);
        option.push(value);
        option
    };
    browser
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
        ])
        .args(["--disable-quic", "--disable-background-networking", "--disable-component-update"])
        .args(["--disable-sync", "--window-size=1100,1000"])
        .arg(option("--user-data-dir=", place.join("browser")))
        .arg(option("--screenshot=", path.to_owned()))
        .arg(option("file://", page));
    let before = fs::metadata(path).and_then(|it| it.modified()).ok();
    let output = browser.stdin(Stdio::null()).output().map_err(|error| {
        cargo::not_run(&browser, &error).remedy("install it: apt-get install chromium")
    })?;
    let after = fs::metadata(path).and_then(|it| it.modified()).ok();
    if output.status.success() && after.is_some() && after != before {
        return Ok(());
    }
    Err(Error::new(format!(
        "chromium drew no {} ({}): {}",
        path.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}
