//! McCalpin's STREAM: copy, scale, add and triad (J. D. McCalpin, "Memory Bandwidth and Machine Balance in Current High
//! Performance Computers", 1995) on float32, for the memory bandwidth of a machine from the nearest
//! cache to DRAM. An operator of torch takes about a microsecond to be found and called, which in
//! the nearest cache is more than the work.
//!
//! Stores are plain ones, as a compiler makes of STREAM's own loops, and bytes are counted as
//! STREAM counts them: each array once. A store that misses the caches first reads the line that it
//! writes ("write allocate"), unless the processor sees that all of it will be written. So beyond
//! the last cache up to three arrays move where copy and scale count two, and four where add and
//! triad count three. Non-temporal stores would spare that: up to half, or a third, more bytes per
//! second as they are counted. But they bypass the caches, whose bandwidth is asked for here, too.

mod passes;

use plan::Probe;
use tch::{Device, Kind, TchError, Tensor};

use super::Capability;
use super::parallel::for_each_part;
use passes::Chunk;

pub use passes::SCALAR;

/// Elements in a cache line. Arrays and the threads' parts begin with one.
const LINE: usize = 16;
/// Elements in a page, at whose distance processors take a load for one of what was just stored.
const PAGE: usize = 1024;
/// By how much each array begins later in a page than the one before, in elements: a third of it,
/// so that no store is near any load. Intel's manuals warn of that; on an EPYC of Zen 5, offsets
/// from 0 to 3 KiB made no difference to arrays of 4 to 16 KiB.
const OFFSET: usize = 21 * LINE;

/// More elements than any machine has room for, and fewer than what sizes in bytes can count.
const MOST: usize = 1 << 56;

/// Three arrays of float32 values, spread over as many threads as torch's operators use, and what
/// is done with them.
#[derive(Debug)]
pub struct Stream {
    operation: Probe,
    capability: Capability,
    /// The operation on an element of each array that is read.
    float64: fn(f64, f64) -> f64,
    elements: usize,
    /// The two that are read and the one that is written, with gaps between them.
    memory: Tensor,
}

impl Stream {
    /// Arrays of `elements` values each, filled by the threads that will work on them, so that
    /// their pages lie near those, unless the allocator had the pages already.
    ///
    /// # Errors
    /// For a probe that is none of STREAM's operations, no elements, more than fit in memory, or
    /// threads that cannot be started.
    pub fn new(operation: Probe, elements: usize) -> Result<Self, TchError> {
        Self::with_capability(Capability::best(), operation, elements)
    }

    /// Like [`Self::new`], with the instructions of a capability.
    ///
    /// # Errors
    /// Also when this CPU does not have them.
    pub fn with_capability(
        capability: Capability,
        operation: Probe,
        elements: usize,
    ) -> Result<Self, TchError> {
        capability.demand()?;
        let Some(float64) = passes::float64(operation) else {
            return Err(TchError::Kind(format!(
                "`{operation}` is not one of STREAM's operations: copy, scale, add, triad"
            )));
        };
        if !(1..=MOST).contains(&elements) {
            return Err(TchError::Shape(format!(
                "arrays of {elements} elements, which have to be 1 to {MOST}"
            )));
        }
        let size = 3 * stride(elements) as i64;
        let memory = Tensor::f_empty([size], (Kind::Float, Device::Cpu))?;
        let mut stream = Self { operation, capability, float64, elements, memory };
        stream.fill()?;
        Ok(stream)
    }

    /// Writes every element: values whose results are exact in float32, and NaN where results go.
    fn fill(&mut self) -> Result<(), TchError> {
        self.for_each_part(|part, first| {
            for at in 0..part.elements {
                let index = first + at;
                // SAFETY: within the part, which no other thread has.
                unsafe { part.x.wrapping_add(at).write(1.0 + (index % 1021) as f32 / 1024.0) };
                // SAFETY: as above.
                unsafe { part.y.wrapping_add(at).write(2.0 - (index % 509) as f32 / 512.0) };
                // SAFETY: as above.
                unsafe { part.output.wrapping_add(at).write(f32::NAN) };
            }
        })
    }

    /// Does the operation `passes` times over the whole arrays. Each thread makes its passes over
    /// its own part, which stays in its caches if it fits; threads wait for one another at the end
    /// only.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn run(&mut self, passes: u64) -> Result<(), TchError> {
        let Self { operation, capability, .. } = *self;
        self.for_each_part(|part, _| {
            // SAFETY: the capability is available, as `with` has checked; the part is within the
            // arrays, which `fill` has written, and no other thread has it.
            unsafe { passes::run(operation, capability, part, passes) };
        })
    }

    /// Calls `work` with the part of each thread and the number of its first element.
    fn for_each_part(&mut self, work: impl Fn(Chunk, usize) + Sync) -> Result<(), TchError> {
        let [x, y, output] = [0, 1, 2].map(|index| self.array(index));
        let whole = Chunk { x, y, output, elements: self.elements };
        for_each_part(self.elements, LINE, |range| work(whole.part(&range), range.start))
    }

    /// The address of an array's first element.
    fn array(&self, index: usize) -> *mut f32 {
        self.memory.data_ptr().cast::<f32>().wrapping_add(index * stride(self.elements))
    }

    fn values(&self, index: usize) -> &[f32] {
        // SAFETY: `new` made room for the array and has written all of it; to write again takes a
        // mutable borrow.
        unsafe { std::slice::from_raw_parts(self.array(index), self.elements) }
    }

    /// The array that is written; NaN before the first pass.
    pub fn output(&self) -> &[f32] {
        self.values(2)
    }

    /// The values that a pass writes, computed in float64 from those that it reads.
    pub fn reference(&self) -> impl Iterator<Item = f64> {
        let float64 = self.float64;
        let inputs = self.values(0).iter().zip(self.values(1));
        inputs.map(move |(x, y)| float64((*x).into(), (*y).into()))
    }

    /// The name of what runs.
    pub fn kernel(&self) -> String {
        self.capability.kernel(&format!("stream_{}", self.operation))
    }
}

/// From the beginning of an array to the next one's: whole pages, and the offset.
fn stride(elements: usize) -> usize {
    elements.next_multiple_of(PAGE) + OFFSET
}

#[cfg(test)]
mod tests;
