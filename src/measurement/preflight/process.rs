//! How this process was built and is run.

use std::collections::BTreeMap;

use plan::{Check, CheckStatus, HostFacts};

pub(super) fn build(debug: bool) -> Check {
    if !debug {
        return Check::passed("build", "optimized");
    }
    let remedy = "the harness lengthens short steps; use `cargo bench`";
    Check::graded("build", CheckStatus::Failed, "a debug build", remedy)
}

pub(super) fn threads(host: &HostFacts, threads: u32) -> Check {
    if host.cpus == 0 {
        return Check::skipped("threads", "the number of CPUs is not known here");
    }
    if threads <= host.cpus {
        return Check::passed("threads", format!("{threads} on {} CPUs", host.cpus));
    }
    let affinity = host.affinity.as_deref();
    let which = affinity.map_or_else(String::new, |list| format!(" (affinity {list})"));
    let value = format!(
        "`threads: {threads}` is more than the {} CPUs that the process may use{which}",
        host.cpus
    );
    let remedy = "threads wait for one another; lower `threads` or widen the affinity";
    Check::graded("threads", CheckStatus::Warning, value, remedy)
}

pub(super) fn huge_pages(host: &HostFacts) -> Check {
    let Some(mode) = host.huge_pages.as_deref() else {
        return Check::skipped("huge_pages", "no transparent huge pages here");
    };
    let why = match mode {
        "always" => {
            "which memory gets huge pages changes from run to run, and page faults of fresh outputs \
             hardly show"
        }
        "never" => "equal weights differ in speed by where their pages lie",
        _ => return Check::passed("huge_pages", mode),
    };
    let remedy =
        format!("{why}; `echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled`");
    Check::graded("huge_pages", CheckStatus::Warning, mode, remedy)
}

/// Variables that seem to set the threads and do not, or that let libraries use fewer.
pub(super) fn variables(variables: &BTreeMap<String, String>, threads: u32) -> Check {
    let meddling = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC"];
    let found = meddling.into_iter().filter_map(|name| {
        let value = variables.get(name)?;
        Some((format!("{name}={value}"), meddles(name, value, threads)?))
    });
    let (values, remedies): (Vec<String>, Vec<String>) = found.unzip();
    if values.is_empty() {
        return Check::passed("variables", "no variable changes the number of threads");
    }
    Check::graded("variables", CheckStatus::Warning, values.join(", "), remedies.join("; "))
}

/// The effect of a variable on a run with so many threads, with the remedy.
fn meddles(name: &str, value: &str, threads: u32) -> Option<String> {
    let (meddles, what) = match name {
        // The OpenMP library itself complains about text that is not a number.
        "OMP_THREAD_LIMIT" => (
            value.parse::<u32>().is_ok_and(|limit| limit < threads),
            format!("it allows fewer threads than `threads: {threads}`; unset it"),
        ),
        "OMP_DYNAMIC" => (
            threads > 1 && ["true", "1"].contains(&value.to_ascii_lowercase().as_str()),
            format!("it lets OpenMP use fewer threads than `threads: {threads}`; unset it"),
        ),
        _ => (
            value != threads.to_string(),
            format!(
                "the config's `threads` ({threads}) decides instead; unset it, or set `threads`"
            ),
        ),
    };
    meddles.then_some(what)
}
