//! The energy counters of Intel's and AMD's processors, as Linux shows them in
//! `/sys/class/powercap/intel-rapl:*` (AMD's, too, are there under that name).

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::energy::EnergyCounter;

const POWERCAP: &str = "/sys/class/powercap";

/// The processor packages of the machine, summed.
#[derive(Debug)]
pub(super) struct Rapl {
    packages: Vec<Package>,
    root: PathBuf,
}

/// One counter that begins again at zero after `range_uj`.
#[derive(Debug)]
struct Package {
    name: String,
    file: PathBuf,
    range_uj: u64,
    last_uj: u64,
    /// Since it was opened.
    total_uj: u64,
}

impl Rapl {
    pub(super) fn open() -> Result<Self, String> {
        Self::open_in(Path::new(POWERCAP))
    }

    fn open_in(root: &Path) -> Result<Self, String> {
        let shown = root.display();
        let entries = match fs::read_dir(root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(format!("no {shown}: this machine exposes no energy counter"));
            }
            Err(error) => return Err(format!("{shown} cannot be read: {error}")),
        };
        let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        let opened = folders.iter().filter_map(|folder| Package::open(folder).transpose());
        let packages = opened.collect::<Result<Vec<_>, String>>()?;
        if packages.is_empty() {
            return Err(format!(
                "no intel-rapl:* package in {shown}: this machine exposes no energy counter; on \
                 your own hardware, `sudo modprobe intel_rapl_msr` may provide it"
            ));
        }
        Ok(Self { packages, root: root.to_owned() })
    }
}

impl EnergyCounter for Rapl {
    fn joules(&mut self) -> Result<f64, String> {
        let mut total_uj = 0;
        for package in &mut self.packages {
            total_uj += package.advance()?;
        }
        Ok(total_uj as f64 / 1e6)
    }

    fn describe(&self) -> String {
        let names: Vec<&str> = self.packages.iter().map(|package| package.name.as_str()).collect();
        format!(
            "RAPL {} of {}: whole processors with all their cores; memory and the rest of the \
             machine are not in it",
            names.join(" + "),
            self.root.display()
        )
    }
}

impl Package {
    /// The package in `folder`; `None` when it holds something else: a part of a package (a core's
    /// or memory's counter would be counted twice, or only on some machines), the platform, or the
    /// same counter by another way (`intel-rapl-mmio`).
    fn open(folder: &Path) -> Result<Option<Self>, String> {
        let entry = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let whole = entry.strip_prefix("intel-rapl:").is_some_and(|rest| !rest.contains(':'));
        if !whole {
            return Ok(None);
        }
        let name = read(&folder.join("name"))?;
        if !name.starts_with("package") {
            return Ok(None);
        }
        let range_uj = number(&folder.join("max_energy_range_uj"))?;
        let file = folder.join("energy_uj");
        let last_uj = number(&file)?;
        Ok(Some(Self { name, file, range_uj, last_uj, total_uj: 0 }))
    }

    /// Microjoules since it was opened.
    fn advance(&mut self) -> Result<u64, String> {
        let now = number(&self.file)?;
        self.total_uj += difference(self.last_uj, now, self.range_uj);
        self.last_uj = now;
        Ok(self.total_uj)
    }
}

/// How far a counter that begins again after `range` has come.
fn difference(before: u64, now: u64, range: u64) -> u64 {
    if now >= before { now - before } else { range.saturating_sub(before) + now }
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file)
        .map(|text| text.trim().to_owned())
        .map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &io::Error) -> String {
    let shown = file.display();
    if error.kind() == ErrorKind::PermissionDenied {
        // Since 2020 for root only: fine readings betray what a processor computes.
        format!("{shown} is for root only; `sudo chmod a+r {shown}` lets everybody read it")
    } else {
        format!("{shown} cannot be read: {error}")
    }
}

fn number(file: &Path) -> Result<u64, String> {
    let text = read(file)?;
    text.parse().map_err(|_| format!("{} holds `{text}`, not a number", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE_UJ: u64 = 65_532_610_987;

    fn set(root: &Path, folder: &str, name: &str, energy_uj: u64) {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("name"), format!("{name}\n")).unwrap();
        fs::write(folder.join("max_energy_range_uj"), format!("{RANGE_UJ}\n")).unwrap();
        fs::write(folder.join("energy_uj"), format!("{energy_uj}\n")).unwrap();
    }

    /// As a machine with two sockets has it.
    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("intel-rapl")).unwrap();
        set(root.path(), "intel-rapl:0", "package-0", 1_000_000);
        set(root.path(), "intel-rapl:0:0", "dram", 5);
        set(root.path(), "intel-rapl:1", "package-1", 7_000_000);
        set(root.path(), "intel-rapl:2", "psys", 5);
        set(root.path(), "intel-rapl-mmio:0", "package-0", 1_000_000);
        root
    }

    #[test]
    fn packages_are_summed_and_nothing_twice() {
        let root = tree();
        let mut rapl = Rapl::open_in(root.path()).unwrap();
        assert_eq!(rapl.joules(), Ok(0.0));
        set(root.path(), "intel-rapl:0", "package-0", 3_500_000);
        set(root.path(), "intel-rapl:0:0", "dram", 9_000_000);
        set(root.path(), "intel-rapl:1", "package-1", 8_000_000);
        set(root.path(), "intel-rapl:2", "psys", 9_000_000);
        assert_eq!(rapl.joules(), Ok(3.5));
        let text = rapl.describe();
        assert!(text.starts_with("RAPL package-0 + package-1 of "), "{text}");
    }

    #[test]
    fn a_counter_that_wraps_goes_on() {
        let root = tree();
        set(root.path(), "intel-rapl:0", "package-0", RANGE_UJ - 1_000_000);
        let mut rapl = Rapl::open_in(root.path()).unwrap();
        set(root.path(), "intel-rapl:0", "package-0", 500_000);
        assert_eq!(rapl.joules(), Ok(1.5));
        set(root.path(), "intel-rapl:0", "package-0", 750_000);
        assert_eq!(rapl.joules(), Ok(1.75));
    }

    #[test]
    fn what_is_missing_is_said() {
        let root = tempfile::tempdir().unwrap();
        let absent = root.path().join("powercap");
        let reason = Rapl::open_in(&absent).unwrap_err();
        let expected = format!("no {}: this machine exposes no energy counter", absent.display());
        assert_eq!(reason, expected);
        let reason = Rapl::open_in(root.path()).unwrap_err();
        assert!(reason.starts_with("no intel-rapl:* package in "), "{reason}");

        let root = tree();
        let file = root.path().join("intel-rapl:1/energy_uj");
        fs::write(&file, "much\n").unwrap();
        let reason = Rapl::open_in(root.path()).unwrap_err();
        assert_eq!(reason, format!("{} holds `much`, not a number", file.display()));
        fs::remove_file(&file).unwrap();
        assert!(Rapl::open_in(root.path()).unwrap_err().contains("cannot be read: "));
    }

    #[test]
    fn a_forbidden_counter_comes_with_its_remedy() {
        // Asked of the error itself, since root may read every file.
        let error = io::Error::from(ErrorKind::PermissionDenied);
        let reason = unreadable(Path::new("/p/energy_uj"), &error);
        let expected = "/p/energy_uj is for root only; `sudo chmod a+r /p/energy_uj` lets \
                        everybody read it";
        assert_eq!(reason, expected);
    }
}
