//! The inputs of calls, in the memory where the kernel's process reads them.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use fastrand::Rng;
use tch::Tensor;

use super::draws::Draws;
use super::memory::{ALIGNMENT, Control, Form, Layout, Request};

/// The inputs of the next calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// The inputs of a draw.
    Drawn(usize),
    /// Parts of two draws, never the same twice.
    Mixed,
    /// Mixed ones where the inputs of the last call lie: whoever reads them only now finds others.
    Scrambled,
    /// The last ones, with a few other values.
    Changed,
    /// The last ones, written once more.
    Again,
    /// Nothing is written.
    Untouched,
}

/// The last that was written of an example: the whole of a draw, and parts of draws.
#[derive(Debug, Clone, Default)]
struct Written {
    /// The draw that the example was last a whole of.
    base: usize,
    whole: Option<usize>,
    parts: Vec<(usize, Range<usize>)>,
}

/// The examples of a call. First they are chosen, which writes nothing, and then filled.
pub struct Examples<'a> {
    draws: &'a Draws,
    request: &'a Request,
    layout: &'a Layout,
    memory: NonNull<u8>,
    control: &'a Control,
    rng: Rng,
    /// The place of each example in the file.
    places: Vec<usize>,
    written: Vec<Written>,
}

impl<'a> Examples<'a> {
    /// Examples of the first draw, and the parameters, unless they lie there already.
    pub fn new(
        draws: &'a Draws,
        request: &'a Request,
        layout: &'a Layout,
        (memory, control): (NonNull<u8>, &'a Control),
        rng: Rng,
    ) -> Self {
        let count = request.examples.len();
        let (places, written) = (vec![0; count], vec![Written::default(); count]);
        let mut examples = Self { draws, request, layout, memory, control, rng, places, written };
        examples.write(Content::Drawn(0));
        if !draws.are_written.replace(true) {
            examples.write_parameters();
        }
        examples
    }

    pub fn write(&mut self, content: Content) {
        self.choose(content);
        self.fill(content);
    }

    /// Says where the inputs of the next calls are, and of what.
    pub fn choose(&mut self, content: Content) {
        for example in 0..self.places.len() {
            match content {
                Content::Drawn(draw) => {
                    self.place(example);
                    self.written[example] =
                        Written { base: draw, whole: Some(draw), parts: vec![] };
                }
                Content::Mixed => self.mix(example, true),
                Content::Scrambled => self.mix(example, false),
                Content::Changed => self.change(example),
                Content::Again | Content::Untouched => {}
            }
        }
    }

    /// Says where examples of no draw will be.
    pub fn choose_others(&mut self) {
        for example in 0..self.places.len() {
            self.place(example);
            self.written[example] = Written::default();
        }
    }

    /// Copies inputs to where they were said to be.
    pub fn fill(&self, content: Content) {
        if content == Content::Untouched {
            return;
        }
        for (example, Written { whole, parts, .. }) in self.written.iter().enumerate() {
            if let Some(draw) = whole {
                self.copy(example, *draw, 0..self.request.examples[example].bytes());
            }
            for (draw, part) in parts {
                self.copy(example, *draw, part.clone());
            }
        }
    }

    /// Copies examples of no draw to where they were said to be.
    pub fn fill_others(&self, others: &[Tensor]) {
        for ((tensor, form), place) in others.iter().zip(&self.request.examples).zip(&self.places) {
            self.put(*place, bytes_of(tensor, form));
        }
    }

    /// Overwrites small parts of what lies there by another draw's, and gives back what they were, by place. The last one is
    /// to be put back first.
    pub fn withhold(&mut self) -> Vec<(usize, Vec<u8>)> {
        const PARTS: usize = 4;
        const LARGEST_PART: usize = 4096;
        let mut withheld = Vec::new();
        for (example, form) in self.request.examples.iter().enumerate() {
            let bytes = if is_mixable(form) { form.bytes() } else { 0 };
            for _ in 0..PARTS.min(bytes / ALIGNMENT) {
                let length = ALIGNMENT * self.rng.usize(1..=LARGEST_PART.min(bytes) / ALIGNMENT);
                let start = ALIGNMENT * self.rng.usize(..=(bytes - length) / ALIGNMENT);
                let place = self.places[example] + start;
                withheld.push((place, self.bytes_at(place, length).to_vec()));
                let other = self.rng.usize(..self.draws.all.len());
                self.copy(example, other, start..start + length);
            }
        }
        withheld
    }

    /// Copies of the examples that lie there now.
    pub fn tensors(&self) -> Result<Vec<Tensor>, tch::TchError> {
        let examples = self.request.examples.iter().zip(&self.places).map(|(form, place)| {
            let data = self.bytes_at(*place, form.bytes()).as_ptr();
            // SAFETY: so many bytes are mapped there, and nobody else writes to them.
            unsafe { form.tensor_at(data) }?.f_detach_copy()
        });
        examples.collect()
    }

    /// Whether there are inputs that have never been seen, beside those that were drawn.
    pub fn has_mixed(&self) -> bool {
        self.request.examples.iter().any(is_mixable)
    }

    /// Has an example lie elsewhere.
    fn place(&mut self, example: usize) {
        let (form, areas) = (&self.request.examples[example], self.layout.examples[example]);
        let room = (areas[0].bytes - form.bytes()) / ALIGNMENT;
        // Half of them end where the next page may not be touched.
        let begin = if self.rng.bool() { room } else { self.rng.usize(..=room) } * ALIGNMENT;
        let area = areas[usize::from(self.rng.bool())];
        self.places[example] = area.offset + begin;
        self.control.places[example].store((area.address + begin) as u64, Relaxed);
    }

    /// Makes an input that there has never been: one draw's with parts of another's. A large one keeps its place and at
    /// least half of what it was; where it `moves`, a quarter of it or more is exchanged, so that few of its values cannot
    /// stand for it.
    fn mix(&mut self, example: usize, moves: bool) {
        const PARTS: usize = 8;
        const LARGE: usize = 1 << 20;
        const LARGEST_PART: usize = 1 << 16;
        let form = &self.request.examples[example];
        let size = form.kind().map_or(1, tch::Kind::elt_size_in_bytes);
        let (elements, all) = (form.bytes() / size, self.draws.all.len());
        let whole = (form.bytes() <= LARGE).then(|| self.rng.usize(..all));
        let base = whole.unwrap_or(self.written[example].base);
        let other = (base + self.rng.usize(all.min(2) - 1..all)) % all;
        if moves && whole.is_some() {
            self.place(example);
        }
        let parts = if is_mixable(form) && elements > 0 { PARTS } else { 0 };
        let is_changed = moves && whole.is_none();
        let mut part = |at: usize| {
            let lengths = match at {
                0 if is_changed => elements / 4..=elements / 2,
                _ => 1..=elements.min(LARGEST_PART / size),
            };
            let length = self.rng.usize(lengths);
            let start = self.rng.usize(..=elements - length);
            (other, start * size..(start + length) * size)
        };
        let parts = (0..parts).map(&mut part).collect();
        self.written[example] = Written { base, whole, parts };
    }

    /// Exchanges few values for those that a draw has in their place, and that are others.
    fn change(&mut self, example: usize) {
        const TRIES: usize = 16;
        let form = &self.request.examples[example];
        let bytes = if is_mixable(form) { form.bytes() } else { 0 };
        let (pieces, draws) = (bytes.div_ceil(ALIGNMENT), self.draws.all.len());
        let tries = if pieces > 0 { TRIES } else { 0 };
        for _ in 0..tries {
            let (start, draw) = (ALIGNMENT * self.rng.usize(..pieces), self.rng.usize(..draws));
            let part = start..bytes.min(start + ALIGNMENT);
            let there = self.bytes_at(self.places[example] + start, part.len());
            let is_other =
                there != &bytes_of(&self.draws.all[draw].examples[example], form)[part.clone()];
            if is_other {
                let written = &mut self.written[example];
                (written.whole, written.parts) = (None, vec![(draw, part)]);
                return;
            }
        }
    }

    /// Copies a part of a draw's example to its place.
    fn copy(&self, example: usize, draw: usize, part: Range<usize>) {
        let form = &self.request.examples[example];
        let bytes = &bytes_of(&self.draws.all[draw].examples[example], form)[part.clone()];
        self.put(self.places[example] + part.start, bytes);
    }

    fn write_parameters(&self) {
        let parameters = self.draws.parameters.iter().zip(&self.request.parameters);
        for ((parameter, form), area) in parameters.zip(&self.layout.parameters) {
            self.put(area.offset, bytes_of(parameter, form));
        }
    }

    /// Bytes of the file from a place on.
    fn bytes_at(&self, place: usize, length: usize) -> &[u8] {
        // SAFETY: within what is mapped.
        let from = unsafe { self.memory.as_ptr().add(place) };
        // SAFETY: mapped for reading, and only this process writes to it.
        unsafe { std::slice::from_raw_parts(from, length) }
    }

    /// Writes bytes to a place of the file that is an example's or a parameter's, and has room for them.
    pub fn put(&self, place: usize, bytes: &[u8]) {
        // SAFETY: within what is mapped.
        let to = unsafe { self.memory.as_ptr().add(place) };
        // SAFETY: mapped for writing, and no call is running that could read it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }
}

/// The bytes of a contiguous tensor on the host of this form.
fn bytes_of<'t>(tensor: &'t Tensor, form: &Form) -> &'t [u8] {
    match form.bytes() {
        0 => &[],
        // SAFETY: so many bytes lie there, and the tensor keeps them while it is borrowed.
        bytes => unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast(), bytes) },
    }
}

/// Whether parts of several draws make an input: indices and flags may belong together.
fn is_mixable(form: &Form) -> bool {
    use tch::Kind::{BFloat16, Double, Float, Half};
    form.kind().is_some_and(|kind| [BFloat16, Double, Float, Half].contains(&kind))
}
