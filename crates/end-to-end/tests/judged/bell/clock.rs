//! Replaces the clock of its process by one that is four times as slow; `clock` should catch it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, Ordering};

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Clock {
    honest: Honest,
}

impl Kernel for Clock {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        if START_NS.load(Ordering::Relaxed) == 0 {
            START_NS.store(nanoseconds(&now(libc::CLOCK_MONOTONIC)), Ordering::Relaxed);
            // SAFETY: the callback has the signature that the C library asks for.
            unsafe { libc::dl_iterate_phdr(Some(replace), std::ptr::null_mut()) };
        }
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}

/// The moment from which on the clock is slow.
static START_NS: AtomicI64 = AtomicI64::new(0);

fn nanoseconds(time: &libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The system's own clock.
fn now(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for a time.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    time
}

extern "C" fn slow_clock(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    let real = now(clock);
    let start = START_NS.load(Ordering::Relaxed);
    let slow = match clock {
        libc::CLOCK_MONOTONIC => start + (nanoseconds(&real) - start) / 4,
        _ => nanoseconds(&real),
    };
    let slow = libc::timespec { tv_sec: slow / 1_000_000_000, tv_nsec: slow % 1_000_000_000 };
    // SAFETY: the caller has room for a time.
    unsafe { time.write(slow) };
    0
}

/// The entries of an object's dynamic section that lead to its relocations.
#[derive(Default)]
struct Dynamic {
    /// The addresses of symbols, of their names, and of two tables of relocations, each with its size.
    symbols: usize,
    names: usize,
    relocations: [(usize, usize); 2],
}

impl Dynamic {
    /// # Safety
    /// A dynamic section of a loaded object begins there.
    unsafe fn read(mut entry: *const [usize; 2]) -> Self {
        let mut dynamic = Self::default();
        loop {
            // SAFETY: the section ends with an entry of tag 0.
            let [tag, value] = unsafe { entry.read() };
            match tag {
                0 => return dynamic,
                2 => dynamic.relocations[0].1 = value,
                5 => dynamic.names = value,
                6 => dynamic.symbols = value,
                7 => dynamic.relocations[1].0 = value,
                8 => dynamic.relocations[1].1 = value,
                23 => dynamic.relocations[0].0 = value,
                _ => {}
            }
            entry = entry.wrapping_add(1);
        }
    }
}

/// Has the program call [`slow_clock`] in place of the C library's function.
unsafe extern "C" fn replace(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: the C library calls this with an object's description.
    let info = unsafe { &*info };
    // SAFETY: so many headers lie there.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let base = info.dlpi_addr as usize;
    let Some(section) = headers.iter().find(|it| it.p_type == libc::PT_DYNAMIC) else { return 1 };
    // SAFETY: the header says where the section is.
    let dynamic = unsafe { Dynamic::read((base + section.p_vaddr as usize) as *const _) };
    for (table, bytes) in dynamic.relocations {
        for at in 0..bytes / size_of::<[usize; 3]>() {
            let relocation = (table as *const [usize; 3]).wrapping_add(at);
            // SAFETY: so many relocations lie there.
            let [offset, kind, _] = unsafe { relocation.read() };
            let symbol = (dynamic.symbols as *const libc::Elf64_Sym).wrapping_add(kind >> 32);
            // SAFETY: a relocation's symbol is in the table.
            let name = dynamic.names + unsafe { (*symbol).st_name } as usize;
            // SAFETY: its name is a string.
            let name = unsafe { CStr::from_ptr(name as *const c_char) };
            if matches!(kind & 0xffff_ffff, 6 | 7 | 1025 | 1026) && name == c"clock_gettime" {
                // SAFETY: the program calls the function by this address.
                unsafe { overwrite((base + offset) as *mut usize) };
            }
        }
    }
    // The first object is the program, and no other is of interest.
    1
}

/// # Safety
/// The address of a function of the signature of [`slow_clock`] lies there.
unsafe fn overwrite(slot: *mut usize) {
    let page = (slot as usize & !0xfff) as *mut c_void;
    // SAFETY: a page of the program.
    if unsafe { libc::mprotect(page, 0x1000, libc::PROT_READ | libc::PROT_WRITE) } == 0 {
        // SAFETY: the caller's promise, and the page can be written.
        unsafe { slot.write(slow_clock as *const () as usize) };
    }
}
