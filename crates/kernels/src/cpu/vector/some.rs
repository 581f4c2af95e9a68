//! Some of a register's elements, where no instruction loads or stores just those.

use super::MOST_LANES as MOST;

/// `count` elements, at most [`MOST`], and zeros.
///
/// # Safety
/// They can be read.
#[inline(always)]
pub unsafe fn load<T: Copy + Default>(from: *const T, count: usize) -> [T; MOST] {
    let mut elements = [T::default(); MOST];
    for (index, element) in elements.iter_mut().enumerate().take(count) {
        // SAFETY: less than `count`.
        *element = unsafe { *from.wrapping_add(index) };
    }
    elements
}

/// Has `fill` write at an address with room for [`MOST`] elements, and writes the first `count`,
/// at most [`MOST`], of them.
///
/// # Safety
/// They can be written.
#[inline(always)]
pub unsafe fn store<T: Copy + Default>(fill: impl FnOnce(*mut T), to: *mut T, count: usize) {
    let mut elements = [T::default(); MOST];
    fill(elements.as_mut_ptr());
    for (index, element) in elements.into_iter().enumerate().take(count) {
        // SAFETY: less than `count`.
        unsafe { to.wrapping_add(index).write(element) };
    }
}
