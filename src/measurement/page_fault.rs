//! The cost of one page fault on this machine.
//!
//! A fresh output costs its first writer one fault per page: the kernel finds a page, zeroes it and
//! maps it. Unmapping it later costs again and is not in the figure, so a share of the time that is
//! computed from it is rather too low. Virtual machines pay more, because the host may have to find
//! a page, too.

use once_cell::sync::OnceCell;

#[cfg(target_os = "linux")]
pub use linux::page_bytes;
#[cfg(all(test, target_os = "linux"))]
pub(super) use linux::touch_fresh;

static COST: OnceCell<Result<f64, String>> = OnceCell::new();

/// The cost of a page fault in nanoseconds, or why it is not known. Measured on the first call, for
/// some 40 ms; the median over pieces of
/// fresh memory, most of which nothing interrupts even on a busy machine.
pub fn cost() -> Result<f64, String> {
    COST.get_or_init(linux::measure).clone()
}

/// As [`cost`], without the reason.
pub fn cost_ns() -> Option<f64> {
    cost().ok()
}

/// The cost if it was measured before; measures nothing.
pub fn known_ns() -> Option<f64> {
    COST.get()?.as_ref().ok().copied()
}

#[cfg(target_os = "linux")]
mod linux {
    use statistics::quantile;

    use crate::measurement::{stopwatch::Stopwatch, usage::Usage};

    /// As large as an output that does not stay in the cache: pages that were used a moment ago are
    /// zeroed faster.
    const BYTES: usize = 32 << 20;
    /// Pages that are timed together: enough that reading the clock does not show, and few enough that
    /// most are over before another program gets its turn.
    pub(super) const PAGES: usize = 256;
    const ROUNDS: usize = 3;

    pub(super) fn measure() -> Result<f64, String> {
        let mut costs = Vec::new();
        for _ in 0..ROUNDS {
            for Touched { ns, faults } in touch_fresh(BYTES)? {
                costs.push(judge(PAGES, ns, faults)?);
            }
        }
        costs.sort_by(f64::total_cmp);
        Ok(quantile(&costs, 0.5))
    }

    /// The cost of one of `faults`; a system that counts far fewer than it mapped pages does not count,
    /// or maps several at once.
    pub(super) fn judge(pages: usize, ns: f64, faults: f64) -> Result<f64, String> {
        if faults < 0.9 * pages as f64 {
            return Err(format!(
                "{pages} pages were written, but the system counted {faults} faults"
            ));
        }
        Ok(ns / faults)
    }

    /// Time and page faults of a first write to each of `PAGES` pages.
    pub(in crate::measurement) struct Touched {
        pub(super) ns: f64,
        pub(super) faults: f64,
    }

    /// Maps `bytes`, writes one byte to each page, piece by piece, and unmaps them.
    pub(in crate::measurement) fn touch_fresh(bytes: usize) -> Result<Vec<Touched>, String> {
        let page_bytes = page_bytes()?;
        let memory = Mapping::new(bytes)?;
        let piece_bytes = PAGES * page_bytes;
        let mut touched = Vec::new();
        for start in (0..bytes / piece_bytes).map(|piece| piece * piece_bytes) {
            let before = Usage::of_thread()?;
            let watch = Stopwatch::start();
            memory.touch((start..start + piece_bytes).step_by(page_bytes));
            let ns = watch.ns();
            let faults = (Usage::of_thread()? - before).minor_faults;
            touched.push(Touched { ns, faults });
        }
        Ok(touched)
    }

    /// Bytes of a page.
    pub fn page_bytes() -> Result<usize, String> {
        // SAFETY: asks for a constant of the system.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(bytes).map_err(|_| format!("sysconf says that a page has {bytes} bytes"))
    }

    /// Anonymous memory in pages of the smallest size.
    struct Mapping {
        start: *mut u8,
        bytes: usize,
    }

    impl Mapping {
        fn new(bytes: usize) -> Result<Self, String> {
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a new mapping, at an address of the kernel's choice, touches nobody's memory.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
            if start == libc::MAP_FAILED {
                let error = std::io::Error::last_os_error();
                return Err(format!("{bytes} bytes could not be mapped: {error}"));
            }
            let mapping = Self { start: start.cast(), bytes };
            // SAFETY: the range is the mapping just made, and only its page size is chosen.
            let advised = unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
            let error = std::io::Error::last_os_error();
            // A kernel built without huge pages does not know the advice, and needs none.
            if advised != 0 && error.raw_os_error() != Some(libc::EINVAL) {
                return Err(format!("huge pages could not be declined: {error}"));
            }
            Ok(mapping)
        }

        /// Writes one byte at each of `offsets`.
        fn touch(&self, offsets: impl Iterator<Item = usize>) {
            for offset in offsets {
                assert!(offset < self.bytes, "offset {offset} is outside the mapping");
                // SAFETY: `offset` is below the size of the mapping.
                let byte = unsafe { self.start.add(offset) };
                // SAFETY: `byte` is inside the mapping, which is writable and nobody else's.
                unsafe { byte.write_volatile(1) };
            }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: the mapping is this value's own, and nothing points into it any more.
            let unmapped = unsafe { libc::munmap(self.start.cast(), self.bytes) };
            assert_eq!(unmapped, 0, "munmap refuses only what was never mapped");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    pub(super) fn measure() -> Result<f64, String> {
        Err("the cost of a page fault is measured on Linux only".to_owned())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::linux::{PAGES, judge};
    use super::*;

    #[test]
    fn every_page_written_is_a_fault() {
        let touched = touch_fresh(4 * PAGES * page_bytes().unwrap()).unwrap();
        assert_eq!(touched.len(), 4);
        let faults: f64 = touched.iter().map(|touched| touched.faults).sum();
        // A few more are the page tables' and the thread's own.
        assert!((1024.0..1100.0).contains(&faults), "{faults}");
    }

    #[test]
    fn the_cost_is_measured_once() {
        let first = cost().unwrap();
        assert!(first > 0.0);
        assert_eq!((cost_ns(), known_ns()), (Some(first), Some(first)));
    }

    #[test]
    fn faults_that_are_not_counted_are_an_error() {
        assert_eq!(judge(1000, 500_000.0, 1000.0), Ok(500.0));
        let error = judge(1000, 500_000.0, 0.0).unwrap_err();
        assert_eq!(error, "1000 pages were written, but the system counted 0 faults");
    }
}
