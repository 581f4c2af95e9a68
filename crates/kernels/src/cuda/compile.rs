//! From CUDA C++ to a cubin, by NVRTC; and the name under which it is [kept](crate::cache).

use std::ffi::{CString, c_char};
use std::fmt;
use std::ptr;

use cudarc::nvrtc::result::{self, NvrtcError};
use cudarc::nvrtc::sys;

use super::libraries::{self, Nvrtc};
use crate::cache;
use native::refusal::Refusal;

/// A `.cu` file: of this folder, by `source!`, or of a kernel's author.
#[derive(Debug, Clone, Copy)]
pub struct Source<'t> {
    /// Its name in messages.
    pub name: &'t str,
    /// The prelude and the file.
    pub text: &'t str,
}

/// The text in front of a user kernel's source: the prelude, and elements of any precision.
pub const PRELUDE: &str = concat!(
    "#line 1 \"prelude.cuh\"\n",
    include_str!("prelude.cuh"),
    "#line 1 \"element.cuh\"\n",
    include_str!("element.cuh"),
);

impl Source<'_> {
    /// The text that NVRTC compiles.
    pub fn with_ptx(&self) -> String {
        concat!("#line 1 \"ptx.cuh\"\n", include_str!("ptx.cuh")).to_owned() + self.text
    }
}

/// The [`Source`] of a `.cu` file in this folder, and of what it needs beside the prelude.
macro_rules! source {
    ($name:literal $(, $shared:literal)*) => {
        $crate::cuda::Source {
            name: $name,
            text: concat!(
                "#line 1 \"prelude.cuh\"\n",
                include_str!("prelude.cuh"),
                $("#line 1 \"", $shared, "\"\n", include_str!($shared),)*
                "#line 1 \"",
                $name,
                "\"\n",
                include_str!($name)
            ),
        }
    };
}
pub(super) use source;

/// A GPU's compute capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Capability {
    /// 9 of 9.0.
    pub major: i32,
    /// 0 of 9.0.
    pub minor: i32,
}

impl Capability {
    /// The prelude needs products of bfloat16 on tensor cores.
    pub const LEAST: Self = Self { major: 8, minor: 0 };
}

impl Capability {
    /// A device's; errors call what is to run there `name`.
    ///
    /// # Errors
    /// Skipped where there is no driver, unsupported where the device is older than
    /// [`Capability::LEAST`].
    pub fn for_device(device: usize, name: &str) -> Result<Self, Refusal> {
        libraries::driver()?;
        let (major, minor) = native::cuda::device(device)?.capability;
        let capability = Self { major, minor };
        if capability < Self::LEAST {
            return Err(Refusal::Unsupported(format!(
                "compute capability {major}.{minor}, but the kernels of {name} need {}.{}",
                Self::LEAST.major,
                Self::LEAST.minor
            )));
        }
        Ok(capability)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

/// Everything but the source that decides what comes out. Fast math is left off: it flushes
/// denormals and approximates quotients, which the reference does not.
fn options(capability: Capability) -> [String; 2] {
    [format!("--gpu-architecture={capability}"), "--std=c++17".to_owned()]
}

/// Compiles for one compute capability.
///
/// # Errors
/// Skipped without NVRTC, or with one that is older than the GPU; failed, with the compiler's log,
/// where it rejects the source.
pub fn compile(source: &Source, capability: Capability) -> Result<Vec<u8>, Refusal> {
    let nvrtc = libraries::nvrtc()?;
    let program = Program::new(source)?;
    let options = options(capability);
    // SAFETY: the program was created and is not destroyed.
    unsafe { result::compile_program(program.0, &options) }.map_err(|error| {
        if error.0 == sys::nvrtcResult::NVRTC_ERROR_INVALID_OPTION {
            match newest() {
                Ok(newest) if newest < capability => return too_new(capability, newest, nvrtc),
                Ok(_) => {}
                Err(error) => return failed("nvrtcGetSupportedArchs", error),
            }
        }
        let options = options.join(" ");
        let text = format!("NVRTC, {} with {options}: {error}\n{}", source.name, program.log());
        Refusal::Failed(text.trim_end().to_owned())
    })?;
    program.cubin().map_err(|error| failed("nvrtcGetCUBIN", error))
}

/// The source compiled for the capability, from the disk where it is there.
pub fn cubin(source: &Source, capability: Capability) -> Result<Vec<u8>, Refusal> {
    let name = name(source, capability, libraries::nvrtc()?.version);
    let is_cubin = |content: &[u8]| content.starts_with(cache::ELF);
    cache::kept(&name, is_cubin, || compile(source, capability))
}

fn name(source: &Source, capability: Capability, version: (i32, i32)) -> String {
    let (major, minor) = version;
    let options = options(capability).join(" ");
    let key = plan::fnv1a(format!("NVRTC {major}.{minor}\n{options}\n{}", source.with_ptx()));
    format!("{}-{capability}-{key:016x}.cubin", source.name)
}

fn failed(call: &str, error: NvrtcError) -> Refusal {
    Refusal::Failed(format!("{call}: {error}"))
}

/// The newest GPU that this NVRTC compiles for.
fn newest() -> Result<Capability, NvrtcError> {
    let mut count = 0;
    // SAFETY: `count` is writable.
    unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) }.result()?;
    let mut archs = vec![0; usize::try_from(count).unwrap_or_default()];
    // SAFETY: room for as many as there are.
    unsafe { sys::nvrtcGetSupportedArchs(archs.as_mut_ptr()) }.result()?;
    let newest = archs.into_iter().max().unwrap_or_default();
    Ok(Capability { major: newest / 10, minor: newest % 10 })
}

fn too_new(capability: Capability, newest: Capability, nvrtc: &Nvrtc) -> Refusal {
    let ((major, minor), path) = (nvrtc.version, nvrtc.path.display());
    let [package, _] = libraries::package(libraries::driver_major());
    Refusal::Skipped(format!(
        "the GPU is {capability}, but NVRTC {major}.{minor}, {path}, knows none above {newest}: `pip \
         install --target DIR` a newer {package}, and set CRITERION_TORCH_NVRTC to DIR"
    ))
}

/// A program of NVRTC.
struct Program(sys::nvrtcProgram);

impl Program {
    fn new(source: &Source) -> Result<Self, Refusal> {
        let text = |text: &str| {
            CString::new(text).map_err(|error| {
                Refusal::Failed(format!("the source of {} holds a NUL: {error}", source.name))
            })
        };
        result::create_program(&text(&source.with_ptx())?, Some(&text(source.name)?))
            .map(Self)
            .map_err(|error| failed("nvrtcCreateProgram", error))
    }

    /// The compiler's log.
    fn log(&self) -> String {
        // SAFETY: the program was created and is not destroyed.
        match unsafe { result::get_program_log(self.0) } {
            Ok(log) => {
                let bytes: Vec<u8> =
                    log.iter().map(|c| c.to_ne_bytes()[0]).take_while(|byte| *byte != 0).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Err(error) => format!("(no log: {error})"),
        }
    }

    fn cubin(&self) -> Result<Vec<u8>, NvrtcError> {
        let mut size = 0;
        // SAFETY: the program was compiled, and `size` is writable.
        unsafe { sys::nvrtcGetCUBINSize(self.0, &mut size) }.result()?;
        let mut cubin = vec![0_u8; size];
        let to = cubin.as_mut_ptr().cast::<c_char>();
        // SAFETY: the program was compiled, and `to` has room for `size` bytes.
        unsafe { sys::nvrtcGetCUBIN(self.0, to) }.result()?;
        Ok(cubin)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created, and destroyed once. It fails only for a program that is none.
        let result = unsafe { sys::nvrtcDestroyProgram(ptr::from_mut(&mut self.0)) };
        debug_assert_eq!(result, sys::nvrtcResult::NVRTC_SUCCESS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Source = source!("gemlite.cu");
    const HOPPER: Capability = Capability { major: 9, minor: 0 };

    #[test]
    fn the_name_follows_everything_that_decides_the_content() {
        let first = name(&SOURCE, HOPPER, (13, 0));
        assert!(first.starts_with("gemlite.cu-sm_90-") && first.ends_with(".cubin"), "{first}");
        assert_eq!(first, name(&SOURCE, HOPPER, (13, 0)));

        let edited = Source { text: "// another", ..SOURCE };
        let others = [
            name(&edited, HOPPER, (13, 0)),
            name(&SOURCE, Capability { major: 10, minor: 0 }, (13, 0)),
            name(&SOURCE, HOPPER, (13, 1)),
            name(&SOURCE, HOPPER, (12, 0)),
        ];
        assert!(!others.contains(&first));
    }
}
