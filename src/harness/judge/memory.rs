//! Memory that the judge shares with the process of a kernel: a page of control, inputs that the kernel can only read,
//! each between pages that nobody may touch, and room for its output.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous};
use nix::unistd::ftruncate;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tch::{Device, Kind, TchError, Tensor};

/// Bytes of a page, or a multiple of it.
pub const PAGE: usize = 1 << 16;
/// The beginning of the first part of the file, behind the words of judge and kernel.
pub const FIRST: usize = size_of::<Control>().next_multiple_of(PAGE);
/// Bytes of the file. What is not written takes no memory.
const BYTES: usize = 1 << 36;
/// Examples that a kernel may have.
pub const EXAMPLES: usize = 256;
/// Dimensions that an output may have.
const DIMENSIONS: usize = 8;
/// Bytes of a message.
const MESSAGE: usize = 2048;
/// Inputs begin at multiples of it; no operator asks for more.
pub const ALIGNMENT: usize = 64;

/// Dtypes that an input or an output may have, by their numbers in [`Form`].
const KINDS: [Kind; 11] = [
    Kind::Float,
    Kind::Double,
    Kind::Half,
    Kind::BFloat16,
    Kind::Float8e4m3fn,
    Kind::Int64,
    Kind::Int,
    Kind::Int16,
    Kind::Int8,
    Kind::Uint8,
    Kind::Bool,
];

/// Size and dtype of a tensor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    pub size: Vec<i64>,
    pub kind: u32,
}

impl Form {
    /// The form of a contiguous tensor on the host.
    pub fn of_tensor(tensor: &Tensor) -> Result<Self, String> {
        let kind = tensor.kind();
        if tensor.device() != Device::Cpu || !tensor.is_contiguous() {
            return Err(format!("an input {:?} is not contiguous on the host", tensor.size()));
        }
        let number = KINDS.iter().position(|it| *it == kind);
        let number = number.ok_or_else(|| format!("an input is of {kind:?}"))?;
        Ok(Self { size: tensor.size(), kind: number as u32 })
    }

    /// None for a number that is none of a dtype.
    pub fn kind(&self) -> Option<Kind> {
        KINDS.get(self.kind as usize).copied()
    }

    /// Bytes of its elements: more than there is room for where no memory has so many, as a kernel's process may say.
    pub fn bytes(&self) -> usize {
        let size = self.kind().map_or(0, Kind::elt_size_in_bytes);
        let elements = self.size.iter().try_fold(size, |bytes, dimension| {
            bytes.checked_mul(usize::try_from(*dimension).ok()?)
        });
        elements.unwrap_or(usize::MAX)
    }

    /// A tensor of this form whose elements lie at `data`.
    ///
    /// # Safety
    /// Its bytes lie there, aligned, as long as the tensor is used.
    pub unsafe fn tensor_at(&self, data: *const u8) -> Result<Tensor, TchError> {
        let kind = self.kind().ok_or_else(|| TchError::Kind(format!("kind {}", self.kind)))?;
        let mut strides = vec![1; self.size.len()];
        for axis in (1..self.size.len()).rev() {
            strides[axis - 1] = strides[axis] * self.size[axis].max(1);
        }
        // SAFETY: the caller's promise.
        unsafe { Tensor::f_from_blob(data, &self.size, &strides, kind, Device::Cpu) }
    }
}

/// A part of the file, and where it lies in the memory of the kernel's process, from its beginning.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    pub offset: usize,
    pub address: usize,
    pub bytes: usize,
}

/// The places of everything of a case.
#[derive(Debug)]
pub struct Layout {
    /// Two places for each example; each has a page more than the example, so that it can begin elsewhere.
    pub examples: Vec<[Area; 2]>,
    pub parameters: Vec<Area>,
    pub output: Area,
    /// The end of the parameters in the file. Siblings have the same ones, and nothing else of each other.
    pub parameters_end: usize,
    /// Bytes of the kernel's memory that all of it takes.
    pub reserved: usize,
    /// The end of the last part of the file.
    pub end: usize,
}

impl Layout {
    /// The parts of the file from `offset` on.
    ///
    /// # Errors
    /// When there are more or larger tensors than there is room for.
    fn new(
        offset: usize,
        examples: &[Form],
        parameters: &[Form],
        output: usize,
    ) -> Result<Self, String> {
        if examples.len() > EXAMPLES {
            return Err(format!("{} inputs are more than {EXAMPLES}", examples.len()));
        }
        let (mut offset, mut address) = (offset, PAGE);
        let mut area = |bytes: usize| {
            let bytes = bytes.max(1).next_multiple_of(PAGE);
            let area = Area { offset, address, bytes };
            offset = offset.saturating_add(bytes);
            address = address.saturating_add(bytes + PAGE);
            area
        };
        let with_room = |form: &Form| form.bytes().saturating_add(PAGE);
        let parameters: Vec<Area> = parameters.iter().map(|it| area(it.bytes())).collect();
        let examples: Vec<[Area; 2]> =
            examples.iter().map(|it| [area(with_room(it)), area(with_room(it))]).collect();
        let output = area(output);
        let parameters_end = examples.first().map_or(output, |it| it[0]).offset;
        let (reserved, end) = (address, offset);
        let layout = Self { examples, parameters, output, parameters_end, reserved, end };
        match layout.end <= BYTES {
            true => Ok(layout),
            false => Err(format!("its tensors take {} bytes, more than {BYTES}", layout.end)),
        }
    }
}

/// A case whose kernel is wanted, and the tensors that it is given.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    pub id: String,
    pub problem_size: BTreeMap<String, Value>,
    /// Whether each tensor lies between pages that nobody may touch.
    pub is_fenced: bool,
    /// The place in the file from where on its tensors lie.
    pub offset: usize,
    pub examples: Vec<Form>,
    pub parameters: Vec<Form>,
    /// Bytes of its output.
    pub output: usize,
}

impl Request {
    pub fn layout(&self) -> Result<Layout, String> {
        Layout::new(self.offset, &self.examples, &self.parameters, self.output)
    }
}

/// The words of judge and kernel to each other.
#[repr(C)]
#[derive(Debug)]
pub struct Control {
    /// The number of the command; the kernel's process waits for the next.
    pub command: AtomicU32,
    /// [`super::child::Command`]
    pub kind: AtomicU32,
    pub iters: AtomicU64,
    /// The beginning of each example in the kernel's memory.
    pub places: [AtomicU64; EXAMPLES],
    /// The number of the command that is done.
    pub done: AtomicU32,
    /// [`super::child::Status`]
    pub status: AtomicU32,
    /// The address that a kernel touched and may not.
    pub fault: AtomicU64,
    /// The beginning of the kernel's memory.
    pub base: AtomicU64,
    /// The form of the output.
    pub kind_of_output: AtomicU32,
    pub dimensions: AtomicU32,
    pub size: [AtomicI64; DIMENSIONS],
    message_bytes: AtomicU32,
    message: Message,
}

#[repr(transparent)]
#[derive(Debug)]
struct Message(UnsafeCell<[u8; MESSAGE]>);

// SAFETY: one side writes it before it says so by `done`, and the other reads it after.
unsafe impl Sync for Message {}

impl Control {
    /// Leaves a message, as much of it as there is room for.
    pub fn say(&self, text: &str) {
        use std::sync::atomic::Ordering::Relaxed;
        let bytes = &text.as_bytes()[..text.len().min(MESSAGE)];
        // SAFETY: nobody reads it before the command is done, and so many bytes fit.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.message.0.get().cast(), bytes.len());
        }
        self.message_bytes.store(bytes.len() as u32, Relaxed);
    }

    /// The message of the last command.
    pub fn said(&self) -> String {
        use std::sync::atomic::Ordering::Relaxed;
        let bytes = (self.message_bytes.load(Relaxed) as usize).min(MESSAGE);
        // SAFETY: a copy of what lies there, whoever writes it meanwhile: bytes have no invalid values.
        let message = unsafe { std::ptr::read_volatile(self.message.0.get()) };
        String::from_utf8_lossy(&message[..bytes]).into_owned()
    }

    /// Has an output's form for the judge. False where it has more dimensions than there is room for.
    pub fn set_output(&self, form: &Form) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        self.kind_of_output.store(form.kind, Relaxed);
        self.dimensions.store(form.size.len() as u32, Relaxed);
        self.size.iter().zip(&form.size).for_each(|(to, from)| to.store(*from, Relaxed));
        form.size.len() <= DIMENSIONS
    }

    /// The output's form as the kernel's process says it.
    pub fn output(&self) -> Form {
        use std::sync::atomic::Ordering::Relaxed;
        let dimensions = (self.dimensions.load(Relaxed) as usize).min(DIMENSIONS);
        let size = self.size[..dimensions].iter().map(|it| it.load(Relaxed)).collect();
        Form { size, kind: self.kind_of_output.load(Relaxed) }
    }
}

/// The file, before any process has mapped it.
#[derive(Debug)]
pub struct SharedMemory(OwnedFd);

impl SharedMemory {
    pub fn new() -> Result<Self, String> {
        let error = |error: nix::Error| format!("memory for a judge: {error}");
        let file = memfd_create("criterion-torch-judge", MFdFlags::MFD_CLOEXEC).map_err(error)?;
        ftruncate(&file, BYTES as i64).map_err(error)?;
        Ok(Self(file))
    }

    /// Maps the first `bytes` of it for reading and writing.
    pub fn map(&self, bytes: usize) -> Result<NonNull<u8>, String> {
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        self.map_at(None, access, Area { offset: 0, address: 0, bytes })
    }

    /// Maps all parts into memory that is the kernel's, and returns its beginning.
    pub fn map_for_kernel(&self, layout: &Layout) -> Result<NonNull<u8>, String> {
        let length = NonZeroUsize::new(layout.reserved).ok_or("no memory")?;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: a new mapping, which changes no other.
        let base = unsafe { mmap_anonymous(None, length, ProtFlags::PROT_NONE, flags) };
        let base =
            base.map_err(|error| format!("{} bytes: {error}", layout.reserved))?.cast::<u8>();
        let read = ProtFlags::PROT_READ;
        // Opened for reading, so that nobody can allow himself to write to what is mapped of it.
        let only_read = std::fs::File::open(format!("/proc/self/fd/{}", self.0.as_raw_fd()));
        let only_read = Self(only_read.map_err(|error| error.to_string())?.into());
        for area in layout.examples.iter().flatten().chain(&layout.parameters) {
            only_read.map_at(Some(base), read, *area)?;
        }
        self.map_at(Some(base), read | ProtFlags::PROT_WRITE, layout.output)?;
        Ok(base)
    }

    fn map_at(
        &self,
        base: Option<NonNull<u8>>,
        access: ProtFlags,
        Area { offset, address, bytes }: Area,
    ) -> Result<NonNull<u8>, String> {
        let place = base.and_then(|base| NonZeroUsize::new(base.as_ptr() as usize + address));
        let fixed = if place.is_some() { MapFlags::MAP_FIXED } else { MapFlags::empty() };
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_NORESERVE | fixed;
        let length = NonZeroUsize::new(bytes).ok_or("no memory")?;
        // SAFETY: a new mapping, or one in place of a part of the caller's, which nothing uses yet.
        let mapped = unsafe { mmap(place, length, access, flags, &self.0, offset as i64) };
        mapped.map(NonNull::cast).map_err(|error| format!("{bytes} bytes: {error}"))
    }

    /// Gives the memory back that the process of a kernel has used; what is read from it afterwards is zero. Parameters
    /// stay.
    pub fn clear(&self, layout: &Layout) -> Result<(), String> {
        self.give_back(0..FIRST)?;
        self.give_back(layout.parameters_end..layout.end)
    }

    /// Gives all memory back.
    pub fn clear_all(&self) -> Result<(), String> {
        self.give_back(0..BYTES)
    }

    fn give_back(&self, part: Range<usize>) -> Result<(), String> {
        let how = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        fallocate(&self.0, how, part.start as i64, part.len() as i64)
            .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_no_memory_has_is_too_large_for_any_place() {
        let bytes = |size: &[i64]| Form { size: size.to_vec(), kind: 0 }.bytes();
        assert_eq!([bytes(&[]), bytes(&[3, 5]), bytes(&[0, 7])], [4, 60, 0]);
        for size in [&[i64::MAX, 8][..], &[1 << 32, 1 << 32], &[-1], &[2, -3]] {
            assert_eq!(bytes(size), usize::MAX, "{size:?}");
        }
        let unknown = Form { size: vec![2], kind: u32::MAX };
        assert!(unknown.bytes() == 0 && unknown.kind().is_none());
        // SAFETY: refused before anything is read.
        assert!(unsafe { unknown.tensor_at(std::ptr::dangling()) }.is_err());
    }
}
