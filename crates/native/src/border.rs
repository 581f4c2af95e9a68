//! The border to the C++ shim: how a call ends, what goes in, and what comes out.
//!
//! The functions of `shim/<noun>.cpp` are declared in `<noun>.rs`, beside the safe functions around them. Rules that
//! hold for all of them:
//! - A function that returns [`Status`] never lets a C++ exception through, and writes its out parameters only when
//!   the status is fine.
//! - What goes in stays the caller's and lives during the call; what comes out is the caller's.
//! - No panic may cross C++ either: a function that is called back catches it.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use tch::{TchError, Tensor};
/// tch's handle: a pointer to it is a C++ `at::Tensor*`. The crate also brings libtorch's link flags along.
use torch_sys::C_tensor;

use super::error::{Error, first_line, is_out_of_memory};

/// A live tensor that goes in; null only where that is said.
pub(crate) type In = *const C_tensor;
/// The place for a new tensor.
pub(crate) type Out = *mut *mut C_tensor;
/// The place for a new text.
pub(crate) type TextOut = *mut *mut c_char;

unsafe extern "C" {
    fn ctn_string_free(text: *mut c_char);
}

/// How a call ended: `Status` of `shim/border.h`.
#[repr(C)]
#[must_use]
pub(crate) struct Status {
    /// 0 fine, 1 out of memory by the type of the exception, 2 any other. The CPU allocator's out-of-memory is among
    /// the others: only its text shows it.
    kind: i32,
    /// The first line of the exception's message. Null when fine, or when memory did not suffice for a copy.
    message: *mut c_char,
}

impl Status {
    /// For functions that the shim calls back.
    pub(crate) fn fine() -> Self {
        Self { kind: 0, message: std::ptr::null_mut() }
    }

    /// The error of a function that the shim called back.
    pub(crate) fn failed(error: &TchError) -> Self {
        let text = first_line(error);
        // SAFETY: the text has so many bytes. The copy, which ends at a NUL if there is one, is from malloc.
        Self { kind: 2, message: unsafe { libc::strndup(text.as_ptr().cast(), text.len()) } }
    }
}

/// The only place that reads a status of the shim.
pub(crate) fn check(status: Status) -> Result<(), Error> {
    let Status { kind, message } = status;
    if kind == 0 {
        return Ok(());
    }
    let message = if message.is_null() {
        "no memory was left for the message".to_owned()
    } else {
        // SAFETY: a status owns its message, and this one was just taken apart.
        unsafe { take_string(message) }
    };
    if kind == 1 || is_out_of_memory(&message) {
        Err(Error::OutOfMemory(message))
    } else {
        Err(Error::Torch(message))
    }
}

/// The tensor that a call hands over.
pub(crate) fn tensor(call: impl FnOnce(Out) -> Status) -> Result<Tensor, Error> {
    let mut tensor = std::ptr::null_mut();
    check(call(&mut tensor))?;
    assert!(!tensor.is_null(), "a call of the shim that is fine hands over a tensor");
    // SAFETY: just handed over, from the same `new` that tch's own come from.
    Ok(unsafe { Tensor::from_ptr(tensor) })
}

pub(crate) fn text(call: impl FnOnce(TextOut) -> Status) -> Result<String, Error> {
    let mut text = std::ptr::null_mut();
    check(call(&mut text))?;
    assert!(!text.is_null(), "a call of the shim that is fine hands over a text");
    // SAFETY: just handed over.
    Ok(unsafe { take_string(text) })
}

pub(crate) fn value<T: Default>(call: impl FnOnce(*mut T) -> Status) -> Result<T, Error> {
    let mut value = T::default();
    check(call(&mut value))?;
    Ok(value)
}

/// Copies a text of the shim and frees it.
///
/// # Safety
/// The shim handed `text` over, it is not null, and nobody uses it afterwards.
unsafe fn take_string(text: *mut c_char) -> String {
    // SAFETY: the shim ends its texts with NUL, and the caller owns this one.
    let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: freed once: the caller gives the text up.
    unsafe { ctn_string_free(text) };
    copy
}

/// An object of the shim, freed when dropped. It stays on its thread: the pointer makes it neither `Send` nor `Sync`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Handle {
    object: *mut c_void,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl Handle {
    pub(crate) fn new(call: impl FnOnce(*mut Self) -> Status) -> Result<Self, Error> {
        let mut handle = Self { object: std::ptr::null_mut(), free: None };
        check(call(&mut handle))?;
        assert!(!handle.object.is_null(), "a call of the shim that is fine hands over an object");
        Ok(handle)
    }

    /// The object, which lives as long as this.
    pub(crate) fn as_ptr(&self) -> *mut c_void {
        self.object
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: made for this object, whose pointer nobody else holds.
            unsafe { free(self.object) };
        }
    }
}

/// A text that is passed to C++, valid as long as the `str` it was made from; or a text that C++ passes to a callback.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Text {
    first: *const u8,
    length: usize,
}

impl Text {
    /// The bytes of a text that C++ passed.
    ///
    /// # Safety
    /// The text must outlive the returned slice.
    pub(crate) unsafe fn as_bytes<'t>(self) -> &'t [u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: the caller's promise; it is not null, because it is not empty.
        unsafe { std::slice::from_raw_parts(self.first, self.length) }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self { first: text.as_ptr(), length: text.len() }
    }
}

impl From<&Path> for Text {
    fn from(path: &Path) -> Self {
        let bytes = path.as_os_str().as_encoded_bytes();
        Self { first: bytes.as_ptr(), length: bytes.len() }
    }
}

/// Tensors that go in, as long as the [`pointers`] to them.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Tensors {
    first: *const In,
    count: usize,
}

impl From<&Vec<In>> for Tensors {
    fn from(pointers: &Vec<In>) -> Self {
        Self { first: pointers.as_ptr(), count: pointers.len() }
    }
}

/// Pointers to tensors, as long as these.
pub(crate) fn pointers<'t>(tensors: impl IntoIterator<Item = &'t Tensor>) -> Vec<In> {
    tensors.into_iter().map(|it| it.as_ptr()).collect()
}

/// Null for none.
pub(crate) fn optional(tensor: Option<&Tensor>) -> In {
    tensor.map_or(std::ptr::null(), |it| it.as_ptr())
}

/// A step that the shim calls back, once.
pub(crate) struct Step<F, T, E> {
    step: Option<F>,
    /// None before it ran; else its result or its panic.
    outcome: Option<std::thread::Result<Result<T, E>>>,
}

impl<F: FnOnce() -> Result<T, E>, T, E: From<Error>> Step<F, T, E> {
    pub(crate) fn new(step: F) -> Self {
        Self { step: Some(step), outcome: None }
    }

    /// Runs it; none where it fails, panics, or has run before.
    pub(crate) fn run(&mut self) -> Option<&T> {
        let step = self.step.take()?;
        // Unwind-safe: the panic is resumed, so nobody sees broken state.
        match self.outcome.insert(panic::catch_unwind(AssertUnwindSafe(step))) {
            Ok(Ok(output)) => Some(output),
            _ => None,
        }
    }

    /// How the call ended that it was made for: with the step's panic or error, which say more than `called`, if it
    /// had one.
    pub(crate) fn end<R>(self, called: Result<R, Error>) -> Result<R, E> {
        match self.outcome {
            Some(Ok(Err(error))) => Err(error),
            Some(Err(payload)) => panic::resume_unwind(payload),
            Some(Ok(Ok(_))) | None => Ok(called?),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    unsafe extern "C" {
        /// Throws what the number says (see `shim/raise.cpp`), 0 nothing.
        safe fn ctn_raise(what: i32) -> Status;
    }

    pub(crate) fn raised(what: i32) -> Result<(), Error> {
        check(ctn_raise(what))
    }

    #[test]
    fn every_exception_becomes_its_error() {
        assert_eq!(raised(0), Ok(()));
        // Without its second line and without a backtrace.
        assert_eq!(raised(1), Err(Error::Torch("a check".to_owned())));
        let cuda = "CUDA out of memory. Tried to allocate 1 GiB.".to_owned();
        assert_eq!(raised(2), Err(Error::OutOfMemory(cuda)));
        assert_eq!(raised(3), Err(Error::OutOfMemory("std::bad_alloc".to_owned())));
        assert_eq!(raised(4), Err(Error::Torch("a runtime error".to_owned())));
        let unknown = "a C++ exception that is no std::exception".to_owned();
        assert_eq!(raised(5), Err(Error::Torch(unknown)));
    }

    /// Numbers between −1 and 1 without a visible period, the same in every run: tests share torch's generator with
    /// others.
    pub(crate) fn wave(size: &[i64], kind: tch::Kind) -> Tensor {
        let count = size.iter().product::<i64>();
        let steps = Tensor::arange(count, (tch::Kind::Double, tch::Device::Cpu));
        (steps * 1.7).sin().reshape(size).to_kind(kind)
    }
}
