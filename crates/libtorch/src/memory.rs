//! Memory that the process may still take, from what Linux says about the host and about the
//! control groups that the process lives in (a container's limit is such a group's).

use std::fs;
use std::path::Path;

use crate::processor::field;

/// The host's memory in bytes, and what of it the process may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The host's.
    pub total: u64,
    /// The bytes that the process may still take without swapping.
    pub available: u64,
    /// The tightest limit of the process's control groups; absent without one.
    pub limit: Option<u64>,
}

impl Memory {
    /// Reads it; `None` where the system does not say (not Linux).
    pub fn read() -> Option<Self> {
        let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::parse(&meminfo, &limits(Path::new("/sys/fs/cgroup"), &groups))
    }

    fn parse(meminfo: &str, limits: &[Limit]) -> Option<Self> {
        let total = total_bytes(meminfo)?;
        let host = bytes(meminfo, "MemAvailable")?;
        let available = limits.iter().map(|limit| limit.left).fold(host, u64::min);
        // Without a limit, the first version of control groups has one beyond any memory.
        let limit = limits.iter().map(|limit| limit.bytes).min().filter(|limit| *limit < total);
        Some(Self { total, available, limit })
    }
}

/// The mode of transparent huge pages: `always`, `madvise` or `never`. `root` is `/`.
pub fn huge_pages(root: &Path) -> Option<String> {
    let modes = fs::read_to_string(root.join("sys/kernel/mm/transparent_hugepage/enabled")).ok()?;
    Some(modes.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
pub fn total_bytes(meminfo: &str) -> Option<u64> {
    bytes(meminfo, "MemTotal")
}

fn bytes(meminfo: &str, name: &str) -> Option<u64> {
    let kibibytes = field(meminfo, name)?.strip_suffix("kB")?.trim();
    kibibytes.parse::<u64>().ok()?.checked_mul(1024)
}

/// The bytes that a control group may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit {
    bytes: u64,
    /// The bytes that the group has not taken yet.
    left: u64,
}

/// The limits of the groups, from both versions of them: a host may have either, or both.
fn limits(root: &Path, groups: &str) -> Vec<Limit> {
    let mut found = Vec::new();
    if let Some(group) = unified_group(groups) {
        found.extend(limits_above(root, group, &UNIFIED));
    }
    if let Some(group) = memory_group(groups) {
        found.extend(limits_above(&root.join("memory"), group, &MEMORY));
    }
    found
}

/// The files in which a version of control groups tells about memory.
struct Files {
    limit: &'static str,
    used: &'static str,
    /// The file cache in `memory.stat` that the kernel would drop first.
    cache: &'static str,
}

/// The unified hierarchy (cgroup v2).
const UNIFIED: Files =
    Files { limit: "memory.max", used: "memory.current", cache: "inactive_file " };
/// The memory controller's own hierarchy (cgroup v1).
const MEMORY: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: "total_inactive_file ",
};

/// The path of the process's group in the unified hierarchy.
fn unified_group(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| line.strip_prefix("0::/"))
}

/// The path of its group in that of the memory controller, as in `9:memory:/docker/1f3a`.
fn memory_group(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|it| it == "memory").then(|| path.trim_start_matches('/'))
    })
}

/// The limits of `group` and of the groups above it. A container may see its own group as the root, under
/// another path.
fn limits_above(root: &Path, group: &str, files: &Files) -> Vec<Limit> {
    let path = root.join(group);
    let levels = path.ancestors().take_while(|level| level.starts_with(root));
    levels.filter_map(|level| limit(level, files)).collect()
}

fn limit(level: &Path, files: &Files) -> Option<Limit> {
    let read = |file: &str| fs::read_to_string(level.join(file)).ok();
    // "max" stands for no limit, and does not parse.
    let bytes: u64 = read(files.limit)?.trim().parse().ok()?;
    let current: u64 = read(files.used)?.trim().parse().ok()?;
    let cache: u64 = read("memory.stat")
        .and_then(|stat| stat.lines().find_map(|line| line.strip_prefix(files.cache)?.parse().ok()))
        .unwrap_or(0);
    Some(Limit { bytes, left: bytes.saturating_sub(current.saturating_sub(cache)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       2048 kB\nMemAvailable:   1024 kB\nSwapTotal: 0 kB\n";

    fn left(root: &tempfile::TempDir, groups: &str) -> Option<u64> {
        limits(root.path(), groups).iter().map(|limit| limit.left).min()
    }

    #[test]
    fn meminfo_is_read_in_kibibytes() {
        let memory = Memory { total: 2 << 20, available: 1 << 20, limit: None };
        assert_eq!(Memory::parse(MEMINFO, &[]), Some(memory));
        assert_eq!(Memory::parse("MemTotal: 1 kB\n", &[]), None);
    }

    #[test]
    fn a_limit_counts_where_the_host_has_more() {
        let [tight, none] = [(1 << 19, 100), (u64::MAX >> 1, u64::MAX >> 1)]
            .map(|(bytes, left)| Limit { bytes, left });
        let memory = Memory { total: 2 << 20, available: 100, limit: Some(1 << 19) };
        assert_eq!(Memory::parse(MEMINFO, &[none, tight]), Some(memory));
        let unlimited = Memory { available: 1 << 20, limit: None, ..memory };
        assert_eq!(Memory::parse(MEMINFO, &[none]), Some(unlimited));
    }

    #[test]
    fn the_tightest_group_counts_and_dropped_cache_does_not() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("a/b");
        fs::create_dir_all(&group).unwrap();
        for (level, max, current, cache) in [("a/b", "max", 10, 0), ("a", "1000", 700, 200)] {
            let level = root.path().join(level);
            fs::write(level.join("memory.max"), format!("{max}\n")).unwrap();
            fs::write(level.join("memory.current"), format!("{current}\n")).unwrap();
            fs::write(level.join("memory.stat"), format!("anon 5\ninactive_file {cache}\n"))
                .unwrap();
        }
        assert_eq!(left(&root, "1:name=systemd:/x\n0::/a/b\n"), Some(500));
        assert_eq!(left(&root, "0::/\n"), None);
    }

    #[test]
    fn the_first_version_of_control_groups_limits_too() {
        let root = tempfile::tempdir().unwrap();
        // A container sees its own group as the root.
        for (level, limit, used, cache) in
            [("memory", "1000", 700, 200), ("memory/docker", "9223372036854771712", 900, 0)]
        {
            let level = root.path().join(level);
            fs::create_dir_all(&level).unwrap();
            fs::write(level.join("memory.limit_in_bytes"), format!("{limit}\n")).unwrap();
            fs::write(level.join("memory.usage_in_bytes"), format!("{used}\n")).unwrap();
            let stat = format!("inactive_file 1\ntotal_inactive_file {cache}\n");
            fs::write(level.join("memory.stat"), stat).unwrap();
        }
        let groups = "4:memory_pressure:/x\n3:cpuset,memory:/docker/1f3a\n1:cpu:/y\n0::/\n";
        assert_eq!(left(&root, groups), Some(500));
        assert_eq!(left(&root, "3:cpuset,memory:/\n"), Some(500));
        assert_eq!(left(&root, "4:memory_pressure:/x\n0::/\n"), None);
        // With both versions mounted, the tighter limit counts.
        fs::write(root.path().join("memory.max"), "400\n").unwrap();
        fs::write(root.path().join("memory.current"), "100\n").unwrap();
        assert_eq!(left(&root, groups), Some(300));
    }
}
