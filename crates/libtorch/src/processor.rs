//! The processor and the name of the machine, as Linux has them.

use std::fs;
use std::path::Path;

/// The folder of the CPUs, below the root.
pub const CPUS: &str = "sys/devices/system/cpu";

/// The value of a line `name : value`, as `/proc/cpuinfo`, `/proc/meminfo` and `/proc/self/status` have them.
pub fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// The name of the machine. `root` is `/`.
pub fn hostname(root: &Path) -> Option<String> {
    let name = fs::read_to_string(root.join("proc/sys/kernel/hostname")).ok()?;
    let name = name.lines().next()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The processor by its `/proc/cpuinfo`. ARM's cores have no name there, only numbers.
pub fn cpu_model(cpuinfo: &str) -> Option<String> {
    let arm = || {
        let (maker, part) = (field(cpuinfo, "CPU implementer")?, field(cpuinfo, "CPU part")?);
        Some(format!("ARM implementer {maker}, part {part}"))
    };
    field(cpuinfo, "model name").map(str::to_owned).or_else(arm)
}

/// The governor of the CPUs in `list`, by the folder of the CPUs; several, comma-separated, where they
/// differ.
pub fn governor(folder: &Path, list: &str) -> Option<String> {
    let mut governors: Vec<String> = numbers(list)
        .filter_map(|cpu| {
            let file = folder.join(format!("cpu{cpu}/cpufreq/scaling_governor"));
            Some(fs::read_to_string(file).ok()?.trim().to_owned())
        })
        .filter(|governor| !governor.is_empty())
        .collect();
    governors.sort();
    governors.dedup();
    (!governors.is_empty()).then(|| governors.join(","))
}

/// The numbers of a list as Linux writes it: `0-3,8`.
pub fn numbers(list: &str) -> impl Iterator<Item = u32> {
    list.split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
        })
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 143\nmodel name\t: A Processor @ 2 GHz\nflags\t\t: fpu avx2\n";
        assert_eq!(field(text, "model name"), Some("A Processor @ 2 GHz"));
        assert_eq!(field(text, "flags"), Some("fpu avx2"));
        assert_eq!(field(text, "Features"), None);
    }

    #[test]
    fn a_processor_has_a_name_or_numbers() {
        let arm =
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd40\n";
        assert_eq!(cpu_model(arm).as_deref(), Some("ARM implementer 0x41, part 0xd40"));
        assert_eq!(cpu_model("model name\t: A\nCPU part\t: 1\n").as_deref(), Some("A"));
        assert_eq!(cpu_model("processor\t: 0\n"), None);
    }

    #[test]
    fn cpus_are_listed_as_linux_does() {
        assert_eq!(numbers("0-3,8").collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(numbers("5\n").collect::<Vec<_>>(), [5]);
        assert_eq!(numbers("").count(), 0);
    }

    #[test]
    fn governors_that_differ_are_all_named() {
        let cpus = tempfile::tempdir().expect("a scratch folder");
        for (cpu, governor) in [(0, "schedutil\n"), (1, "performance\n"), (2, "schedutil\n")] {
            let folder = cpus.path().join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&folder).expect("make a folder");
            fs::write(folder.join("scaling_governor"), governor).expect("write a file");
        }
        assert_eq!(governor(cpus.path(), "0-2").as_deref(), Some("performance,schedutil"));
        assert_eq!(governor(cpus.path(), "0,2").as_deref(), Some("schedutil"));
        assert_eq!(governor(cpus.path(), "3"), None);
    }
}
