//! Energy from the drivers in `/sys/class/hwmon`: the counters of `amd_energy`, and the power of an AMD GPU, summed
//! over time. `rocm-smi` prints the same files of `amdgpu`, so it is not needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::energy::EnergyCounter;
use super::stopwatch::Stopwatch;

const HWMON: &str = "/sys/class/hwmon";

/// Time between two power readings. The driver averages over about a millisecond.
const REST: Duration = Duration::from_millis(10);

/// Energy counters of AMD's processor sockets. Kernels before 5.13 have this driver; later ones have RAPL.
#[derive(Debug)]
pub(super) struct Sockets {
    files: Vec<PathBuf>,
    root: PathBuf,
}

impl Sockets {
    /// `None` if the driver is absent.
    pub(super) fn open() -> Result<Option<Self>, String> {
        Self::open_in(Path::new(HWMON))
    }

    /// A label that cannot be read is an error: without one of the sockets the sum would be too small.
    fn open_in(root: &Path) -> Result<Option<Self>, String> {
        let mut files = Vec::new();
        for folder in sensors(root, "amd_energy") {
            let label = |index: u32| folder.join(format!("energy{index}_label"));
            for index in (1..).take_while(|&index| label(index).exists()) {
                if read(&label(index))?.starts_with("Esocket") {
                    files.push(folder.join(format!("energy{index}_input")));
                }
            }
        }
        Ok((!files.is_empty()).then(|| Self { files, root: root.to_owned() }))
    }
}

impl EnergyCounter for Sockets {
    fn joules(&mut self) -> Result<f64, String> {
        let microjoules = self.files.iter().map(|file| number(file));
        Ok(microjoules.sum::<Result<f64, String>>()? / 1e6)
    }

    fn describe(&self) -> String {
        format!(
            "amd_energy of {}: whole processors with all their cores; memory and the rest of the \
             machine are not in it",
            self.root.display()
        )
    }
}

/// An AMD GPU's power, which a thread reads and sums for as long as this lives.
#[derive(Debug)]
pub(super) struct GpuPower {
    file: PathBuf,
    sum: Arc<Mutex<Sum>>,
    /// Dropping it stops the thread.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl GpuPower {
    pub(super) fn open() -> Result<Self, String> {
        Self::open_in(Path::new(HWMON))
    }

    fn open_in(root: &Path) -> Result<Self, String> {
        let file = power_file(root)?;
        let sum = Arc::new(Mutex::new(Sum::default()));
        let (stop, stopped) = mpsc::channel();
        let (read_file, shared) = (file.clone(), Arc::clone(&sum));
        let thread = thread::spawn(move || {
            let watch = Stopwatch::start();
            loop {
                let watts = number(&read_file).map(|microwatts| microwatts / 1e6);
                lock(&shared).take(watts, watch.seconds());
                if stopped.recv_timeout(REST) != Err(mpsc::RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        Ok(Self { file, sum, stop: Some(stop), thread: Some(thread) })
    }
}

impl EnergyCounter for GpuPower {
    fn joules(&mut self) -> Result<f64, String> {
        let sum = lock(&self.sum);
        sum.failed.clone().map_or(Ok(sum.joules), Err)
    }

    fn describe(&self) -> String {
        format!(
            "{} of amdgpu, read every {} ms and summed over time: the GPU's own power",
            self.file.display(),
            REST.as_millis()
        )
    }
}

impl Drop for GpuPower {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // `join` can only report a panic, which has already been printed.
            drop(thread.join());
        }
    }
}

/// Power integrated over time by the trapezoidal rule.
#[derive(Debug, Default)]
struct Sum {
    joules: f64,
    last: Option<(f64, f64)>,
    failed: Option<String>,
}

impl Sum {
    fn take(&mut self, watts: Result<f64, String>, at_s: f64) {
        match watts {
            Ok(watts) => {
                if let Some((before, before_s)) = self.last {
                    self.joules += (before + watts) / 2.0 * (at_s - before_s);
                }
                self.last = Some((watts, at_s));
            }
            Err(reason) => self.failed = Some(reason),
        }
    }
}

fn lock(sum: &Mutex<Sum>) -> MutexGuard<'_, Sum> {
    sum.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file of the only AMD GPU's power, in microwatts.
fn power_file(root: &Path) -> Result<PathBuf, String> {
    let shown = root.display();
    let files = |folder: &PathBuf| {
        let files = ["power1_average", "power1_input"].map(|file| folder.join(file));
        files.into_iter().find(|file| file.is_file())
    };
    let mut found: Vec<PathBuf> = sensors(root, "amdgpu").iter().filter_map(files).collect();
    match found.len() {
        0 => Err(format!("no amdgpu in {shown} shows its power")),
        1 => Ok(found.remove(0)),
        count => Err(format!(
            "{count} GPUs of amdgpu in {shown} show their power, and it is not known which of them \
             the case ran on"
        )),
    }
}

/// The folders of a driver, in the order of their names.
fn sensors(root: &Path, driver: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let is_it = |folder: &PathBuf| read(&folder.join("name")).is_ok_and(|name| name == driver);
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_it).collect();
    folders.sort();
    folders
}

fn read(file: &Path) -> Result<String, String> {
    let text = fs::read_to_string(file);
    let text = text.map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    Ok(text.trim().to_owned())
}

fn number(file: &Path) -> Result<f64, String> {
    let text = read(file)?;
    let number: Option<u64> = text.parse().ok();
    let wrong = || format!("{} holds `{text}`, not a number", file.display());
    Ok(number.ok_or_else(wrong)? as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn sockets_are_summed_and_cores_are_not_counted_twice() {
        let root = tempfile::tempdir().unwrap();
        assert!(Sockets::open_in(root.path()).unwrap().is_none());
        write(root.path(), "hwmon0/name", "k10temp\n");
        write(root.path(), "hwmon1/name", "amd_energy\n");
        for (index, label, microjoules) in
            [(1, "Ecore000", "5"), (2, "Esocket0", "2500000"), (3, "Esocket1", "1000000")]
        {
            write(root.path(), &format!("hwmon1/energy{index}_label"), &format!("{label}\n"));
            write(root.path(), &format!("hwmon1/energy{index}_input"), microjoules);
        }
        let mut sockets = Sockets::open_in(root.path()).unwrap().expect("the driver is there");
        assert_eq!(sockets.joules(), Ok(3.5));
        fs::remove_file(root.path().join("hwmon1/energy3_input")).unwrap();
        let reason = sockets.joules().unwrap_err();
        assert!(reason.contains("energy3_input cannot be read"), "{reason}");
        let label = root.path().join("hwmon1/energy2_label");
        fs::write(label, b"\xff").unwrap();
        let reason = Sockets::open_in(root.path()).unwrap_err();
        assert!(reason.contains("energy2_label cannot be read"), "{reason}");
    }

    #[test]
    fn power_is_summed_over_time() {
        let mut sum = Sum::default();
        sum.take(Ok(100.0), 5.0);
        assert_eq!(sum.joules, 0.0);
        sum.take(Ok(300.0), 5.5);
        sum.take(Ok(300.0), 6.5);
        // 200 W for half a second, 300 W for a second.
        assert_eq!(sum.joules, 400.0);
        sum.take(Err("gone".to_owned()), 7.0);
        assert_eq!(sum.failed.as_deref(), Some("gone"));
    }

    #[test]
    fn the_gpus_power_is_read_while_it_is_open() {
        let root = tempfile::tempdir().unwrap();
        assert!(GpuPower::open_in(root.path()).unwrap_err().starts_with("no amdgpu in "));
        write(root.path(), "hwmon3/name", "amdgpu\n");
        assert!(GpuPower::open_in(root.path()).is_err(), "an amdgpu without a sensor of power");
        write(root.path(), "hwmon3/power1_average", "150000000\n");
        let mut power = GpuPower::open_in(root.path()).expect("a GPU");
        assert!(power.describe().contains("hwmon3/power1_average of amdgpu"));
        while power.joules().expect("readable") == 0.0 {
            thread::yield_now();
        }
        fs::remove_file(root.path().join("hwmon3/power1_average")).unwrap();
        let reason = loop {
            match power.joules() {
                Ok(_) => thread::yield_now(),
                Err(reason) => break reason,
            }
        };
        assert!(reason.contains("cannot be read"), "{reason}");
        drop(power);

        write(root.path(), "hwmon3/power1_input", "150000000\n");
        write(root.path(), "hwmon4/name", "amdgpu\n");
        write(root.path(), "hwmon4/power1_input", "90000000\n");
        let reason = GpuPower::open_in(root.path()).unwrap_err();
        assert!(reason.starts_with("2 GPUs of amdgpu in "), "{reason}");
    }
}
