//! The machine, as its own files describe it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ::libtorch::memory::{huge_pages, total_bytes};
use ::libtorch::processor::{CPUS, cpu_model, field, governor, hostname, numbers};
use once_cell::sync::Lazy;
use plan::{Cache, HostFacts};

use super::page_fault;

static HOST: Lazy<HostFacts> = Lazy::new(|| read(Path::new("/")));

/// The machine. Read once per process, but for what changes in it: the cost of a page fault is there
/// as soon as it was measured, and huge pages can be switched off for the process.
pub fn host() -> HostFacts {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let huge_pages = HOST.huge_pages.clone().map(|mode| in_this_process(mode, &status));
    HostFacts { page_fault_ns: page_fault::known_ns(), huge_pages, ..HOST.clone() }
}

/// The kernel's mode, and whether the process has opted out of it.
fn in_this_process(mode: String, status: &str) -> String {
    match field(status, "THP_enabled") {
        Some("0") => format!("{mode}, off in this process"),
        _ => mode,
    }
}

/// Whether the machine is a virtual one, as the processor says.
pub(super) fn is_virtual() -> bool {
    fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| names_a_hypervisor(&text))
}

fn names_a_hypervisor(cpuinfo: &str) -> bool {
    field(cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
}

fn read(root: &Path) -> HostFacts {
    let text = |path: &str| fs::read_to_string(root.join(path)).ok();
    let unknown = || "unknown".to_owned();
    let line = |path: &str| text(path).as_deref().and_then(one_line);
    let affinity = text("proc/self/status")
        .and_then(|status| Some(field(&status, "Cpus_allowed_list")?.to_owned()));
    HostFacts {
        hostname: hostname(root).unwrap_or_else(unknown),
        os: format!(
            "{} {}",
            std::env::consts::OS,
            line("proc/sys/kernel/osrelease").unwrap_or_else(unknown)
        ),
        os_release: text("etc/os-release").as_deref().and_then(pretty_name),
        arch: Some(std::env::consts::ARCH.to_owned()),
        cpu_model: text("proc/cpuinfo")
            .and_then(|cpuinfo| cpu_model(&cpuinfo))
            .unwrap_or_else(unknown),
        cpus: std::thread::available_parallelism()
            .map_or(0, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX)),
        memory_bytes: text("proc/meminfo").and_then(|meminfo| total_bytes(&meminfo)).unwrap_or(0),
        numa_nodes: numa_nodes(&root.join("sys/devices/system/node")),
        governor: affinity.as_deref().and_then(|cpus| governor(&root.join(CPUS), cpus)),
        turbo: turbo(&root.join(CPUS)),
        huge_pages: huge_pages(root),
        page_fault_ns: None,
        caches: affinity.as_deref().map_or_else(Vec::new, |cpus| caches(&root.join(CPUS), cpus)),
        affinity,
    }
}

/// `PRETTY_NAME` of an os-release file, whose values are quoted as a shell's.
fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = value.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

fn one_line(text: &str) -> Option<String> {
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

fn numa_nodes(folder: &Path) -> Option<u32> {
    let names = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name());
    let is_node =
        |name: &str| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    let count = names.filter(|name| name.to_str().is_some_and(is_node)).count();
    u32::try_from(count).ok().filter(|count| *count > 0)
}

/// The cores that the process may run on, each once however many threads it has; `None` where the
/// system does not say.
pub fn cores() -> Option<usize> {
    distinct_cores(&Path::new("/").join(CPUS), HOST.affinity.as_deref()?)
}

fn distinct_cores(folder: &Path, list: &str) -> Option<usize> {
    let siblings = |cpu: u32| {
        one_line(
            &fs::read_to_string(folder.join(format!("cpu{cpu}/topology/thread_siblings_list")))
                .ok()?,
        )
    };
    let cores: Option<BTreeSet<String>> = numbers(list).map(siblings).collect();
    cores.map(|cores| cores.len()).filter(|count| *count > 0)
}

/// The highest clock of the CPUs that the process may run on, in MHz; turbo counts where it is on.
pub(super) fn max_clock_mhz() -> Option<f64> {
    max_clock(&Path::new("/").join(CPUS), HOST.affinity.as_deref()?)
}

fn max_clock(folder: &Path, list: &str) -> Option<f64> {
    let kilohertz = numbers(list).filter_map(|cpu| {
        let file = folder.join(format!("cpu{cpu}/cpufreq/cpuinfo_max_freq"));
        fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()
    });
    kilohertz.max().map(|kilohertz| kilohertz as f64 / 1e3)
}

/// The caches for data of the CPUs in `list`, each kind once.
fn caches(folder: &Path, list: &str) -> Vec<Cache> {
    let of = |cpu: u32| {
        let index = move |index: u32| folder.join(format!("cpu{cpu}/cache/index{index}"));
        (0..).map(index).take_while(|index| index.is_dir())
    };
    let mut caches: Vec<Cache> =
        numbers(list).flat_map(of).filter_map(|index| cache(&index)).collect();
    caches.sort();
    caches.dedup();
    caches
}

/// The cache that `folder` describes, unless it is for instructions.
fn cache(folder: &Path) -> Option<Cache> {
    let line = |file: &str| one_line(&fs::read_to_string(folder.join(file)).ok()?);
    if !matches!(line("type")?.as_str(), "Data" | "Unified") {
        return None;
    }
    Some(Cache {
        level: line("level")?.parse().ok()?,
        bytes: 1024 * line("size")?.strip_suffix('K')?.parse::<u64>().ok()?,
        cpus: u32::try_from(numbers(&line("shared_cpu_list")?).count()).ok()?,
    })
}

/// Whether the processor may exceed its nominal frequency: Intel's driver says when it may not, all
/// others when it may.
fn turbo(cpus: &Path) -> Option<bool> {
    let switch = |file: &str| match fs::read_to_string(cpus.join(file)).ok()?.trim() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    };
    switch("intel_pstate/no_turbo").map(|off| !off).or_else(|| switch("cpufreq/boost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_huge_pages_says_so() {
        let mode = || "madvise".to_owned();
        assert_eq!(in_this_process(mode(), "Name:\tx\nTHP_enabled:\t1\n"), "madvise");
        let off = "Name:\tx\nTHP_enabled:\t0\n";
        assert_eq!(in_this_process(mode(), off), "madvise, off in this process");
    }

    /// Writes files of a machine as it could be.
    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_server_is_described() {
        let root = machine(&[
            ("proc/sys/kernel/hostname", "bench-7\n"),
            ("proc/sys/kernel/osrelease", "6.8.0-45-generic\n"),
            ("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n"),
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 9654\n"),
            ("proc/meminfo", "MemTotal:        2048 kB\nMemFree: 1 kB\n"),
            ("proc/self/status", "Cpus_allowed:\t3\nCpus_allowed_list:\t0-1,3\nMems: 0\n"),
            ("sys/devices/system/node/node0/cpulist", "0-1\n"),
            ("sys/devices/system/node/node1/cpulist", "2-3\n"),
            ("sys/devices/system/node/online", "0-1\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n"),
            ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ]);
        let facts = read(root.path());
        assert_eq!(facts.hostname, "bench-7");
        assert!(facts.os.ends_with(" 6.8.0-45-generic"), "{}", facts.os);
        assert_eq!(facts.os_release.as_deref(), Some("Debian GNU/Linux 13 (trixie)"));
        assert_eq!(facts.arch.as_deref(), Some(std::env::consts::ARCH));
        assert_eq!(facts.cpu_model, "AMD EPYC 9654");
        assert_eq!(facts.memory_bytes, 2 << 20);
        assert_eq!(facts.affinity.as_deref(), Some("0-1,3"));
        assert_eq!(facts.numa_nodes, Some(2));
        // CPU 2 saves power, but the process may not run there.
        assert_eq!(facts.governor.as_deref(), Some("performance"));
        assert_eq!(facts.turbo, Some(true));
        assert_eq!(facts.huge_pages.as_deref(), Some("madvise"));
        assert_eq!(facts.page_fault_ns, None);
        assert_eq!(facts.caches, []);
    }

    /// Writes the files of a cache.
    fn write_cache(cpus: &Path, cpu: u32, index: u32, [level, kind, size, shared]: [&str; 4]) {
        let folder = cpus.join(format!("cpu{cpu}/cache/index{index}"));
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in
            [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)]
        {
            fs::write(folder.join(file), format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn caches_for_data_are_listed_once_from_the_nearest_on() {
        let root = machine(&[("cpu0/online", "1\n")]);
        // An EPYC 9655 whose cores have two threads each.
        for cpu in 0..4 {
            let pair = if cpu < 2 { "0-1" } else { "2-3" };
            write_cache(root.path(), cpu, 0, ["1", "Data", "48K", pair]);
            write_cache(root.path(), cpu, 1, ["1", "Instruction", "32K", pair]);
            write_cache(root.path(), cpu, 2, ["2", "Unified", "1024K", pair]);
            write_cache(root.path(), cpu, 3, ["3", "Unified", "32768K", "0-7,192-199"]);
        }
        let cache = |level, bytes, cpus| Cache { level, bytes, cpus };
        let expected = [cache(1, 48 << 10, 2), cache(2, 1 << 20, 2), cache(3, 32 << 20, 16)];
        assert_eq!(caches(root.path(), "0-3"), expected);
        assert_eq!(caches(root.path(), "9"), []);
        // Cores of two kinds: both of their nearest caches.
        write_cache(root.path(), 4, 0, ["1", "Data", "32K", "4"]);
        assert_eq!(caches(root.path(), "0,4")[..2], [cache(1, 32 << 10, 1), expected[0]]);
        // A kernel that does not know the size.
        write_cache(root.path(), 5, 0, ["1", "Data", "", "5"]);
        assert_eq!(caches(root.path(), "5"), []);
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn this_machine_has_a_nearest_cache_or_hides_them_all() {
        let caches = host().caches;
        println!("{caches:?}");
        assert!(caches.first().is_none_or(|cache| cache.level == 1 && cache.bytes > 0));
    }

    #[test]
    fn the_highest_clock_is_of_the_cpus_that_may_be_used() {
        let root = machine(&[
            ("cpu0/cpufreq/cpuinfo_max_freq", "3900000\n"),
            ("cpu1/cpufreq/cpuinfo_max_freq", "5400000\n"),
        ]);
        assert_eq!(max_clock(root.path(), "0-1"), Some(5400.0));
        assert_eq!(max_clock(root.path(), "0"), Some(3900.0));
        assert_eq!(max_clock(root.path(), "2"), None);
    }

    #[test]
    fn threads_of_one_core_are_one_core() {
        let siblings = |cpu: u32| format!("cpu{cpu}/topology/thread_siblings_list");
        let root = machine(&[
            (&siblings(0), "0,2\n"),
            (&siblings(1), "1,3\n"),
            (&siblings(2), "0,2\n"),
            (&siblings(3), "1,3\n"),
        ]);
        assert_eq!(distinct_cores(root.path(), "0-3"), Some(2));
        assert_eq!(distinct_cores(root.path(), "0,2"), Some(1));
        assert_eq!(distinct_cores(root.path(), "0-4"), None, "nothing is said of the last");
    }

    #[test]
    fn what_a_machine_does_not_say_is_absent() {
        let facts = read(machine(&[]).path());
        assert_eq!((facts.hostname.as_str(), facts.cpu_model.as_str()), ("unknown", "unknown"));
        assert_eq!((facts.affinity, facts.numa_nodes, facts.governor), (None, None, None));
        assert_eq!((facts.turbo, facts.huge_pages, facts.os_release), (None, None, None));
    }

    #[test]
    fn intel_says_when_turbo_is_off() {
        for (value, turbo_on) in [("0\n", Some(true)), ("1\n", Some(false)), ("?\n", None)] {
            assert_eq!(turbo(machine(&[("intel_pstate/no_turbo", value)]).path()), turbo_on);
        }
    }

    #[test]
    fn a_hypervisor_leaves_a_flag() {
        assert!(names_a_hypervisor("flags\t\t: fpu hypervisor lahf_lm\n"));
        assert!(!names_a_hypervisor("flags\t\t: fpu lahf_lm\n"));
    }
}
