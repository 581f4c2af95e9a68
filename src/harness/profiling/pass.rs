//! The parent's side of the profiling pass: starts children, shows progress, and collects results.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use plan::{Allocator, Case, Device, Profile};

use super::child::CHILD;
use super::{DEVICE, FOLDER, HARDWARE, Message, Request, Wanted, place};
use crate::harness::clock::Stopwatch;
use crate::harness::failure::Failure;
use crate::harness::progress::Progress;
use crate::harness::streams;

/// Expected seconds per case until the first case has ended.
const TYPICAL_CASE_S: f64 = 0.5;

/// The pass over some cases.
pub struct Pass<'a> {
    /// The folder of the records.
    pub root: PathBuf,
    /// Keeps the profile of the case with an id.
    pub keep: &'a mut dyn FnMut(&str, Profile) -> Result<(), Failure>,
    progress: Progress,
    /// GPU counters from the children that only count, by id.
    counted: HashMap<String, Profile>,
    cases: usize,
    /// Cases without the operations or the memory that were asked for.
    failed: usize,
    bytes: u64,
}

/// A case of the pass.
struct Asked {
    id: String,
    wanted: Wanted,
    /// The folder of its files, in the folder of the records.
    folder: PathBuf,
}

impl Asked {
    /// The parts asked for, in the order of the children that take them.
    fn new((case, wanted): &(&Case, Wanted)) -> [Option<Self>; 2] {
        let (first, then) = match case.device {
            Device::Cuda => wanted.counters_first(),
            _ => (None, *wanted),
        };
        let asked = |wanted| Self { id: case.full_id(), wanted, folder: place::folder(case) };
        [first, Some(then)].map(|wanted| wanted.map(asked))
    }

    /// Its name in the progress line.
    fn name(&self) -> String {
        let part = if self.wanted.is_counters_alone() { ", counters" } else { "" };
        format!("{}{part}", self.id)
    }
}

/// A child that does not outlive this: whatever ends the pass, no process goes on profiling for nobody.
struct Attended(Child);

impl Drop for Attended {
    fn drop(&mut self) {
        // Neither does anything to a child that was waited for, and there is nobody to tell of a failure.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The end of a child that did not profile all of its cases.
struct Death {
    reason: String,
    /// Whether a case had started.
    at_case: bool,
}

impl<'a> Pass<'a> {
    /// Profiles the cases, those first that want the system's allocator.
    ///
    /// # Errors
    /// The errors of `keep`, which end the pass. A case that cannot be profiled is not an error.
    pub fn run(
        root: PathBuf,
        cases: &[(&Case, Wanted)],
        keep: &'a mut dyn FnMut(&str, Profile) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let watch = Stopwatch::start();
        let asked = cases.iter().flat_map(Asked::new).flatten();
        let progress =
            Progress::with_activity("profiling ", asked.map(|it| (it.name(), TYPICAL_CASE_S)));
        let (counted, cases_count) = (HashMap::new(), cases.len());
        let mut pass =
            Self { root, keep, progress, counted, cases: cases_count, failed: 0, bytes: 0 };
        for allocator in [Allocator::System, Allocator::Retained] {
            let of_it = cases.iter().filter(|(case, _)| case.settings.allocator == allocator);
            let (first, then): (Vec<_>, Vec<_>) =
                of_it.map(Asked::new).map(|[a, b]| (a, b)).unzip();
            pass.children(first.into_iter().flatten().collect())?;
            pass.children(then.into_iter().flatten().collect())?;
        }
        eprintln!("{}", pass.summary(watch.seconds()));
        Ok(())
    }

    /// Profiles the cases in as many children as it takes.
    fn children(&mut self, mut left: VecDeque<Asked>) -> Result<(), Failure> {
        while !left.is_empty() {
            let Some(Death { reason, at_case }) = self.child(&mut left)? else { continue };
            // A child that died before its first case would die again, so all remaining cases are lost.
            let lost = if at_case { 1 } else { left.len() };
            for asked in left.drain(..lost).collect::<Vec<_>>() {
                let mut profile = Profile::default();
                let reason = if at_case { self.cleared(&asked, &reason) } else { reason.clone() };
                asked.wanted.explain(&mut profile, &reason);
                self.ends(&asked, profile)?;
            }
        }
        Ok(())
    }

    /// Removes what a child that died at a case has written for it, which no record names: the reason of its death, and
    /// that of what could not be removed.
    fn cleared(&self, asked: &Asked, reason: &str) -> String {
        if asked.wanted.is_counters_alone() {
            return reason.to_owned();
        }
        match place::clear(&self.root.join(&asked.folder)) {
            Ok(()) => reason.to_owned(),
            Err(error) => format!("{reason}; its unfinished files are still there: {error}"),
        }
    }

    /// One child; the cases that it has profiled are no longer `left`.
    fn child(&mut self, left: &mut VecDeque<Asked>) -> Result<Option<Death>, Failure> {
        match self.spawn(left) {
            Ok(child) => self.follow(Attended(child), left),
            Err(error) => {
                let reason = format!("its process cannot be started: {error}");
                Ok(Some(Death { reason, at_case: false }))
            }
        }
    }

    /// Keeps what a child says, until it ends or cannot be understood any more.
    fn follow(
        &mut self,
        mut child: Attended,
        left: &mut VecDeque<Asked>,
    ) -> Result<Option<Death>, Failure> {
        let mut at_case = false;
        let out = child.0.stdout.take().expect("it is piped");
        for line in BufReader::new(out).lines() {
            let line = match line {
                Ok(line) => line,
                Err(error) => {
                    let reason =
                        format!("its messages cannot be read, so its process was ended: {error}");
                    return Ok((!left.is_empty()).then_some(Death { reason, at_case }));
                }
            };
            match serde_json::from_str(&line) {
                Ok(Message::Starts(id)) => {
                    at_case = true;
                    let name = left.front().filter(|asked| asked.id == id).map(Asked::name);
                    drop(self.progress.next(&name.unwrap_or(id), 0.0));
                }
                Ok(Message::Ends(id, profile)) => {
                    at_case = false;
                    if left.front().is_some_and(|asked| asked.id == id)
                        && let Some(asked) = left.pop_front()
                    {
                        self.ends(&asked, *profile)?;
                    }
                }
                Err(error) => {
                    streams::say(&format!("note: a profiling process said `{line}`: {error}"));
                }
            }
        }
        let status = match child.0.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let reason = format!("its process ended: {status}");
        Ok((!left.is_empty()).then_some(Death { reason, at_case }))
    }

    /// A child with its request.
    fn spawn(&self, left: &VecDeque<Asked>) -> std::io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args_os().skip(1)).env(CHILD, std::process::id().to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if !tch::Cuda::is_available() && std::env::var_os(LOG_LEVEL).is_none() {
            // Kineto would log a missing driver as an error.
            command.env(LOG_LEVEL, NOTHING);
        }
        let cases = left.iter().map(|asked| (asked.id.clone(), asked.wanted)).collect();
        let request = serde_json::to_vec(&Request { root: self.root.clone(), cases })?;
        let mut child = command.spawn()?;
        // If the child has already died, its exit status reports that.
        drop(child.stdin.take().expect("it is piped").write_all(&request));
        Ok(child)
    }

    fn ends(&mut self, asked: &Asked, mut profile: Profile) -> Result<(), Failure> {
        self.progress.done(&asked.name(), 0.0);
        let Asked { id, wanted, .. } = asked;
        if wanted.is_counters_alone() {
            self.counted.insert(id.clone(), profile);
            return Ok(());
        }
        if let Some(counted) = self.counted.remove(id) {
            with_counters(&mut profile, counted);
        }
        let missed: Vec<(&str, &String)> = wanted
            .parts()
            .into_iter()
            .chain([(DEVICE, wanted.operations)])
            // Missing counters are no failure: many machines have none, and the record gives the reason.
            .filter(|(name, wanted)| *wanted && *name != HARDWARE)
            .filter_map(|(name, _)| Some((name, profile.absent.get(name)?)))
            .collect();
        for (name, reason) in &missed {
            streams::say(&format!("{id}: its profile has no {name}: {reason}"));
        }
        self.failed += usize::from(!missed.is_empty());
        self.bytes += profile.files.iter().map(|file| file.bytes).sum::<u64>();
        (self.keep)(id, profile)
    }

    fn summary(&self, seconds: f64) -> String {
        let Self { cases, failed, bytes, .. } = self;
        let noun = if *cases == 1 { "case" } else { "cases" };
        let failed = match failed {
            0 => String::new(),
            failed => format!(" ({failed} with parts missing)"),
        };
        let (megabytes, folder) = (*bytes as f64 / 1e6, self.root.join(FOLDER));
        let folder = folder.display();
        format!("profiles: {cases} {noun}{failed}, {megabytes:.1} MB, {seconds:.1} s: {folder}")
    }
}

/// Adds the counters of the counting child to the profile, or the reason why there are none.
fn with_counters(profile: &mut Profile, mut counted: Profile) {
    (profile.hardware, profile.gpu) = (counted.hardware, counted.gpu);
    profile.absent.remove(HARDWARE);
    profile.absent.extend(counted.absent.remove_entry(HARDWARE));
}

/// Kineto's environment variable for its log level, and the level at which it logs nothing.
const LOG_LEVEL: &str = "KINETO_LOG_LEVEL";
const NOTHING: &str = "5";

#[cfg(test)]
#[path = "pass_tests.rs"]
mod tests;
