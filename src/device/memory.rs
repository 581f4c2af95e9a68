//! Memory that the process may still take, from what Linux says about the host and about the
//! control groups that the process lives in (a container's limit is such a group's).

use std::fs;
use std::path::Path;

/// Bytes of host memory that the process may still take without swapping; `None` where the
/// system does not say (not Linux).
pub fn available_bytes() -> Option<u64> {
    let host = mem_available(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = limited_bytes(Path::new("/sys/fs/cgroup"), &groups);
    Some(limit.map_or(host, |limit| limit.min(host)))
}

/// What the control groups leave, from both versions of them: a host may have either, or both.
fn limited_bytes(root: &Path, groups: &str) -> Option<u64> {
    let unified = unified_group(groups).and_then(|group| below_limits(root, group, &UNIFIED));
    let memory = root.join("memory");
    let of_memory = memory_group(groups).and_then(|group| below_limits(&memory, group, &MEMORY));
    unified.into_iter().chain(of_memory).min()
}

/// Where a version of control groups tells about memory.
struct Files {
    limit: &'static str,
    used: &'static str,
    /// What of `memory.stat` is file cache that the kernel would drop first.
    cache: &'static str,
}

/// The unified hierarchy (cgroup v2).
const UNIFIED: Files =
    Files { limit: "memory.max", used: "memory.current", cache: "inactive_file " };
/// The memory controller's own hierarchy (cgroup v1). Without a limit its limit is huge.
const MEMORY: Files = Files {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: "total_inactive_file ",
};

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

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

/// The tightest of the limits of `group` and of the groups above it, less what they use;
/// `None` without a limit. A container may see its own group as the root, under another path.
fn below_limits(root: &Path, group: &str, files: &Files) -> Option<u64> {
    let path = root.join(group);
    let levels = path.ancestors().take_while(|level| level.starts_with(root));
    levels.filter_map(|level| below_limit(level, files)).min()
}

fn below_limit(level: &Path, files: &Files) -> Option<u64> {
    let read = |file: &str| fs::read_to_string(level.join(file)).ok();
    // "max" stands for no limit, and does not parse.
    let limit: u64 = read(files.limit)?.trim().parse().ok()?;
    let current: u64 = read(files.used)?.trim().parse().ok()?;
    let cache: u64 = read("memory.stat")
        .and_then(|stat| stat.lines().find_map(|line| line.strip_prefix(files.cache)?.parse().ok()))
        .unwrap_or(0);
    Some(limit.saturating_sub(current.saturating_sub(cache)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read_in_kibibytes() {
        let meminfo = "MemTotal:       24640000 kB\nMemAvailable:   1024 kB\nSwapTotal: 0 kB\n";
        assert_eq!(mem_available(meminfo), Some(1 << 20));
        assert_eq!(mem_available("MemTotal: 1 kB\n"), None);
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
        assert_eq!(limited_bytes(root.path(), "1:name=systemd:/x\n0::/a/b\n"), Some(500));
        assert_eq!(limited_bytes(root.path(), "0::/\n"), None);
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
        assert_eq!(limited_bytes(root.path(), groups), Some(500));
        assert_eq!(limited_bytes(root.path(), "3:cpuset,memory:/\n"), Some(500));
        assert_eq!(limited_bytes(root.path(), "4:memory_pressure:/x\n0::/\n"), None);
        // With both versions mounted, the tighter limit counts.
        fs::write(root.path().join("memory.max"), "400\n").unwrap();
        fs::write(root.path().join("memory.current"), "100\n").unwrap();
        assert_eq!(limited_bytes(root.path(), groups), Some(300));
    }
}
