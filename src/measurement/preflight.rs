//! What on this machine disturbs measuring, found before a run, each with its remedy.

use std::collections::BTreeMap;

use plan::{HostFacts, Quiet};

use super::{host, variables};

/// Share of undisturbed slices below which a machine is not quiet.
const QUIET_SCORE: f64 = 0.9;
/// Runnable processes per CPU from which others take part in the timing.
const BUSY_LOAD: f64 = 0.5;
/// Share of stolen CPU time from which it shows.
const NOTABLE_STEAL: f64 = 0.01;

/// What the warnings are about.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The machine.
    pub host: HostFacts,
    /// The machine is a guest of another.
    pub is_virtual: bool,
    /// The harness was compiled without optimization.
    pub debug_build: bool,
    /// Variables that steer the libraries and are set.
    pub variables: BTreeMap<String, String>,
}

impl Facts {
    /// Those of this machine and process.
    pub fn of_this_machine() -> Self {
        Self {
            host: host::host(),
            is_virtual: host::is_virtual(),
            debug_build: cfg!(debug_assertions),
            variables: variables::variables(),
        }
    }
}

/// One line for each thing that disturbs measuring, and what to do about it. `threads` is the highest
/// number that a case of the run asks for.
pub fn warnings(facts: &Facts, quiet: &Quiet, threads: u32) -> Vec<String> {
    let host = &facts.host;
    let mut warnings = Vec::new();
    warnings.extend(debug_build(facts.debug_build));
    warnings.extend(governor(host));
    warnings.extend(turbo(host));
    warnings.extend(load(host, quiet));
    warnings.extend(score(quiet));
    warnings.extend(steal(quiet, facts.is_virtual));
    warnings.extend(too_many_threads(host, threads));
    warnings.extend(huge_pages(host));
    warnings.extend(overriding(&facts.variables, threads));
    warnings
}

fn debug_build(debug_build: bool) -> Option<String> {
    debug_build.then(|| {
        "the harness is a debug build, which lengthens short steps; use `cargo bench`".to_owned()
    })
}

fn governor(host: &HostFacts) -> Option<String> {
    let governor = host.governor.as_deref().filter(|governor| *governor != "performance")?;
    Some(format!(
        "the frequency governor is `{governor}`, so the clock follows the load; `sudo cpupower \
         frequency-set --governor performance`"
    ))
}

fn turbo(host: &HostFacts) -> Option<String> {
    (host.turbo == Some(true)).then(|| {
        "turbo is on, so the clock depends on temperature and on busy neighbours; `echo 0 | sudo tee \
         /sys/devices/system/cpu/cpufreq/boost` (intel_pstate: `echo 1 | sudo tee \
         /sys/devices/system/cpu/intel_pstate/no_turbo`), or compare within one run only"
            .to_owned()
    })
}

fn load(host: &HostFacts, quiet: &Quiet) -> Option<String> {
    let load = quiet.load_1m.filter(|load| *load > BUSY_LOAD * f64::from(host.cpus.max(1)))?;
    Some(format!(
        "{load:.2} processes were runnable on average over the last minute, on {} CPUs; stop other \
         programs (a build just before counts, too: wait a minute)",
        host.cpus
    ))
}

fn score(quiet: &Quiet) -> Option<String> {
    (quiet.score < QUIET_SCORE).then(|| {
        format!(
            "the machine is not quiet: {:.0} % of short equal computations took more than 2 % longer \
             than the fastest; stop other programs, or use a machine of one's own",
            100.0 * (1.0 - quiet.score)
        )
    })
}

fn steal(quiet: &Quiet, is_virtual: bool) -> Option<String> {
    let steal = quiet.steal.filter(|steal| *steal > NOTABLE_STEAL)?;
    let machine = if is_virtual { "this virtual machine" } else { "this machine" };
    Some(format!(
        "the hypervisor gave {:.0} % of the CPU time that {machine} asked for to others; use one with \
         dedicated cores, or trust only speed-ups from interleaved pairs",
        100.0 * steal
    ))
}

fn too_many_threads(host: &HostFacts, threads: u32) -> Option<String> {
    (host.cpus > 0 && threads > host.cpus).then(|| {
        let affinity = host.affinity.as_deref();
        let which = affinity.map_or_else(String::new, |list| format!(" (affinity {list})"));
        format!(
            "`threads: {threads}` is more than the {} CPUs that the process may use{which}, so threads \
             wait for one another; lower `threads` or widen the affinity",
            host.cpus
        )
    })
}

fn huge_pages(host: &HostFacts) -> Option<String> {
    let always = || {
        "transparent huge pages are `always`: which memory gets them changes from run to run, and page \
         faults of fresh outputs hardly show; `echo madvise | sudo tee \
         /sys/kernel/mm/transparent_hugepage/enabled`"
            .to_owned()
    };
    let never = || {
        "transparent huge pages are `never`: equal weights differ in speed by where their pages lie; \
         `echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled`"
            .to_owned()
    };
    match host.huge_pages.as_deref() {
        Some("always") => Some(always()),
        Some("never") => Some(never()),
        _ => None,
    }
}

/// Variables that seem to set the threads and do not, or that let libraries use fewer.
fn overriding(variables: &BTreeMap<String, String>, threads: u32) -> Vec<String> {
    let overruled = ["OMP_NUM_THREADS", "MKL_NUM_THREADS"].into_iter().filter_map(|name| {
        let value = variables.get(name).filter(|value| **value != threads.to_string())?;
        Some(format!(
            "{name}={value} is set, but the config's `threads` ({threads}) decides; unset it, or set \
             `threads`"
        ))
    });
    let limit = variables.get("OMP_THREAD_LIMIT").filter(|limit| {
        // What is no number is the OpenMP library's to complain about.
        limit.parse::<u32>().is_ok_and(|limit| limit < threads)
    });
    let limited = limit.map(|limit| {
        format!("OMP_THREAD_LIMIT={limit} allows fewer threads than `threads: {threads}`; unset it")
    });
    let dynamic = variables.get("OMP_DYNAMIC").filter(|value| {
        threads > 1 && ["true", "1"].contains(&value.to_ascii_lowercase().as_str())
    });
    let varying = dynamic.map(|value| {
        format!(
            "OMP_DYNAMIC={value} lets OpenMP use fewer threads than `threads: {threads}`; unset it"
        )
    });
    overruled.chain(limited).chain(varying).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calm() -> (Facts, Quiet) {
        let host = HostFacts {
            hostname: "bench-7".to_owned(),
            os: "linux 6.8".to_owned(),
            cpu_model: "AMD EPYC".to_owned(),
            cpus: 8,
            memory_bytes: 1 << 34,
            affinity: Some("0-7".to_owned()),
            numa_nodes: Some(1),
            governor: Some("performance".to_owned()),
            turbo: Some(false),
            huge_pages: Some("madvise".to_owned()),
            page_fault_ns: None,
        };
        let facts =
            Facts { host, is_virtual: false, debug_build: false, variables: BTreeMap::new() };
        (facts, Quiet { score: 1.0, load_1m: Some(0.3), steal: Some(0.0) })
    }

    /// The only warning after `disturb`, for a run with four threads.
    fn only(disturb: impl FnOnce(&mut Facts, &mut Quiet)) -> String {
        let (mut facts, mut quiet) = calm();
        disturb(&mut facts, &mut quiet);
        let mut found = warnings(&facts, &quiet, 4);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(!found[0].contains('\n'), "{found:?}");
        found.remove(0)
    }

    fn set(name: &str, value: &str) -> String {
        only(|facts, _| drop(facts.variables.insert(name.to_owned(), value.to_owned())))
    }

    #[test]
    fn a_calm_machine_has_none() {
        let (mut facts, mut quiet) = calm();
        assert_eq!(warnings(&facts, &quiet, 8), [""; 0]);
        // What cannot be known is not warned of.
        facts.host = HostFacts { governor: None, turbo: None, huge_pages: None, ..facts.host };
        quiet = Quiet { load_1m: None, steal: None, ..quiet };
        facts.variables.insert("OMP_NUM_THREADS".to_owned(), "8".to_owned());
        facts.variables.insert("OMP_THREAD_LIMIT".to_owned(), "64".to_owned());
        assert_eq!(warnings(&facts, &quiet, 8), [""; 0]);
    }

    #[test]
    fn a_build_without_optimization() {
        assert!(only(|facts, _| facts.debug_build = true).contains("`cargo bench`"));
    }

    #[test]
    fn a_clock_that_moves() {
        let warning = only(|facts, _| facts.host.governor = Some("schedutil".to_owned()));
        assert!(warning.contains("`schedutil`"), "{warning}");
        assert!(warning.contains("cpupower frequency-set"), "{warning}");
        let warning = only(|facts, _| facts.host.turbo = Some(true));
        assert!(warning.contains("cpufreq/boost"), "{warning}");
    }

    #[test]
    fn others_on_the_machine() {
        let warning = only(|_, quiet| quiet.load_1m = Some(4.25));
        assert!(warning.starts_with("4.25 processes "), "{warning}");
        assert!(warning.contains("on 8 CPUs"), "{warning}");
        let warning = only(|_, quiet| quiet.score = 0.75);
        assert!(warning.contains(" 25 % of short"), "{warning}");
        let (facts, mut quiet) = calm();
        quiet.load_1m = Some(4.0);
        quiet.score = 0.9;
        quiet.steal = Some(0.01);
        assert_eq!(warnings(&facts, &quiet, 4), [""; 0]);
    }

    #[test]
    fn time_that_the_hypervisor_took() {
        let warning = only(|facts, quiet| {
            facts.is_virtual = true;
            quiet.steal = Some(0.08);
        });
        assert!(warning.contains("8 % of the CPU time that this virtual machine"), "{warning}");
        let warning = only(|_, quiet| quiet.steal = Some(0.08));
        assert!(warning.contains("that this machine asked"), "{warning}");
    }

    #[test]
    fn more_threads_than_cpus() {
        let warning = only(|facts, _| {
            facts.host.cpus = 2;
            facts.host.affinity = Some("4-5".to_owned());
        });
        assert!(warning.starts_with("`threads: 4` is more than the 2 CPUs"), "{warning}");
        assert!(warning.contains("(affinity 4-5)"), "{warning}");
    }

    #[test]
    fn huge_pages_everywhere() {
        let never = only(|facts, _| facts.host.huge_pages = Some("never".to_owned()));
        assert!(never.contains("equal weights differ"), "{never}");
        let warning = only(|facts, _| facts.host.huge_pages = Some("always".to_owned()));
        assert!(warning.contains("echo madvise"), "{warning}");
    }

    #[test]
    fn variables_that_meddle_with_threads() {
        let warning = set("OMP_NUM_THREADS", "2");
        let expected = "OMP_NUM_THREADS=2 is set, but the config's `threads` (4) decides; ";
        assert!(warning.starts_with(expected), "{warning}");
        assert!(set("MKL_NUM_THREADS", "1").starts_with("MKL_NUM_THREADS=1 is set"));
        assert!(set("OMP_THREAD_LIMIT", "3").contains("allows fewer threads"));
        assert!(set("OMP_DYNAMIC", "TRUE").contains("lets OpenMP use fewer"));
    }

    #[test]
    fn this_machine_can_be_asked() {
        let facts = Facts::of_this_machine();
        let found = warnings(&facts, &calm().1, 1);
        println!("{facts:#?}\n{found:#?}");
        assert_eq!(facts.debug_build, found.iter().any(|line| line.contains("debug build")));
    }
}
