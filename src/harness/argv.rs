//! The process's own list of arguments, which `std::env::args` reads anew each time.

/// Keeps the arguments at these places behind the program's name, in ascending order, if the system has told where the
/// list is. Whoever calls it looks at `std::env::args` for what has become of it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn keep(places: &[usize]) {
    let argv = list::FOUND.load(std::sync::atomic::Ordering::Acquire);
    if argv.is_null() {
        return;
    }
    // The program's name, the arguments, and a null pointer.
    let count = std::env::args_os().len() + 1;
    // SAFETY: the system's list has so many pointers. It belongs to the process and can be written to, and no other thread
    // reads it meanwhile: this runs before any thread of ours, and libtorch's do not read arguments.
    let list = unsafe { std::slice::from_raw_parts_mut(argv, count) };
    for (to, from) in places.iter().enumerate() {
        list[to + 1] = list[from + 1];
    }
    list[places.len() + 1] = std::ptr::null_mut();
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep(_places: &[usize]) {}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod list {
    use std::ffi::{c_char, c_int};
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, Ordering};

    /// The address of the list; null until it is known.
    pub static FOUND: AtomicPtr<*mut c_char> = AtomicPtr::new(ptr::null_mut());

    /// glibc calls the functions of this section before `main`, with the arguments of `main`.
    // SAFETY: a function of this type is what glibc expects there.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static TELL: extern "C" fn(c_int, *mut *mut c_char) = tell;

    extern "C" fn tell(_count: c_int, list: *mut *mut c_char) {
        FOUND.store(list, Ordering::Release);
    }
}
