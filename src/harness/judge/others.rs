//! Processes of the run that are neither the judge nor the process that forks kernels: the harness, and what a kernel has
//! started in it.

use std::collections::BTreeSet;
use std::io;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

/// Processes that stand still until this is dropped: none of them can work for a kernel that is being timed.
#[derive(Debug)]
pub struct Paused(BTreeSet<Pid>);

impl Paused {
    /// Stops all descendants of this process, but one and its own.
    ///
    /// # Errors
    /// When the system does not list processes.
    pub fn all_but(one: Pid) -> Result<Self, String> {
        let mut paused = Self(BTreeSet::new());
        loop {
            let found = descendants(one).map_err(|error| format!("/proc: {error}"))?;
            // One of them may have started another meanwhile.
            let new: Vec<Pid> = found.difference(&paused.0).copied().collect();
            if new.is_empty() {
                return Ok(paused);
            }
            for process in new {
                // It has ended already, or stops now.
                kill(process, Signal::SIGSTOP).ok();
                paused.0.insert(process);
            }
        }
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        for process in &self.0 {
            kill(*process, Signal::SIGCONT).ok();
        }
    }
}

/// Ends what a kernel has left behind when the harness ended: its processes have become this one's children.
///
/// # Errors
/// When the system does not list processes.
pub fn end_all_but(one: Pid) -> Result<(), String> {
    loop {
        let own = BTreeSet::from([Pid::this()]);
        let children = children_of(&own, one, &parents().map_err(|it| format!("/proc: {it}"))?);
        if children.is_empty() {
            return Ok(());
        }
        for child in children {
            // Either has ended already, or ends now; its own children come to this process.
            kill(child, Signal::SIGKILL).ok();
            waitpid(child, None).ok();
        }
    }
}

fn descendants(but: Pid) -> io::Result<BTreeSet<Pid>> {
    let parents = parents()?;
    let (mut found, mut level) = (BTreeSet::new(), BTreeSet::from([Pid::this()]));
    while !level.is_empty() {
        level = children_of(&level, but, &parents);
        found.extend(&level);
    }
    Ok(found)
}

fn children_of(some: &BTreeSet<Pid>, but: Pid, parents: &[(Pid, Pid)]) -> BTreeSet<Pid> {
    let of_some =
        parents.iter().filter(|(process, parent)| some.contains(parent) && *process != but);
    of_some.map(|(process, _)| *process).collect()
}

/// All processes, each with its parent.
fn parents() -> io::Result<Vec<(Pid, Pid)>> {
    let numbers = |process: &std::fs::DirEntry| {
        let own = process.file_name().to_str()?.parse().ok()?;
        let text = std::fs::read_to_string(process.path().join("stat")).ok()?;
        // Behind the name, which may have spaces: the state, then the parent.
        let parent = text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
        Some((Pid::from_raw(own), Pid::from_raw(parent)))
    };
    Ok(std::fs::read_dir("/proc")?.flatten().filter_map(|it| numbers(&it)).collect())
}
