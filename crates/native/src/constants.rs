//! Constants of libraries, mapped before anything is timed.
//!
//! A vector loop can end with a load of a constant that is masked off for all ordinary inputs: SLEEF's exponential loads
//! +∞ only for lanes above 100. Where the page of that constant is not mapped, the processor suppresses the fault, which
//! takes it some hundred cycles, and since no fault is delivered, nobody ever maps the page: every later call pays again.
//! On one machine that made `silu`, `sigmoid` and `softmax` 40 times slower than they are, in one process and not in the
//! next. A read that is not masked mends it, also where what is missing is a mapping of the hypervisor's.

use std::ffi::OsStr;
use std::path::Path;

/// The first letters of the libraries with vector loops. CUDA's libraries hold hundreds of
/// megabytes for another processor.
pub const LIBRARIES: [&str; 6] =
    ["libtorch_cpu.so", "libc10.so", "libm.so", "libmvec.so", "libmkl", "libopenblas"];

/// Reads a byte of every page of the constants of the libraries that compute on the CPU, and of the program itself.
/// Returns how many pages those are: none where the system does not tell its mappings.
pub fn map() -> u64 {
    platform::map(|library| {
        let name = library.file_name().and_then(OsStr::to_str);
        // The program itself has no name there.
        name.is_none_or(|name| LIBRARIES.iter().any(|it| name.starts_with(it)))
    })
}

/// Maps one library, which was loaded by this name and stays loaded meanwhile.
pub(super) fn map_library(name: &Path) -> u64 {
    platform::map(|library| library == name)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::ffi::{CStr, OsStr, c_int, c_void};
    use std::ops::Range;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    /// The smallest page that a system has.
    pub(super) const PAGE: usize = 4096;

    pub(super) fn map(wanted: impl Fn(&Path) -> bool) -> u64 {
        constants(wanted).into_iter().map(read).sum()
    }

    /// Segments that are read and neither written nor run, of the loaded libraries whose names are wanted.
    pub(super) fn constants<F: Fn(&Path) -> bool>(wanted: F) -> Vec<Range<usize>> {
        let mut search = Search { wanted, found: vec![] };
        let context = (&raw mut search).cast::<c_void>();
        // SAFETY: `visit` is made for a context of this type, which is nobody else's during the call.
        unsafe { libc::dl_iterate_phdr(Some(visit::<F>), context) };
        search.found
    }

    struct Search<F> {
        wanted: F,
        found: Vec<Range<usize>>,
    }

    /// # Safety
    /// `library` is what the dynamic linker tells of a library, and `context` a `Search<F>` that nobody else uses.
    unsafe extern "C" fn visit<F: Fn(&Path) -> bool>(
        library: *mut libc::dl_phdr_info,
        _size: usize,
        context: *mut c_void,
    ) -> c_int {
        // SAFETY: the caller's promise.
        let search = unsafe { &mut *context.cast::<Search<F>>() };
        // SAFETY: the caller's promise.
        let library = unsafe { &*library };
        // SAFETY: the linker ends its names with NUL, and keeps them during the call.
        let name = unsafe { CStr::from_ptr(library.dlpi_name) };
        if !(search.wanted)(Path::new(OsStr::from_bytes(name.to_bytes()))) {
            return 0;
        }
        // SAFETY: the linker has that many.
        let segments = unsafe {
            std::slice::from_raw_parts(library.dlpi_phdr, usize::from(library.dlpi_phnum))
        };
        let constants =
            segments.iter().filter(|it| it.p_type == libc::PT_LOAD && it.p_flags == libc::PF_R);
        search.found.extend(constants.map(|it| {
            let start = (library.dlpi_addr + it.p_vaddr) as usize;
            // From the beginning of a page.
            start / PAGE * PAGE..start + it.p_memsz as usize
        }));
        0
    }

    fn read(addresses: Range<usize>) -> u64 {
        let pages = addresses.step_by(PAGE);
        let count = pages.len() as u64;
        for page in pages {
            // SAFETY: the page can be read, and belongs to a library that stays loaded, or to the program: nobody unmaps
            // it meanwhile. Volatile, so that the byte is read although it is not used.
            unsafe { std::ptr::with_exposed_provenance::<u8>(page).read_volatile() };
        }
        count
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::path::Path;

    pub(super) fn map(_wanted: impl Fn(&Path) -> bool) -> u64 {
        0
    }
}

#[cfg(all(test, target_os = "linux"))]
pub(super) mod tests {
    use std::fs::File;
    use std::ops::Range;
    use std::os::unix::fs::FileExt;
    use std::path::PathBuf;
    use std::sync::Mutex;

    use super::platform::{PAGE, constants};
    use super::*;

    /// Mapped by one test at a time.
    static MAPPING: Mutex<()> = Mutex::new(());

    /// How many pages this process has mapped there.
    fn mapped(addresses: Range<usize>) -> usize {
        let pages = File::open("/proc/self/pagemap").expect("Linux");
        let is_mapped = |page: usize| {
            let mut entry = [0; 8];
            pages.read_exact_at(&mut entry, (page / PAGE * 8) as u64).expect("a page of its own");
            // In memory, and in this process's.
            u64::from_ne_bytes(entry) >> 63 == 1
        };
        addresses.step_by(PAGE).filter(|&page| is_mapped(page)).count()
    }

    fn pages(addresses: &Range<usize>) -> usize {
        addresses.clone().step_by(PAGE).len()
    }

    /// Whether all constants of a library are mapped, and it has some.
    pub(crate) fn is_mapped(name: &Path) -> bool {
        let all = constants(|library| library == name);
        !all.is_empty() && all.into_iter().all(|it| mapped(it.clone()) == pages(&it))
    }

    #[test]
    fn every_page_of_libtorchs_constants_is_there() {
        // This call loads libtorch.
        assert!(tch::get_num_threads() > 0);
        let _alone = MAPPING.lock();
        let read = map();
        let libtorch = constants(|it| it.ends_with("libtorch_cpu.so"));
        assert!(!libtorch.is_empty());
        let program = constants(|it| it.as_os_str().is_empty());
        assert!(!program.is_empty());
        let mut found = 0;
        for addresses in libtorch.into_iter().chain(program) {
            let (there, all) = (mapped(addresses.clone()), pages(&addresses));
            // Memory that runs short meanwhile may take some of them.
            assert!(there * 10 > all * 9, "{there} of {all} pages");
            found += all as u64;
        }
        assert!(read >= found, "{read} of {found}");
    }

    #[test]
    fn pages_that_were_taken_away_come_back() {
        let _alone = MAPPING.lock();
        // Hardly used by anyone here.
        let name =
            library_named("libmvec.so").or_else(|| library_named("libm.so")).expect("linked");
        // The last segment: the first holds what the linker reads.
        let addresses = constants(|library| library == name).pop().expect("it has constants");
        let start = std::ptr::with_exposed_provenance_mut(addresses.start);
        // SAFETY: the pages are a file's, unchanged; who reads them gets them from there again.
        let taken = unsafe { libc::madvise(start, addresses.len(), libc::MADV_DONTNEED) };
        assert_eq!(taken, 0);
        let before = mapped(addresses.clone());
        assert!(before < pages(&addresses), "nothing was taken");
        assert!(map_library(&name) > 0);
        assert_eq!(mapped(addresses.clone()), pages(&addresses));
    }

    /// The name of the first library whose file's name begins so.
    fn library_named(beginning: &str) -> Option<PathBuf> {
        let found = std::cell::RefCell::new(None);
        constants(|library| {
            let name = library.file_name().and_then(OsStr::to_str).unwrap_or_default();
            if name.starts_with(beginning) {
                found.borrow_mut().get_or_insert_with(|| library.to_owned());
            }
            false
        });
        found.into_inner()
    }

    #[test]
    fn a_library_that_is_not_there_has_none() {
        assert_eq!(map_library(Path::new("/nowhere/lib.so")), 0);
    }
}
