//! Constants of libraries, mapped before anything is timed.
//!
//! A vector loop can end with a load of a constant that is masked off for all ordinary inputs: SLEEF's exponential loads
//! +∞ only for lanes above 100. Where the page of that constant is not mapped, the processor suppresses the fault, which
//! takes it some hundred cycles, and since no fault is delivered, nobody ever maps the page: every later call pays again.
//! On one machine that made `silu`, `sigmoid` and `softmax` 40 times slower than they are, in one process and not in the
//! next. A read that is not masked mends it, also where what is missing is a mapping of the hypervisor's.

/// Reads a byte of every page of the constants of the libraries that compute on the CPU, and of the program itself.
/// Returns how many pages those are: none where the system does not tell its mappings.
pub fn map() -> u64 {
    platform::map()
}

#[cfg(target_os = "linux")]
mod platform {
    use std::ops::Range;
    use std::path::Path;

    /// Libraries with vector loops. Those of CUDA hold hundreds of megabytes for another processor.
    const LIBRARIES: &[&str] =
        &["libtorch_cpu.so", "libc10.so", "libm.so", "libmvec.so", "libmkl", "libopenblas"];

    pub(super) fn map() -> u64 {
        let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return 0 };
        let program = std::env::current_exe().ok();
        maps.lines().filter_map(|line| constants(line, program.as_deref())).map(read).sum()
    }

    /// The addresses of a line of `/proc/self/maps` that holds constants.
    pub(super) fn constants(line: &str, program: Option<&Path>) -> Option<Range<usize>> {
        let mut fields = line.split_ascii_whitespace();
        let (range, permissions) = (fields.next()?, fields.next()?);
        let file = Path::new(fields.nth(3)?);
        let name = file.file_name()?.to_str()?;
        let computes = LIBRARIES.iter().any(|it| name.starts_with(it)) || program == Some(file);
        if permissions != "r--p" || !computes {
            return None;
        }
        let (start, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        Some(address(start)?..address(end)?)
    }

    fn read(addresses: Range<usize>) -> u64 {
        /// The smallest page that a system has.
        const PAGE: usize = 4096;
        let pages = addresses.step_by(PAGE);
        let count = pages.len() as u64;
        for page in pages {
            // SAFETY: the page can be read, and belongs to a file of a library, or of the program, that is loaded: nobody
            // unmaps it meanwhile. Volatile, so that the byte is read although it is not used.
            unsafe { std::ptr::with_exposed_provenance::<u8>(page).read_volatile() };
        }
        count
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    pub(super) fn map() -> u64 {
        0
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_libtorchs_constants_is_there() {
        // So that it is loaded.
        assert!(tch::get_num_threads() > 0);
        let pages = map();
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let program = std::env::current_exe().unwrap();
        let (mut found, mut lines) = (0, smaps.lines());
        while let Some(line) = lines.next() {
            let Some(addresses) = platform::constants(line, Some(&program)) else { continue };
            let resident = lines.find_map(|it| it.strip_prefix("Rss:")).unwrap();
            let resident: usize = resident.trim().trim_end_matches(" kB").parse().unwrap();
            // Memory that runs short meanwhile may take some of them.
            assert!(resident * 1024 * 10 > addresses.len() * 9, "{resident} kB of {line}");
            found += (addresses.len() / 4096) as u64;
        }
        assert_eq!(found, pages);
        assert!(pages > 0);
    }

    #[test]
    fn lines_of_constants_are_told_from_others() {
        let of = |line: &str| platform::constants(line, Some(std::path::Path::new("/bin/mine")));
        let line = |permissions: &str, file: &str| {
            format!("7f00-a000 {permissions} 1213c000 fe:00 247003    {file}")
        };
        assert_eq!(of(&line("r--p", "/lib/libtorch_cpu.so")), Some(0x7f00..0xa000));
        assert_eq!(of(&line("r--p", "/bin/mine")), Some(0x7f00..0xa000));
        for (permissions, file) in
            [("r-xp", "/lib/libtorch_cpu.so"), ("r--p", "/lib/libtorch_cuda.so"), ("r--p", "")]
        {
            assert_eq!(of(&line(permissions, file)), None, "{permissions} {file}");
        }
    }
}
