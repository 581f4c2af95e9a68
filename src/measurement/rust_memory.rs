//! Memory from Rust's allocator while a piece of work runs. libtorch's own memory does not come from it,
//! nor plain Rust's from libtorch.
//!
//! A program counts if [`Counting`] is its global allocator, as of the target of kernels. Outside of
//! [`track`] it costs one relaxed load per allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::rust_blocks::{Blocks, MOST};
use crate::native::memory::DeviceMemory;

/// The system's allocator, which counts while [`track`] runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static BLOCKS: Blocks = Blocks::new();
/// Scopes do not nest: there is one table.
static SCOPE: Mutex<()> = Mutex::new(());

/// Runs `f` and reports what all threads of the process have taken from Rust's allocator meanwhile,
/// by the sizes that were asked for; nothing in a program with another allocator.
///
/// As of libtorch's memory only blocks count that are allocated inside. A block that is reallocated is
/// a new one, and the old one is freed. `f` must not call this function.
///
/// The count is an error where there were more blocks at a time than there is room to remember.
pub fn track<T>(f: impl FnOnce() -> T) -> (T, Result<DeviceMemory, String>) {
    let _alone = SCOPE.lock().unwrap_or_else(PoisonError::into_inner);
    BLOCKS.clear();
    let counting = On::switch();
    let value = f();
    drop(counting);
    let memory = BLOCKS.counted().ok_or_else(|| {
        format!("more than {MOST} blocks of Rust's allocator at a time, which are not counted")
    });
    (value, memory)
}

/// Counts until it is dropped, also by a panic.
struct On;

impl On {
    fn switch() -> Self {
        COUNTS.store(true, Ordering::SeqCst);
        Self
    }
}

impl Drop for On {
    fn drop(&mut self) {
        COUNTS.store(false, Ordering::SeqCst);
    }
}

fn counts() -> bool {
    COUNTS.load(Ordering::Relaxed)
}

// SAFETY: every block is the system allocator's, asked for and given back with the caller's own layout;
// the counting beside it neither allocates, nor panics, nor looks into a block.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract of `alloc`, which is the same.
        let block = unsafe { System.alloc(layout) };
        if counts() {
            BLOCKS.add(block, layout.size());
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let block = unsafe { System.alloc_zeroed(layout) };
        if counts() {
            BLOCKS.add(block, layout.size());
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // Before it is freed: afterwards another thread may get the same address.
        if counts() {
            BLOCKS.remove(block, layout.size());
        }
        // SAFETY: the block is one of `System`'s, of this layout, because all are.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !counts() {
            // SAFETY: as in `dealloc`; the caller answers for the new size.
            return unsafe { System.realloc(block, layout, size) };
        }
        let was_counted = BLOCKS.remove(block, layout.size());
        // SAFETY: the same.
        let new = unsafe { System.realloc(block, layout, size) };
        if !new.is_null() {
            BLOCKS.add(new, size);
        } else if was_counted {
            BLOCKS.put_back(block, layout.size());
        }
        new
    }
}
