//! A CUDA device that waits for the host, and the clock of its multiprocessors meanwhile.

use std::ffi::{CString, c_char, c_void};
use std::time::Duration;

use super::border::{Handle, Status, check};
use super::cuda::device_index;
use super::error::Error;

unsafe extern "C" {
    fn ctn_gate_new(device_index: i32, ptx: *const c_char, out: *mut Handle) -> Status;
    fn ctn_gate_hold(gate: *mut c_void, limit_ns: u64) -> Status;
    fn ctn_gate_open(gate: *mut c_void);
    fn ctn_gate_ended(gate: *const c_void) -> u32;
    fn ctn_gate_stamp(gate: *mut c_void, stop: bool) -> Status;
    fn ctn_gate_multiprocessors(gate: *const c_void) -> i32;
    fn ctn_gate_stamps(gate: *const c_void, out: *mut [u64; 4]);
}

/// The kernels, which the driver compiles.
const PTX: &str = include_str!("gate.ptx");

/// Shortest time between two stamps that tells a clock: the device's timer may advance by a microsecond at a time.
const SHORTEST_NS: u64 = 200_000;

/// A gate in the order of a device's work: what is queued behind it begins when the host opens it.
///
/// A sleep of a guessed length ends too early where the host is late. This ends when the host says so, and after a limit
/// all the same, because a step may wait for the device itself.
#[derive(Debug)]
pub struct Gate(Handle);

/// A moment of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    /// Before its first step.
    Start,
    /// Behind its last one.
    Stop,
}

impl Gate {
    /// A gate of a CUDA device, open.
    ///
    /// # Errors
    /// When CUDA is not linked or there is no such device, or when the driver refuses the kernel.
    pub fn new(device: usize) -> Result<Self, Error> {
        let (index, ptx) = (device_index(device)?, CString::new(PTX).expect("a text without NUL"));
        // SAFETY: the text ends with NUL and lives; `out` is writable.
        Handle::new(|out| unsafe { ctn_gate_new(index, ptx.as_ptr(), out) }).map(Self)
    }

    /// Closes it and queues it on the device's current stream: the device waits there until [`Self::open`], or for `limit`
    /// by its own timer. It has to have passed the gate before.
    pub fn hold(&mut self, limit: Duration) -> Result<(), Error> {
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the gate lives.
        check(unsafe { ctn_gate_hold(self.0.as_ptr(), limit_ns) })
    }

    /// Lets the device pass.
    pub fn open(&mut self) {
        // SAFETY: the gate lives.
        unsafe { ctn_gate_open(self.0.as_ptr()) };
    }

    /// Whether the device, which has passed it, found it opened; false where the limit was over first.
    pub fn was_opened(&self) -> bool {
        // SAFETY: the gate lives.
        unsafe { ctn_gate_ended(self.0.as_ptr()) == 1 }
    }

    /// Queues a stamp of the device's timer and of each multiprocessor's cycles.
    pub fn stamp(&mut self, at: Stamp) -> Result<(), Error> {
        // SAFETY: the gate lives.
        check(unsafe { ctn_gate_stamp(self.0.as_ptr(), at == Stamp::Stop) })
    }

    /// The multiprocessors' mean clock between the two stamps behind the last [`Self::hold`], in MHz: the median of those on
    /// which a block of either stamp ran. None where the stamps are less than 0.2 ms apart.
    pub fn clock_mhz(&self) -> Option<f64> {
        let gate = self.0.as_ptr();
        // SAFETY: the gate lives.
        let multiprocessors = unsafe { ctn_gate_multiprocessors(gate) };
        let mut stamps = vec![[0; 4]; usize::try_from(multiprocessors).unwrap_or_default()];
        // SAFETY: the gate lives, and `out` holds four numbers for each multiprocessor.
        unsafe { ctn_gate_stamps(gate, stamps.as_mut_ptr()) };
        let mut clocks: Vec<f64> = stamps.into_iter().filter_map(clock_mhz).collect();
        clocks.sort_unstable_by(f64::total_cmp);
        clocks.get(clocks.len() / 2).copied()
    }
}

fn clock_mhz([start_ns, start_cycles, stop_ns, stop_cycles]: [u64; 4]) -> Option<f64> {
    if start_ns == 0 || stop_ns == 0 {
        return None;
    }
    let ns = stop_ns.checked_sub(start_ns).filter(|ns| *ns >= SHORTEST_NS)?;
    let cycles = stop_cycles.checked_sub(start_cycles)?;
    Some(cycles as f64 * 1e3 / ns as f64)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    #[test]
    fn without_a_device_it_says_why() {
        let devices = usize::try_from(tch::Cuda::device_count()).expect("a count");
        let error = Gate::new(devices).expect_err("one past the last device").to_string();
        assert!(error.contains("CUDA"), "{error}");
    }

    #[test]
    fn a_clock_needs_both_stamps_and_time_between_them() {
        assert_eq!(clock_mhz([1000, 50, 1_001_000, 1_980_050]), Some(1980.0));
        for [start, stop] in [[0, 1_000_000], [1000, 0], [1000, 100_000], [1_000_000, 1000]] {
            assert_eq!(clock_mhz([start, 0, stop, 1]), None, "{start} {stop}");
        }
        assert_eq!(clock_mhz([1000, 2, 1_000_000, 1]), None);
    }

    /// As a driver compiles it, for the oldest and the newest devices that libtorch knows.
    #[test]
    fn the_kernels_assemble() {
        let libtorch = std::env::var_os("LIBTORCH").map(PathBuf::from);
        let Some(ptxas) = libtorch.map(|it| it.join("bin/ptxas")).filter(|it| it.is_file()) else {
            crate::skip::hardware("this libtorch brings no bin/ptxas");
            return;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("gate.ptx");
        std::fs::write(&source, PTX).expect("written");
        for generation in ["sm_75", "sm_90", "sm_120"] {
            let mut ptxas = Command::new(&ptxas);
            ptxas.arg(format!("-arch={generation}")).arg("-warn-spills").arg(&source);
            let done = ptxas.arg("-o").arg(folder.path().join("gate.cubin")).output();
            let done = done.expect("it runs");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            assert_eq!(String::from_utf8_lossy(&done.stderr), "");
        }
    }

    #[test]
    fn a_device_waits_until_it_is_let_pass_or_for_the_limit() {
        if !tch::Cuda::is_available() {
            crate::skip::hardware("no CUDA device");
            return;
        }
        let mut gate = Gate::new(0).expect("the driver compiles it");
        let mut held = |opens: bool| {
            let start = Instant::now();
            gate.hold(Duration::from_millis(50)).expect("queued");
            gate.stamp(Stamp::Start).expect("queued");
            super::super::cuda::sleep(0, 2_000_000).expect("queued");
            gate.stamp(Stamp::Stop).expect("queued");
            if opens {
                gate.open();
            }
            super::super::cuda::synchronize(0).expect("done");
            println!("{:?} MHz", gate.clock_mhz());
            assert!(gate.clock_mhz().is_some_and(|mhz| (100.0..10_000.0).contains(&mhz)));
            (gate.was_opened(), start.elapsed() >= Duration::from_millis(50))
        };
        assert_eq!(held(false), (false, true));
        assert!(held(true).0);
    }
}
