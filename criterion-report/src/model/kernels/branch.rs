//! Reads the history in a branch of the repository: summaries of earlier runs, which CI commits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use super::past::Past;
use crate::model::compare::Point;
use crate::units;

/// Files that are read at most, the latest first.
const MOST_FILES: usize = 256;

/// The latest results in the history of a branch.
#[derive(Debug)]
pub struct BranchHistory {
    pub points: Vec<Point>,
    /// The files and the commit of the results, as a text for people.
    pub source: String,
    /// Why some files are left out.
    pub unusable: Vec<anyhow::Error>,
}

impl BranchHistory {
    /// Reads the history of `branch` in the repository of `folder`; `None` if there is no repository, or no such
    /// branch.
    ///
    /// A clone of one branch, as most shallow clones are, does not have the others: then the branch is fetched into
    /// `FETCH_HEAD` only. For each case of `now`, the latest result on the same machine is taken, or else the latest on
    /// any.
    pub fn read(folder: &Path, branch: &str, now: &[Point]) -> Result<Option<Self>> {
        let Some((reference, commit)) = resolve(folder, branch)? else { return Ok(None) };
        let tree = format!("{commit}:./{}", plan::HISTORY);
        let Some(names) = ask(folder, &["ls-tree", "--name-only", &tree])? else {
            let (short, history) = (&commit[..commit.len().min(12)], plan::HISTORY);
            bail!(
                "`{branch}` is a branch, {reference} at {short}, without a folder {history}: let CI commit \
                 results there, or measure it and save a baseline of that name"
            );
        };
        let mut files: Vec<&str> = names.lines().filter(|name| name.ends_with(".json")).collect();
        // The names begin with a timestamp, so this sorts by time.
        files.sort_unstable();
        let mut found = Found::new(now);
        let mut unusable = Vec::new();
        for name in files.iter().rev().take(MOST_FILES) {
            let path = format!("{}/{name}", plan::HISTORY);
            let text = git(folder, &["cat-file", "blob", &format!("{tree}/{name}")])?;
            if !text.status.success() {
                bail!("git cannot read {tree}/{name}: {}", String::from_utf8_lossy(&text.stderr));
            }
            match Past::of_text(text.stdout.as_slice(), Path::new(&path)) {
                Ok(past) => found.add(path, past),
                Err(error) => unusable.push(error.context(format!("{reference} at {commit}"))),
            }
            if found.is_complete() {
                break;
            }
        }
        if found.runs.is_empty() {
            bail!("{} of {reference} at {commit} holds no results", plan::HISTORY);
        }
        let (points, used) = found.chosen();
        let source = said(&reference, &commit, &used);
        Ok(Some(Self { points, source, unusable }))
    }
}

/// The runs that were read, the latest first.
struct Found<'n> {
    now: &'n [Point],
    runs: Vec<(String, Past)>,
    /// Current cases for which no result on the same machine was found yet.
    sought: BTreeSet<&'n str>,
}

impl<'n> Found<'n> {
    fn new(now: &'n [Point]) -> Self {
        Self { now, runs: Vec::new(), sought: now.iter().map(|it| it.full_id.as_str()).collect() }
    }

    fn add(&mut self, path: String, past: Past) {
        for point in &past.points {
            if self.is_of_this_machine(point) {
                self.sought.remove(point.full_id.as_str());
            }
        }
        self.runs.push((path, past));
    }

    fn is_of_this_machine(&self, point: &Point) -> bool {
        self.now.iter().any(|it| it.full_id == point.full_id && it.host == point.host)
    }

    /// Whether older files can add nothing. All files of the latest commit are read.
    fn is_complete(&self) -> bool {
        let commits: BTreeSet<_> = self.runs.iter().map(|(_, past)| &past.commit).collect();
        self.sought.is_empty() && commits.len() > 1
    }

    /// The results of the current cases and of the other cases of the latest commit, with the names of their files.
    fn chosen(mut self) -> (Vec<Point>, Vec<String>) {
        self.runs.sort_by(|(_, a), (_, b)| b.timestamp.cmp(&a.timestamp));
        let latest = self.runs[0].1.commit.clone();
        let of_now: BTreeSet<&str> = self.now.iter().map(|it| it.full_id.as_str()).collect();
        let mut chosen: BTreeMap<&str, (bool, &str, &Point)> = BTreeMap::new();
        for (path, past) in &self.runs {
            for point in &past.points {
                let id = point.full_id.as_str();
                if past.commit != latest && !of_now.contains(id) {
                    continue;
                }
                let is_here = self.is_of_this_machine(point);
                let known = chosen.get(id);
                if known.is_none_or(|(was_here, ..)| is_here && !was_here) {
                    chosen.insert(id, (is_here, path, point));
                }
            }
        }
        let used: BTreeSet<&str> = chosen.values().map(|(_, path, _)| *path).collect();
        let used = used.into_iter().rev().map(str::to_owned).collect();
        (chosen.into_values().map(|(_, _, point)| point.clone()).collect(), used)
    }
}

/// The reference and the commit of a branch.
fn resolve(folder: &Path, branch: &str) -> Result<Option<(String, String)>> {
    let commit = |name: &str| {
        let commit = format!("{name}^{{commit}}");
        ask(folder, &["rev-parse", "--quiet", "--verify", "--end-of-options", &commit])
    };
    for reference in plan::branch_references(branch) {
        if let Some(commit) = commit(&reference)? {
            return Ok(Some((shortened(&reference).to_owned(), commit)));
        }
    }
    if ask(folder, &["remote", "get-url", "origin"])?.is_none() {
        return Ok(None);
    }
    let head = format!("refs/heads/{branch}");
    if ask(folder, &["check-ref-format", &head])?.is_none()
        || ask(folder, &["ls-remote", "--exit-code", "origin", &head])?.is_none()
    {
        return Ok(None);
    }
    let is_shallow = ask(folder, &["rev-parse", "--is-shallow-repository"])?;
    let mut fetch = vec!["fetch", "--quiet", "--no-tags"];
    if is_shallow.as_deref() == Some("true") {
        // In a full clone, `--depth` would make it shallow.
        fetch.push("--depth=1");
    }
    fetch.extend(["origin", &head]);
    let fetched = git(folder, &fetch)?;
    if !fetched.status.success() {
        let why = String::from_utf8_lossy(&fetched.stderr);
        bail!("the branch `{branch}` cannot be fetched: {}", why.trim());
    }
    let commit = commit("FETCH_HEAD")?.context("git fetched nothing")?;
    Ok(Some((format!("{branch}, just fetched from origin,"), commit)))
}

fn shortened(reference: &str) -> &str {
    let without = |prefix| reference.strip_prefix(prefix);
    without("refs/remotes/").or_else(|| without("refs/heads/")).unwrap_or(reference)
}

fn said(reference: &str, commit: &str, files: &[String]) -> String {
    let commit = &commit[..commit.len().min(12)];
    let more = files.len().saturating_sub(1);
    let more =
        if more > 0 { format!(" and {} more", units::count(more, "file")) } else { String::new() };
    let first = files.first().map_or("no file", String::as_str);
    format!("{first}{more} of {reference} at {commit}")
}

/// The output of git; `None` if it fails or is not installed.
fn ask(folder: &Path, arguments: &[&str]) -> Result<Option<String>> {
    let Ok(output) = git(folder, arguments) else { return Ok(None) };
    if !output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8(output.stdout).context("git printed no UTF-8")?;
    Ok(Some(text.trim_end().to_owned()))
}

fn git(folder: &Path, arguments: &[&str]) -> Result<Output> {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(arguments);
    // Git must not wait for a password that nobody types.
    git.env("GIT_TERMINAL_PROMPT", "0");
    git.output().context("cannot run git")
}
