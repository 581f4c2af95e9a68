//! Memory that the process may still take, from what Linux says about the host and about the
//! control groups that the process lives in (a container's limit is such a group's).

use std::fs;
use std::path::Path;

/// Bytes of host memory that the process may still take without swapping; `None` where the
/// system does not say (not Linux).
pub fn available_bytes() -> Option<u64> {
    let host = mem_available(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit =
        control_group(&groups).and_then(|group| below_limits(Path::new("/sys/fs/cgroup"), group));
    Some(limit.map_or(host, |limit| limit.min(host)))
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The path of the process's group in the unified hierarchy (cgroup v2).
fn control_group(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| line.strip_prefix("0::/"))
}

/// The tightest of the limits of `group` and of the groups above it, less what they use;
/// `None` without a limit. File cache that the kernel would drop first does not count as used.
fn below_limits(root: &Path, group: &str) -> Option<u64> {
    let path = root.join(group);
    let levels = path.ancestors().take_while(|level| level.starts_with(root));
    levels.filter_map(below_limit).min()
}

fn below_limit(level: &Path) -> Option<u64> {
    let read = |file: &str| fs::read_to_string(level.join(file)).ok();
    // "max" stands for no limit, and does not parse.
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let current: u64 = read("memory.current")?.trim().parse().ok()?;
    let cache: u64 = read("memory.stat")
        .and_then(|stat| {
            stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse().ok())
        })
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
        assert_eq!(control_group("1:name=systemd:/x\n0::/a/b\n"), Some("a/b"));
        assert_eq!(below_limits(root.path(), "a/b"), Some(500));
        assert_eq!(below_limits(root.path(), ""), None);
    }
}
