//! The steps of `torch-bench-run --gpu-check` and of this repository's `cargo xtask gpu-check`: everything about a GPU that
//! this project rests on, proved on the one at hand.

mod bench;
mod finding;
mod judge;
mod page;
mod step;

use std::env;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plan::Environment;

use crate::doctor::Check;
use crate::error::Result;
use crate::files;
use crate::human;
use ::libtorch::processor::hostname;
pub use bench::Bench;
use bench::Taken;
use finding::Finding;
use page::{Done, Page};
pub use step::{CONFIGS, SELF_TEST, TARGETS};
use step::{STEPS, Step, Work};

/// Takes a finding of the doctor.
type Say<'f> = &'f mut dyn FnMut(Check);

/// The programs that are checked, and where they come from.
pub struct Subject<'s> {
    /// The clone or the bundle.
    pub root: &'s Path,
    pub commit: Option<String>,
    pub bench: Result<Bench>,
    /// Has a function told all that the doctor finds on this machine.
    pub examine: &'s dyn Fn(Say<'_>),
}

impl Subject<'_> {
    /// Takes every step, whatever becomes of those before, and writes what was found to `output`. Returns whether one failed.
    pub fn check(
        &self,
        output: &Path,
        quick: bool,
        more_facts: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Result<bool> {
        let start = Instant::now();
        let steps = self.steps(quick);
        let mut facts = facts(self.commit.clone(), &steps);
        facts.push(("took", human::duration(start.elapsed())));
        facts.extend(more_facts);
        let page = Page { quick, facts, steps, private: private(self.root) };
        println!("{}", page.outcome());
        for (name, text) in [("gpu-check.md", page.markdown()), ("gpu-check.json", page.json())] {
            let path = output.join(name);
            files::write(&path, text)?;
            println!("wrote {}", path.display());
        }
        Ok(page.has_failed())
    }

    fn steps(&self, quick: bool) -> Vec<Done> {
        let taken: Vec<(&Step, Work)> =
            STEPS.iter().filter_map(|step| Some((step, step.work(quick)?))).collect();
        let mut left: u32 = taken.iter().map(|(step, _)| step.seconds(quick)).sum();
        let mut done = Vec::new();
        for (number, (step, work)) in taken.iter().enumerate() {
            let human = human::duration(Duration::from_secs(left.into()));
            eprint!("[{}/{}] {}, about {human} left: ", number + 1, taken.len(), step.name);
            left -= step.seconds(quick);
            let start = Instant::now();
            let limit = Duration::from_secs((10 * step.seconds(quick)).max(120).into());
            let taken = self.take(step.name, *work, limit);
            let (name, proves, took) = (step.name, step.proves, start.elapsed());
            let step = Done { name, proves, taken, took };
            eprintln!("{}: {}", step.verdict().as_str(), step.summary());
            done.push(step);
        }
        done
    }

    fn take(&self, step: &str, work: Work, limit: Duration) -> Taken {
        let bench = match (work, &self.bench) {
            (Work::Doctor, _) => return self.examined(),
            (_, Err(error)) => return Finding::failed(step, error.what()).into(),
            (_, Ok(bench)) => bench,
        };
        match work {
            Work::Doctor => self.examined(),
            Work::Check(name) => bench.check(name, limit),
            Work::Cases { target, filter } => bench.cases(step, target, filter, limit),
            Work::Sanitizer { tool } => bench.sanitizer(tool, limit),
            Work::Vendor => bench.vendor(step, limit),
            Work::Culprit => bench.culprit(step, limit),
        }
    }

    /// Asks the doctor.
    fn examined(&self) -> Taken {
        let mut taken = Taken::default();
        (self.examine)(&mut |check| {
            taken.log += &check.to_string();
            taken.findings.push(Finding::of_check(&check));
        });
        taken
    }
}

/// Names and versions of the programs and of the first measurement on a GPU.
fn facts(commit: Option<String>, steps: &[Done]) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("commit", commit);
    let mut environments = steps.iter().filter_map(|step| step.taken.environment.as_ref());
    let gpu = environments.clone().find(|it| it.torch.cuda_device.is_some());
    if let Some(Environment { host, torch, rustc, .. }) = gpu.or_else(|| environments.next()) {
        add("GPU", torch.cuda_device.clone());
        add("CUDA devices", torch.cuda_devices.map(|count| count.to_string()));
        add("driver", torch.cuda_driver.clone());
        add("CUDA of libtorch", torch.cuda.clone());
        add("libtorch", Some(torch.libtorch.clone()));
        add("processor", Some(host.cpu_model.clone()));
        add("CPUs", Some(host.cpus.to_string()));
        add("system", Some(host.os.clone()));
        add("rustc", Some(rustc.clone()));
    }
    facts
}

fn private(root: &Path) -> Vec<(String, &'static str)> {
    let variable = |name| env::var(name).unwrap_or_default();
    let home = PathBuf::from(variable("HOME"));
    let host = hostname(Path::new("/")).unwrap_or_default();
    let names = [(host, "HOST"), (variable("USER"), "USER")];
    let own = [
        ("LIBTORCH", "LIBTORCH"),
        ("CRITERION_TORCH_CACHE", "CACHE"),
        ("CARGO_TARGET_DIR", "TARGET"),
    ];
    let own = own.map(|(name, instead)| (PathBuf::from(variable(name)), instead));
    let mut folders = vec![(root.to_owned(), "."), (home, "~"), (env::temp_dir(), "TMP")];
    folders.extend(own.into_iter().filter(|(folder, _)| folder.is_absolute()));
    page::private(&folders, &names)
}
