//! The pass as the run sees it: children, their progress, and what they found.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use plan::{Allocator, Case, Profile};

use super::child::CHILD;
use super::{FOLDER, HARDWARE, Message, Request, Wanted};
use crate::harness::clock::Stopwatch;
use crate::harness::progress::Progress;

/// Until it is known better, in seconds.
const TYPICAL_CASE_S: f64 = 0.5;

/// The pass over some cases.
pub struct Pass<'a> {
    /// The folder of the records.
    pub root: PathBuf,
    /// Keeps the profile of the case with an id.
    pub keep: &'a mut dyn FnMut(&str, Profile) -> Result<(), String>,
    progress: Progress,
    cases: usize,
    /// Cases without the operations or the memory that were asked for.
    failed: usize,
    bytes: u64,
}

/// A case of the pass.
struct Asked {
    id: String,
    wanted: Wanted,
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
    /// Those of `keep`: nothing more is profiled then. A case that cannot be profiled is none.
    pub fn run(
        root: PathBuf,
        cases: &[(&Case, Wanted)],
        keep: &'a mut dyn FnMut(&str, Profile) -> Result<(), String>,
    ) -> Result<(), String> {
        let watch = Stopwatch::start();
        let progress = cases.iter().map(|(case, _)| (case.full_id(), TYPICAL_CASE_S));
        let progress = Progress::of("profiling ", progress);
        let mut pass = Self { root, keep, progress, cases: cases.len(), failed: 0, bytes: 0 };
        for allocator in [Allocator::System, Allocator::Retained] {
            let of_it = cases.iter().filter(|(case, _)| case.settings.allocator == allocator);
            pass.children(
                of_it.map(|(case, wanted)| Asked { id: case.full_id(), wanted: *wanted }).collect(),
            )?;
        }
        eprintln!("{}", pass.summary(watch.seconds()));
        Ok(())
    }

    /// Profiles the cases in as many children as it takes.
    fn children(&mut self, mut left: VecDeque<Asked>) -> Result<(), String> {
        while !left.is_empty() {
            let Some(Death { reason, at_case }) = self.child(&mut left)? else { continue };
            // A child that does not come as far as a case would not do so again.
            let lost = if at_case { 1 } else { left.len() };
            for asked in left.drain(..lost).collect::<Vec<_>>() {
                let mut profile = Profile::default();
                asked.wanted.explain(&mut profile, &reason);
                self.ends(&asked, profile)?;
            }
        }
        Ok(())
    }

    /// One child; the cases that it has profiled are no longer `left`.
    fn child(&mut self, left: &mut VecDeque<Asked>) -> Result<Option<Death>, String> {
        let died = |reason: String| Ok(Some(Death { reason, at_case: false }));
        let mut child = match self.spawn(left) {
            Ok(child) => child,
            Err(error) => return died(format!("its process cannot be started: {error}")),
        };
        let mut at_case = false;
        let out = child.stdout.take().expect("it is piped");
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Message::Starts(id)) => {
                    at_case = true;
                    drop(self.progress.next(&id, 0.0));
                }
                Ok(Message::Ends(id, profile)) => {
                    at_case = false;
                    if left.front().is_some_and(|asked| asked.id == id)
                        && let Some(asked) = left.pop_front()
                    {
                        self.ends(&asked, *profile)?;
                    }
                }
                Err(error) => eprintln!("note: a profiling process said `{line}`: {error}"),
            }
        }
        let status = match child.wait() {
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
            // It would call the missing driver an error.
            command.env(LOG_LEVEL, NOTHING);
        }
        let cases = left.iter().map(|asked| (asked.id.clone(), asked.wanted)).collect();
        let request = serde_json::to_vec(&Request { root: self.root.clone(), cases })?;
        let mut child = command.spawn()?;
        // A child that is gone by now says so by its status.
        drop(child.stdin.take().expect("it is piped").write_all(&request));
        Ok(child)
    }

    fn ends(&mut self, asked: &Asked, profile: Profile) -> Result<(), String> {
        let Asked { id, wanted } = asked;
        let missed: Vec<(&str, &String)> = wanted
            .parts()
            .into_iter()
            // Many machines have no counters, which the record says.
            .filter(|(name, wanted)| *wanted && *name != HARDWARE)
            .filter_map(|(name, _)| Some((name, profile.absent.get(name)?)))
            .collect();
        for (name, reason) in &missed {
            eprintln!("{id}: its profile has no {name}: {reason}");
        }
        self.failed += usize::from(!missed.is_empty());
        self.bytes += profile.files.iter().map(|file| file.bytes).sum::<u64>();
        self.progress.done(id, 0.0);
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

/// Kineto's variable for what it logs, and the level at which it is silent.
const LOG_LEVEL: &str = "KINETO_LOG_LEVEL";
const NOTHING: &str = "5";

#[cfg(test)]
#[path = "pass_tests.rs"]
mod tests;
