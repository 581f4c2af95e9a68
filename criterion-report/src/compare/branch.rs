//! Reads the history in a branch of the repository: summaries of earlier runs, which CI commits.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail};
use plan::git::{self, git};
use plan::history;

use super::past::Past;
use super::point::Point;
use crate::order::{Order as _, Sorted as _};
use crate::render::units;

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
        let history = format!("{}/", plan::HISTORY);
        let paths = git(folder, &["ls-tree", "--name-only", &commit, "--", &history])?;
        if paths.is_empty() {
            let short = &commit[..commit.len().min(12)];
            bail!(
                "`{branch}` is a branch, {reference} at {short}, without a folder {}: let CI commit results \
                 there, or measure it and save a baseline of that name",
                plan::HISTORY
            );
        }
        let mut files: Vec<&str> = paths.lines().filter(|path| path.ends_with(".json")).collect();
        // The names begin with a timestamp, so this sorts by time.
        files.sort_unstable();
        let mut found = HistorySearch::new(now);
        let mut unusable = Vec::new();
        for &path in files.iter().rev().take(MOST_FILES) {
            let text = git(folder, &["cat-file", "blob", &format!("{commit}:./{path}")])?;
            match Past::of_text(text.as_bytes(), Path::new(path)) {
                Ok(past) => found.add(path.to_owned(), past),
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
        let source = source_text(&reference, &commit, &used);
        Ok(Some(Self { points, source, unusable }))
    }
}

/// The runs that were read, the latest first.
struct HistorySearch<'n> {
    now: &'n [Point],
    runs: Vec<(String, Past)>,
    /// Current cases for which no result on the same machine was found yet.
    sought: BTreeSet<&'n str>,
}

impl<'n> HistorySearch<'n> {
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
        let commits: BTreeSet<_> = self.runs.iter().map(|(_, past)| &past.commit).sorted_set();
        self.sought.is_empty() && commits.len() > 1
    }

    /// The results of the current cases and of the other cases of the latest commit, with the names of their files.
    fn chosen(mut self) -> (Vec<Point>, Vec<String>) {
        self.runs.order_by(|(_, a), (_, b)| b.timestamp.cmp(&a.timestamp));
        let latest = self.runs[0].1.commit.clone();
        let of_now: BTreeSet<&str> = self.now.iter().map(|it| it.full_id.as_str()).sorted_set();
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
        let used: BTreeSet<&str> = chosen.values().map(|(_, path, _)| *path).sorted_set();
        let used = used.into_iter().rev().map(str::to_owned).collect();
        (chosen.into_values().map(|(_, _, point)| point.clone()).collect(), used)
    }
}

/// The reference and the commit of a branch.
fn resolve(folder: &Path, branch: &str) -> Result<Option<(String, String)>> {
    match history::may_be_branch(folder, branch) {
        // Without git there is no repository that could be asked.
        Err(git::Error::Start(error)) if error.kind() == ErrorKind::NotFound => return Ok(None),
        answer => {
            if !answer? {
                return Ok(None);
            }
        }
    }
    if let Some((reference, commit)) = history::branch(folder, branch)? {
        return Ok(Some((shortened(&reference).to_owned(), commit)));
    }
    let is_there = history::is_at_origin(folder, branch).with_context(|| {
        format!(
            "`{branch}` is no saved baseline, and whether origin has a branch of that name is unknown: \
             measure it and save a baseline, or run `git fetch origin {branch}:refs/remotes/origin/{branch}`"
        )
    })?;
    if !is_there {
        return Ok(None);
    }
    let is_shallow = git(folder, &["rev-parse", "--is-shallow-repository"])? == "true";
    let mut fetch = vec!["fetch", "--quiet", "--no-tags"];
    if is_shallow {
        // In a full clone, `--depth` would make it shallow.
        fetch.push("--depth=1");
    }
    let head = format!("refs/heads/{branch}");
    fetch.extend(["origin", &head]);
    git(folder, &fetch).with_context(|| format!("the branch `{branch}` cannot be fetched"))?;
    let commit = history::commit(folder, "FETCH_HEAD")?.context("git fetched nothing")?;
    Ok(Some((format!("{branch}, just fetched from origin,"), commit)))
}

fn shortened(reference: &str) -> &str {
    let without = |prefix| reference.strip_prefix(prefix);
    without("refs/remotes/").or_else(|| without("refs/heads/")).unwrap_or(reference)
}

fn source_text(reference: &str, commit: &str, files: &[String]) -> String {
    let commit = &commit[..commit.len().min(12)];
    let more = files.len().saturating_sub(1);
    let more =
        if more > 0 { format!(" and {} more", units::count(more, "file")) } else { String::new() };
    let first = files.first().map_or("no file", String::as_str);
    format!("{first}{more} of {reference} at {commit}")
}
