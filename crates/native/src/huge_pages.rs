//! Huge pages under large tensors.
//!
//! A processor's larger caches are indexed by physical address, and the kernel hands out 4 KiB pages from wherever it
//! has some; and the C library puts a block at any multiple of 64 bytes. So two identical weights are not equally
//! fast: they differ by where they came to lie, for as long as the process lives. libtorch can put each block of 2 MiB
//! and more on a page boundary and ask for huge pages under it, which all lie alike. `enable` has it do so.

use std::path::Path;

use super::error::Error;

/// The switch of libtorch, read at its first allocation.
const SWITCH: &str = "THP_MEM_ALLOC_ENABLE";

/// Has libtorch begin blocks of 2 MiB and more on a page boundary, and ask for huge pages under them, which the kernel
/// grants where `/sys/kernel/mm/transparent_hugepage/enabled` is `always` or `madvise`. A value that the user has set
/// stays. To be called first thing in a program: later it has no effect.
pub fn enable() {
    if std::env::var_os(SWITCH).is_none() {
        // SAFETY: called before the program has threads that could read the environment meanwhile.
        unsafe { std::env::set_var(SWITCH, "1") };
    }
}

/// Whether the kernel gives huge pages only to those who ask, so that most programs have none.
pub fn are_for_those_who_ask() -> bool {
    ::libtorch::memory::huge_pages(Path::new("/")).as_deref() == Some("madvise")
}

/// Takes huge pages away from this process, or allows them again: for what is to be measured as other programs are.
pub fn allow(allowed: bool) -> Result<(), Error> {
    platform::allow(allowed)
}

#[cfg(target_os = "linux")]
mod platform {
    use super::Error;

    pub(super) fn allow(allowed: bool) -> Result<(), Error> {
        let disable = libc::c_ulong::from(!allowed);
        // SAFETY: changes nothing but the kernel's choice of page size for this process.
        if unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, disable, 0, 0, 0) } == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        Err(Error::Allocator(format!("huge pages cannot be switched: {error}")))
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::Error;

    pub(super) fn allow(_allowed: bool) -> Result<(), Error> {
        Err(Error::Allocator("huge pages are switched on Linux only".to_owned()))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use tch::{Device, Kind, Tensor};

    use super::*;

    /// Tells the copy of the test program what to do.
    const CHILD: &str = "CRITERION_TORCH_TEST_HUGE_PAGES";

    #[test]
    fn large_tensors_begin_on_a_page_boundary() {
        if std::env::var_os(CHILD).is_some() {
            enable();
            // SAFETY: asks for the page size.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            for elements in [1 << 19, 12_345_678, 3_000_001] {
                let tensor = Tensor::ones([elements], (Kind::Float, Device::Cpu));
                let address = tensor.data_ptr() as usize;
                assert_eq!(address % page, 0, "{elements} elements at {address:x}");
            }
            return;
        }
        let test = "huge_pages::tests::large_tensors_begin_on_a_page_boundary";
        let output = Command::new(std::env::current_exe().expect("the test program has a path"))
            .args(["--exact", test, "--test-threads", "1"])
            .env(CHILD, "1")
            .output()
            .expect("the test program starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
}
