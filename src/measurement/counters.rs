//! The operating system's counters while steps run: page faults, switches, CPU time.

use plan::Counters;

use super::page_fault;
use super::stopwatch::Stopwatch;
use super::usage::Usage;
use crate::native::allocator::Retention;
use crate::refusal::Refusal;

/// Share of the time from which page faults are worth a warning.
const NOTABLE_SHARE: f64 = 0.10;

/// Runs `iters` steps and returns what the system counted, per step. All threads of the process
/// count, and nothing else should run in it meanwhile.
///
/// # Errors
/// Errors of a step; without any step to count over; when the system does not count.
pub fn count(
    iters: u64,
    step: &mut dyn FnMut() -> Result<(), Refusal>,
) -> Result<Counters, Refusal> {
    if iters == 0 {
        return Err(Refusal::Failed("counters: no step to count over; ask for one".to_owned()));
    }
    // Measured on the first call, and that has faults of its own.
    let fault_ns = page_fault::cost_ns();
    let before = Usage::of_process().map_err(Refusal::Failed)?;
    let watch = Stopwatch::start();
    for _ in 0..iters {
        step()?;
    }
    let wall_ns = watch.ns();
    let spent = Usage::of_process().map_err(Refusal::Failed)? - before;
    Ok(per_step(iters, spent, wall_ns, fault_ns))
}

fn per_step(iters: u64, spent: Usage, wall_ns: f64, fault_ns: Option<f64>) -> Counters {
    let steps = iters as f64;
    Counters {
        iters,
        minor_faults: spent.minor_faults / steps,
        major_faults: spent.major_faults / steps,
        voluntary_switches: spent.voluntary_switches / steps,
        involuntary_switches: spent.involuntary_switches / steps,
        user_ns: spent.user_ns / steps,
        system_ns: spent.system_ns / steps,
        wall_ns: wall_ns / steps,
        fault_share: fault_ns.map(|ns| fault_share(spent, ns)),
    }
}

/// The share of the CPU time, which threads that fault side by side have as much more of, at most
/// what was spent in the kernel: the cost of one fault is not the same at every moment.
fn fault_share(spent: Usage, fault_ns: f64) -> f64 {
    let cpu_ns = spent.user_ns + spent.system_ns;
    let faults_ns = (spent.minor_faults * fault_ns).min(spent.system_ns);
    if cpu_ns > 0.0 { faults_ns / cpu_ns } else { 0.0 }
}

/// A line for the reader when page faults take more than a tenth of a step, and what to do about it.
/// How much is in the counters: without figures, reports say it once for all cases. `retention` is
/// the allocator's state while the step was counted.
pub fn fault_warning(
    counters: &Counters,
    retention: Retention,
    replaced_by: Option<&str>,
) -> Option<String> {
    counters.fault_share.filter(|share| *share > NOTABLE_SHARE)?;
    let replaced =
        replaced_by.map(|library| format!("{library} maps outputs anew; run without it"));
    let meaning = match retention {
        _ if replaced.is_some() => replaced.as_deref().unwrap_or_default(),
        Retention::System => {
            "the C library maps large outputs anew at every step; `allocator: retained` keeps them \
             mapped"
        }
        Retention::Retained => {
            "freed memory is already retained, so the step itself, or a library in it, maps memory \
             anew at every call"
        }
    };
    Some(format!(
        "page faults take more than {:.0} % of a step (`show --details` has the figures): {meaning}",
        100.0 * NOTABLE_SHARE
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPENT: Usage = Usage {
        minor_faults: 1000.0,
        major_faults: 0.0,
        voluntary_switches: 4.0,
        involuntary_switches: 2.0,
        user_ns: 3e6,
        system_ns: 1e6,
    };

    #[test]
    fn counts_are_per_step() {
        // 250 faults of 800 ns in each step of 1 ms.
        let counters = per_step(4, SPENT, 4e6, Some(800.0));
        assert_eq!(counters.minor_faults, 250.0);
        assert_eq!((counters.voluntary_switches, counters.involuntary_switches), (1.0, 0.5));
        assert_eq!((counters.user_ns, counters.system_ns), (0.75e6, 0.25e6));
        assert_eq!(counters.wall_ns, 1e6);
        assert_eq!(counters.fault_share, Some(0.2));
        assert_eq!(per_step(4, SPENT, 4e6, None).fault_share, None);
    }

    #[test]
    fn faults_take_no_more_than_the_kernel_did() {
        // Two threads: 4 ms of CPU time in 2 ms, 1 ms of it in the kernel.
        assert_eq!(per_step(4, SPENT, 2e6, Some(800.0)).fault_share, Some(0.2));
        assert_eq!(per_step(4, SPENT, 2e6, Some(5000.0)).fault_share, Some(0.25));
        let none = Usage { user_ns: 0.0, system_ns: 0.0, ..SPENT };
        assert_eq!(per_step(4, none, 2e6, Some(800.0)).fault_share, Some(0.0));
    }

    #[test]
    fn notable_faults_are_told_with_what_to_do() {
        let counters = per_step(4, SPENT, 4e6, Some(800.0));
        let warning = fault_warning(&counters, Retention::System, None).unwrap();
        assert!(warning.starts_with("page faults take more than 10 % of a step ("), "{warning}");
        let more = Counters { fault_share: Some(0.7), minor_faults: 9e3, ..counters };
        assert_eq!(
            fault_warning(&more, Retention::System, None).unwrap(),
            warning,
            "one line for all"
        );
        assert!(warning.contains("`allocator: retained`"), "{warning}");
        let warning = fault_warning(&counters, Retention::Retained, None).unwrap();
        assert!(warning.contains("already retained"), "{warning}");
        let few = Counters { fault_share: Some(0.1), ..counters };
        let warning = fault_warning(&counters, Retention::System, Some("libmimalloc.so")).unwrap();
        assert!(warning.ends_with("libmimalloc.so maps outputs anew; run without it"), "{warning}");
        assert_eq!(fault_warning(&few, Retention::System, None), None);
        assert_eq!(
            fault_warning(&Counters { fault_share: None, ..few }, Retention::System, None),
            None
        );
    }

    #[test]
    fn steps_are_run_and_their_errors_kept() {
        let mut calls = 0;
        let counters = count(3, &mut || {
            calls += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!((calls, counters.iters), (3, 3));
        assert!(counters.wall_ns > 0.0);
        let error = Refusal::Oom("gone".to_owned());
        assert_eq!(count(1, &mut || Err(error.clone())), Err(error));
        assert!(count(0, &mut || Ok(())).is_err());
    }

    /// Each step writes to memory that was mapped for it.
    #[cfg(target_os = "linux")]
    #[test]
    fn faults_of_a_step_are_seen() {
        let bytes = 4 << 20;
        let counters =
            count(8, &mut || page_fault::touch_fresh(bytes).map(drop).map_err(Refusal::Failed))
                .unwrap();
        let pages = (bytes / page_fault::page_bytes().unwrap()) as f64;
        // Other tests run in this process and fault, too.
        assert!(counters.minor_faults >= pages, "{counters:?}");
        // The kernel counts a thread's CPU time in ticks, and such a short test can end before the first one.
        assert!(
            counters.fault_share.is_some_and(|share| (0.0..=1.0).contains(&share)),
            "{counters:?}"
        );
    }

    /// Tells the copy of the test program that `in_a_process_of_its_own` starts what to do.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    const CHILD: &str = "CRITERION_TORCH_TEST_COUNTERS";

    /// The finding behind `allocator: retained`: the C library maps an output of 50 MB anew at every
    /// call, and each of its pages is a fault. Printed with `--nocapture`.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn a_large_output_faults_once_per_page() {
        // 50 MB.
        let elements = 12_500_000;
        if std::env::var_os(CHILD).is_some() {
            // Huge pages would hide most faults on the machines that have them switched on.
            // SAFETY: changes nothing but the kernel's choice of page size for this process.
            assert_eq!(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) }, 0);
            let input = tch::Tensor::rand([elements], (tch::Kind::Float, tch::Device::Cpu));
            let mut step = || {
                drop(input.f_gelu("none")?);
                Ok(())
            };
            // The first call fills caches.
            step().unwrap();
            let counters = count(10, &mut step).unwrap();
            println!("cost of a fault: {:?} ns", page_fault::cost_ns());
            println!("{}", fault_warning(&counters, Retention::System, None).unwrap_or_default());
            println!("{counters:?}\nfaults {}", counters.minor_faults);
            return;
        }
        let text = in_a_process_of_its_own("a_large_output_faults_once_per_page");
        println!("{text}");
        let faults = text.lines().find_map(|line| line.strip_prefix("faults ")?.parse().ok());
        let page = page_fault::page_bytes().unwrap() as f64;
        let pages = 4.0 * elements as f64 / page;
        let faults: f64 = faults.unwrap_or_else(|| panic!("no count in:\n{text}"));
        // The pages of the page table are faults of the same kind, and few.
        assert!((pages..1.02 * pages).contains(&faults), "{faults} faults for {pages} pages");
    }

    /// The counts are those of the process, so other tests must not run in it.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn in_a_process_of_its_own(test: &str) -> String {
        let test = format!("measurement::counters::tests::{test}");
        let program = std::env::current_exe().expect("the test program has a path");
        let output = std::process::Command::new(program)
            .args(["--exact", &test, "--nocapture"])
            .env(CHILD, "1")
            .env_remove("GLIBC_TUNABLES")
            .output()
            .expect("the test program starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text
    }
}
