//! The blocks that were allocated while somebody counts, by address, without allocating any.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::native::memory::DeviceMemory;

/// Slots of the table, a power of two. Pages of it that are never touched are never mapped.
const SLOTS: usize = 1 << 18;
/// Blocks at a time, so that there are always free slots to end a search at.
pub const MOST: usize = SLOTS / 4 * 3;

/// A table of addresses, and what was counted of them.
#[derive(Debug)]
pub struct Blocks {
    locked: AtomicBool,
    table: UnsafeCell<Table>,
}

// SAFETY: the table is reached through `Blocks::with` alone, which lets in one thread at a time.
unsafe impl Sync for Blocks {}

#[derive(Debug)]
struct Table {
    /// Open addressing with linear probing; 0 is a free slot.
    slots: [usize; SLOTS],
    count: usize,
    overflowed: bool,
    memory: DeviceMemory,
}

impl Blocks {
    pub const fn new() -> Self {
        let memory = DeviceMemory { peak_bytes: 0, live_bytes: 0, total_bytes: 0, allocations: 0 };
        let table = Table { slots: [0; SLOTS], count: 0, overflowed: false, memory };
        Self { locked: AtomicBool::new(false), table: UnsafeCell::new(table) }
    }

    pub fn clear(&self) {
        self.with_table(|table| {
            if table.count > 0 {
                table.slots.fill(0);
            }
            table.count = 0;
            table.overflowed = false;
            table.memory = DeviceMemory::default();
        });
    }

    /// The counts; `None` if there were ever more blocks than fit.
    pub fn counted(&self) -> Option<DeviceMemory> {
        self.with_table(|table| (!table.overflowed).then_some(table.memory))
    }

    /// A new block; null is none.
    pub fn add(&self, block: *mut u8, size: usize) {
        self.with_table(|table| {
            if table.insert(block as usize, size) {
                table.memory.allocations += 1;
                table.memory.total_bytes += size as u64;
            }
        });
    }

    /// A block that was not freed after all.
    pub fn put_back(&self, block: *mut u8, size: usize) {
        self.with_table(|table| table.insert(block as usize, size));
    }

    /// A block is freed; whether it was a counted one.
    pub fn remove(&self, block: *mut u8, size: usize) -> bool {
        self.with_table(|table| table.remove(block as usize, size))
    }

    /// Waits spinning: a lock of the system may allocate.
    fn with_table<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
        while self
            .locked
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            std::hint::spin_loop();
        }
        // SAFETY: `locked` was false and is true until this thread is done, so nobody else is here; and
        // no `work` comes back here, because none of them allocates or panics.
        let done = work(unsafe { &mut *self.table.get() });
        self.locked.store(false, Ordering::Release);
        done
    }
}

impl Table {
    /// Whether it was counted.
    fn insert(&mut self, address: usize, size: usize) -> bool {
        if address == 0 || self.overflowed {
            return false;
        }
        if self.count == MOST {
            self.overflowed = true;
            return false;
        }
        let mut at = home(address);
        while self.slots[at] != 0 {
            at = next(at);
        }
        self.slots[at] = address;
        self.count += 1;
        self.memory.live_bytes += size as i64;
        self.memory.peak_bytes = self.memory.peak_bytes.max(self.memory.live_bytes as u64);
        true
    }

    /// Whether it was there.
    fn remove(&mut self, address: usize, size: usize) -> bool {
        let mut at = home(address);
        while self.slots[at] != address {
            if self.slots[at] == 0 {
                return false;
            }
            at = next(at);
        }
        self.close(at);
        self.count -= 1;
        self.memory.live_bytes -= size as i64;
        true
    }

    /// Frees a slot, and moves up what would not be found beyond it any more.
    fn close(&mut self, mut free: usize) {
        let mut at = next(free);
        while self.slots[at] != 0 {
            let distance = |from: usize| at.wrapping_sub(from) & (SLOTS - 1);
            if distance(home(self.slots[at])) >= distance(free) {
                self.slots[free] = self.slots[at];
                free = at;
            }
            at = next(at);
        }
        self.slots[free] = 0;
    }
}

/// The preferred slot of an address: neighbouring addresses differ in their middle bits.
fn home(address: usize) -> usize {
    /// 2⁶⁴ over the golden ratio.
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    ((address as u64).wrapping_mul(SPREAD) >> (64 - SLOTS.trailing_zeros())) as usize
}

const fn next(at: usize) -> usize {
    (at + 1) & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: usize) -> *mut u8 {
        std::ptr::without_provenance_mut(16 * number)
    }

    #[test]
    fn a_block_counts_until_it_is_freed_and_others_do_not() {
        // Too large for the stack.
        static BLOCKS: Blocks = Blocks::new();
        let blocks = &BLOCKS;
        blocks.add(address(1), 100);
        blocks.add(address(2), 10);
        assert!(blocks.remove(address(1), 100));
        assert!(!blocks.remove(address(1), 100), "freed before");
        assert!(!blocks.remove(address(3), 7), "of somebody else");
        blocks.add(std::ptr::null_mut(), 1000);
        let expected =
            DeviceMemory { peak_bytes: 110, live_bytes: 10, total_bytes: 110, allocations: 2 };
        assert_eq!(blocks.counted(), Some(expected));
        blocks.clear();
        assert_eq!(blocks.counted(), Some(DeviceMemory::default()));
        assert!(!blocks.remove(address(2), 10), "forgotten");
    }

    #[test]
    fn a_full_table_finds_every_block_in_any_order() {
        // Too large for the stack.
        static BLOCKS: Blocks = Blocks::new();
        let blocks = &BLOCKS;
        for number in 1..=MOST {
            blocks.add(address(number), 1);
        }
        // Every third first, then the others backwards.
        for number in (1..=MOST).step_by(3).chain((1..=MOST).rev().filter(|it| it % 3 != 1)) {
            assert!(blocks.remove(address(number), 1), "{number}");
        }
        let memory = blocks.counted().unwrap();
        assert_eq!((memory.live_bytes, memory.allocations), (0, MOST as u64));
    }

    #[test]
    fn one_block_too_many_is_said() {
        // Too large for the stack.
        static BLOCKS: Blocks = Blocks::new();
        let blocks = &BLOCKS;
        for number in 1..=MOST + 1 {
            blocks.add(address(number), 1);
        }
        assert_eq!(blocks.counted(), None);
    }

    #[test]
    fn threads_take_turns() {
        // Too large for the stack.
        static BLOCKS: Blocks = Blocks::new();
        let blocks = &BLOCKS;
        std::thread::scope(|threads| {
            for thread in 0..4 {
                threads.spawn(move || {
                    for number in 1..10_000 {
                        blocks.add(address(4 * number + thread), 8);
                        if number % 2 == 0 {
                            blocks.remove(address(4 * number + thread), 8);
                        }
                    }
                });
            }
        });
        let memory = blocks.counted().unwrap();
        assert_eq!((memory.allocations, memory.live_bytes), (4 * 9_999, 4 * 5_000 * 8));
    }
}
