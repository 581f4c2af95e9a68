//! The process of a kernel may not trace or read other processes, signal them, or start ones that outlive it; nor leave
//! anything in files or on a network.

use std::fmt::Display;

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};
use nix::sys::prctl;

/// Offsets in `struct seccomp_data` of the kernel's interface.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;

/// The lower half of an argument.
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

#[cfg(target_arch = "x86_64")]
const THIS_ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const THIS_ARCH: u32 = 0xC000_00B7;

/// The bit of calls of x86-64 with 32-bit pointers, which have other numbers.
const X32: u32 = 0x4000_0000;

/// Calls that are refused, whatever their arguments.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_bpf,
    libc::SYS_socket,
    // It would do what is refused here.
    libc::SYS_io_uring_setup,
    // Memory and queues that other processes find by a number.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_truncate,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_utimensat,
    libc::SYS_fchmodat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
];

/// Refused calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_creat,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_mknod,
    libc::SYS_link,
    libc::SYS_symlink,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// Calls that open files, and the place of their flags: they may only read.
const OPENS: &[(libc::c_long, u32)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// Calls whose arguments a filter cannot read. The C library falls back to older ones.
const HIDDEN: &[libc::c_long] = &[libc::SYS_clone3, libc::SYS_openat2];

/// Calls that are allowed where they name this process.
const OF_ITSELF: &[libc::c_long] = &[libc::SYS_kill, libc::SYS_tgkill, libc::SYS_prlimit64];

const fn load(offset: u32) -> sock_filter {
    sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: offset }
}

const fn unless(value: u32, code: u32, skipped: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | code | BPF_K) as u16, jt: 0, jf: skipped, k: value }
}

const fn answer(action: u32) -> sock_filter {
    sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: action }
}

const fn refused(error: i32) -> sock_filter {
    answer(libc::SECCOMP_RET_ERRNO | error as u32)
}

/// Takes effect for this process, for all threads that it starts, and for good. The driver of a device opens files when it
/// likes, so that a process with one may write to files.
///
/// # Errors
/// When this system has no such filters.
pub fn confine(is_on_device: bool) -> Result<(), String> {
    prctl::set_no_new_privs().map_err(|error| format!("no_new_privs: {error}"))?;
    drop_capabilities()?;
    let allowed = answer(libc::SECCOMP_RET_ALLOW);
    let is_this_arch = sock_filter { jt: 1, ..unless(THIS_ARCH, BPF_JEQ, 0) };
    let mut filter = vec![load(ARCH), is_this_arch, refused(libc::EPERM), load(NUMBER)];
    filter.extend([unless(X32, BPF_JSET, 1), refused(libc::EPERM)]);
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        filter.extend([unless(*call as u32, BPF_JEQ, 1), refused(libc::EPERM)]);
    }
    for call in OF_ITSELF {
        let (own, none) = (std::process::id(), 0);
        let is_own = unless(own, BPF_JEQ, 1);
        let is_none = unless(none, BPF_JEQ, 1);
        filter.extend([unless(*call as u32, BPF_JEQ, 6), load(argument(0)), is_own, allowed]);
        // 0 is this process in `prlimit64`, and its group in `kill`.
        let zero = if *call == libc::SYS_prlimit64 { allowed } else { refused(libc::EPERM) };
        filter.extend([is_none, zero, refused(libc::EPERM)]);
    }
    for call in HIDDEN {
        filter.extend([unless(*call as u32, BPF_JEQ, 1), refused(libc::ENOSYS)]);
    }
    let writes = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;
    for (call, flags) in OPENS.iter().filter(|_| !is_on_device) {
        let writes = unless(writes, BPF_JSET, 1);
        filter.extend([unless(*call as u32, BPF_JEQ, 4), load(argument(*flags)), writes]);
        filter.extend([refused(libc::EPERM), allowed]);
    }
    // Threads are allowed, and no other processes.
    let threads = unless(libc::CLONE_THREAD as u32, BPF_JSET, 1);
    filter.extend([unless(libc::SYS_clone as u32, BPF_JEQ, 4), load(argument(0)), threads]);
    filter.extend([allowed, refused(libc::EPERM), allowed]);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: a filter of so many instructions, which the kernel copies.
    let set =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    match set {
        0 => Ok(()),
        _ => Err(format!("seccomp: {}", std::io::Error::last_os_error())),
    }
}

/// A mask of capabilities in two halves: effective, permitted and inheritable ones of each.
type Capabilities = [u32; 6];

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

/// `_LINUX_CAPABILITY_VERSION_3`, of this process.
static HEADER: Header = Header { version: 0x2008_0522, pid: 0 };

/// Root in a container, too, has what any user has.
fn drop_capabilities() -> Result<(), String> {
    set_capabilities([0; 6])
}

/// Has root, too, no way into the memory of other processes.
///
/// # Errors
/// When the system refuses it.
pub fn drop_tracing() -> Result<(), String> {
    /// `CAP_SYS_PTRACE`
    const TRACING: u32 = 1 << 19;
    let mut held: Capabilities = [0; 6];
    // SAFETY: the two structures of this version, of which the second is written.
    let read = unsafe { libc::syscall(libc::SYS_capget, &raw const HEADER, held.as_mut_ptr()) };
    if read != 0 {
        return Err(format!("capget: {}", std::io::Error::last_os_error()));
    }
    held[..3].iter_mut().for_each(|mask| *mask &= !TRACING);
    set_capabilities(held)
}

fn set_capabilities(held: Capabilities) -> Result<(), String> {
    // SAFETY: the two structures of this version, of which both are read.
    match unsafe { libc::syscall(libc::SYS_capset, &raw const HEADER, held.as_ptr()) } {
        0 => Ok(()),
        _ => Err(format!("capset: {}", std::io::Error::last_os_error())),
    }
}

/// The file whose code in a process is not what was loaded, and how many KiB; an error where the system does not say.
pub fn changed_code(process: &dyn Display) -> std::io::Result<Option<(String, u64)>> {
    let (mut changed, mut file) = (None, None);
    for line in std::fs::read_to_string(format!("/proc/{process}/smaps"))?.lines() {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next()) {
            (Some("Anonymous:"), Some(kib)) => {
                let kib = kib.parse().unwrap_or(0);
                changed = file.take().filter(|_| kib > 0).map(|file| (file, kib)).or(changed);
            }
            // A mapping: its addresses, its rights, three numbers, its file.
            (Some(range), Some(rights)) if range.contains('-') => {
                let path = words.nth(3).filter(|it| it.starts_with('/'));
                file = path.filter(|_| rights.contains('x')).map(str::to_owned);
            }
            _ => {}
        }
    }
    Ok(changed)
}
