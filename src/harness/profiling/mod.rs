//! The profiling pass: after a run, measured cases are run once more under libtorch's profiler.
//!
//! It runs in separate processes that time nothing, because a profiler may stay attached and slow down later work, and
//! because a process that retains freed memory cannot go back to the system's allocator. The run starts its own
//! executable as a child, once per allocator; an environment variable tells the child its role. The request goes to the
//! child's standard input. On its standard output the child reports, line by line, which case it starts and what it
//! found, so that a crash loses only one case: the next child goes on with the next one.
//!
//! A GPU's counters are read first, in separate children: libtorch's profiler stays attached to CUPTI.

mod case_profile;
mod child;
mod pass;
mod place;

use std::path::{Path, PathBuf};

use plan::{Case, Profile, Profiling};
use regex::Regex;
use serde::{Deserialize, Serialize};

pub use child::{is_child, run as run_child};
pub use pass::Pass;
use place::FOLDER;

/// The parts of a profile that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Operations and a trace.
    pub operations: bool,
    pub memory: bool,
    pub hardware: bool,
}

/// The names of the parts, as `absent` has them.
const OPERATIONS: &str = "operations";
const MEMORY: &str = "memory";
const HARDWARE: &str = "hardware";
/// Why a profile lacks a part that may be asked for later.
const NOT_ASKED: &str = "not asked for; --profile takes all parts";
/// The activity of a GPU, which a profile may lack although it has the host's operations.
const DEVICE: &str = "device";

impl Wanted {
    /// The parts that `--profile` or the case's config asks for; empty if neither asks for any.
    pub fn for_case(case: &Case, pattern: Option<&Regex>) -> Option<Self> {
        let by_flag = pattern.is_some_and(|pattern| pattern.is_match(&case.full_id()));
        let Profiling { profiler, memory } = case.profiling;
        let wanted = Self {
            operations: by_flag || profiler,
            memory: by_flag || memory,
            hardware: by_flag || profiler,
        };
        (wanted.operations || wanted.memory).then_some(wanted)
    }

    /// Splits into the counters, if they are wanted, and the other parts.
    fn counters_first(self) -> (Option<Self>, Self) {
        let counters = Self { operations: false, memory: false, hardware: true };
        (self.hardware.then_some(counters), Self { hardware: false, ..self })
    }

    /// Whether only counters are asked for, because another child takes the other parts.
    fn is_counters_alone(self) -> bool {
        self.hardware && !self.operations && !self.memory
    }

    /// Whether it has a part with files.
    const fn writes(self) -> bool {
        self.operations || self.memory
    }

    /// Each part with its name.
    fn parts(self) -> [(&'static str, bool); 3] {
        [(OPERATIONS, self.operations), (MEMORY, self.memory), (HARDWARE, self.hardware)]
    }

    /// Whether an earlier profile has these parts, or says why it has not. Its files are in `root`.
    pub fn is_in(self, profile: Option<&Profile>, root: &Path) -> bool {
        profile.is_some_and(|it| {
            let was_asked = |name| it.absent.get(name).is_none_or(|reason| reason != NOT_ASKED);
            self.parts().iter().all(|(name, wanted)| !wanted || was_asked(*name))
                && it.files.iter().all(|file| {
                    std::fs::read(root.join(&file.path)).is_ok_and(|content| file.has(&content))
                })
        })
    }

    /// Records a reason for each absent part: `failed` for those that were asked for.
    fn explain(self, profile: &mut Profile, failed: &str) {
        let counted = profile.hardware.is_some() || profile.gpu.is_some();
        let is_there = [profile.steps > 0, profile.memory.is_some(), counted];
        for ((name, wanted), is_there) in self.parts().into_iter().zip(is_there) {
            if !is_there {
                let reason = if wanted { failed } else { NOT_ASKED };
                profile.absent.entry(name.to_owned()).or_insert_with(|| reason.to_owned());
            }
        }
    }
}

/// A child's task.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    /// The folder of the records.
    root: PathBuf,
    /// The ids of its cases, in order.
    cases: Vec<(String, Wanted)>,
}

/// A message from the child, one per line.
#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Starts(String),
    Ends(String, Box<Profile>),
}
