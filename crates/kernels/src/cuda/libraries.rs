//! NVRTC and the CUDA driver, loaded when they are first asked for.
//!
//! cudarc loads a library at its first call and panics where there is none, so every way to it
//! leads through here: [`nvrtc`] before NVRTC's functions, [`driver`] before the driver's.
//!
//! NVRTC is looked for in
//! 1. `CRITERION_TORCH_NVRTC`, a folder such as `pip install --target` fills, or the library's own;
//! 2. the loader's path, which also finds a library that libtorch has loaded;
//! 3. the packages that lie beside libtorch, where torch's CUDA wheel expects it too.

use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudarc::{driver, nvrtc};

use native::refusal::Refusal;

/// The user's variable for the folder of NVRTC.
const VARIABLE: &str = "CRITERION_TORCH_NVRTC";

/// Folders of NVRTC in Python packages: since CUDA 13, and before.
const PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

/// The names that both NVIDIA and cudarc know.
const NAMES: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];

/// The driver's own name. A toolkit has a stub `libcuda.so`, and that is the name cudarc tries first.
const DRIVER: &str = "libcuda.so.1";

/// Python's package of an NVRTC whose results a driver of CUDA `driver` loads, and its version.
pub(super) fn package(driver: Option<i32>) -> [&'static str; 2] {
    match driver {
        Some(12) => ["nvidia-cuda-nvrtc-cu12", "12.9.86"],
        _ => ["nvidia-cuda-nvrtc", "13.0.88"],
    }
}

fn not_found(driver: Option<i32>) -> String {
    let [package, version] = package(driver);
    format!(
        "libnvrtc.so not found: `pip install --target DIR {package}=={version}`, and set {VARIABLE} \
         to DIR"
    )
}

/// NVRTC as it was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nvrtc {
    pub path: PathBuf,
    pub version: (i32, i32),
}

/// Loads NVRTC, once.
pub(super) fn nvrtc() -> Result<&'static Nvrtc, Refusal> {
    static FOUND: OnceLock<Result<Nvrtc, Refusal>> = OnceLock::new();
    FOUND.get_or_init(|| find_nvrtc(std::env::var_os(VARIABLE))).as_ref().map_err(Clone::clone)
}

/// Loads and initializes the CUDA driver, once.
pub(super) fn driver() -> Result<(), Refusal> {
    static FOUND: OnceLock<Result<(), Refusal>> = OnceLock::new();
    FOUND.get_or_init(start_driver).clone()
}

fn start_driver() -> Result<(), Refusal> {
    let loaded = load(Path::new(DRIVER)).map_err(|refusal| match refusal {
        Refusal::Skipped(text) => Refusal::Skipped(format!("{text}; install the NVIDIA driver")),
        other => other,
    })?;
    // SAFETY: the library was just loaded, and the name ends with NUL.
    let own = unsafe { libc::dlsym(loaded, c"cuInit".as_ptr()) };
    // SAFETY: cudarc finds one: the library that was just loaded has a name that it knows.
    let library = unsafe { driver::sys::culib() };
    // SAFETY: only its address is used.
    let used = unsafe { library.get::<*const libc::c_void>(b"cuInit\0") };
    let used = used.map_err(|error| {
        let what = "the loader's path has a libcuda that is not a CUDA driver";
        Refusal::Skipped(format!("{what}: {error}"))
    })?;
    let file = |address| path_of(address).unwrap_or_else(|| DRIVER.into()).display().to_string();
    if *used != own.cast_const() {
        return Err(Refusal::Skipped(format!(
            "the CUDA driver is {}, but the loader's path has another one, {}: take that one, such as \
             a toolkit's stub, out of LD_LIBRARY_PATH",
            file(own),
            file(*used)
        )));
    }
    driver::result::init().map_err(|error| {
        Refusal::Skipped(format!("the CUDA driver, {}, does not start: {error}", file(own)))
    })
}

/// The newest major version of CUDA that the driver supports; none without a driver.
pub(super) fn driver_major() -> Option<i32> {
    driver().ok()?;
    let mut version = 0;
    // SAFETY: the driver was started, and `version` is writable.
    unsafe { driver::sys::cuDriverGetVersion(&mut version) }.result().ok()?;
    Some(version / 1000)
}

fn find_nvrtc(variable: Option<OsString>) -> Result<Nvrtc, Refusal> {
    let chosen = variable.filter(|value| !value.is_empty()).map(PathBuf::from);
    match &chosen {
        Some(folder) => load_with_builtins(&chosen_library(folder)?)?,
        None if is_loadable() => {}
        None => {
            if let Some(library) = libtorch_folder().and_then(|lib| nvrtc_near(&lib)) {
                load_with_builtins(&library)?;
            }
        }
    }
    if !is_loadable() {
        return Err(Refusal::Skipped(not_found(driver_major())));
    }
    let found = describe()?;
    match chosen {
        // cudarc chooses by name, and the loader's path goes before what is loaded.
        Some(folder) if !is_inside(&found.path, &folder) => Err(Refusal::Skipped(format!(
            "{VARIABLE} is {}, but the loader's path has another NVRTC, {}: take that one out of \
             LD_LIBRARY_PATH",
            folder.display(),
            found.path.display()
        ))),
        _ => Ok(found),
    }
}

/// Whether cudarc finds NVRTC by its name.
fn is_loadable() -> bool {
    // SAFETY: NVRTC runs nothing when it is loaded.
    unsafe { nvrtc::sys::is_culib_present() }
}

/// The library that cudarc has loaded. Call only where [`is_loadable`].
fn describe() -> Result<Nvrtc, Refusal> {
    // SAFETY: it is loadable.
    let library = unsafe { nvrtc::sys::culib() };
    // SAFETY: only its address is used.
    let symbol = unsafe { library.get::<*const libc::c_void>(b"nvrtcGetSupportedArchs\0") };
    let symbol = symbol.map_err(|error| {
        Refusal::Skipped(format!("this NVRTC is older than CUDA 11.2: {error}"))
    })?;
    let path = path_of(*symbol)
        .ok_or_else(|| Refusal::Failed("the loader does not say which file NVRTC is".to_owned()))?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are writable, and any NVRTC has the function.
    unsafe { nvrtc::sys::nvrtcVersion(&mut major, &mut minor) }
        .result()
        .map_err(|error| Refusal::Failed(format!("nvrtcVersion: {error}")))?;
    Ok(Nvrtc { path, version: (major, minor) })
}

/// The library in the folder that the user has chosen.
fn chosen_library(folder: &Path) -> Result<PathBuf, Refusal> {
    library_under(folder).ok_or_else(|| {
        let (folder, names) = (folder.display(), NAMES.join(" nor "));
        Refusal::Skipped(format!("{VARIABLE} is {folder}, which holds neither {names}"))
    })
}

/// NVRTC's file, in the folder itself or in Python's layout.
fn library_under(root: &Path) -> Option<PathBuf> {
    let folders = [root.to_owned()].into_iter().chain(PACKAGES.map(|it| root.join(it)));
    folders.flat_map(|folder| NAMES.map(|name| folder.join(name))).find(|file| file.is_file())
}

/// NVRTC's file in libtorch's folder of libraries, `…/torch/lib`, or in the packages beside it.
fn nvrtc_near(lib: &Path) -> Option<PathBuf> {
    library_under(lib).or_else(|| library_under(lib.ancestors().nth(2)?))
}

/// The folder of this program's libtorch. A link is followed: beside means beside its target.
fn libtorch_folder() -> Option<PathBuf> {
    // SAFETY: only the address of the symbol is asked for; any of libtorch's C interface does.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"aoti_torch_abi_version".as_ptr()) };
    Some(path_of(symbol)?.canonicalize().ok()?.parent()?.to_owned())
}

/// Loads the library for good, so that its name is known, and first its other half, which it does
/// not find by itself outside the loader's path.
fn load_with_builtins(library: &Path) -> Result<(), Refusal> {
    let folder = library.parent().unwrap_or(Path::new("/"));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_builtins = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_bytes().starts_with(b"libnvrtc-builtins.so.")
    };
    for builtins in entries.map(|entry| entry.path()).filter(is_builtins) {
        load(&builtins)?;
    }
    load(library).map(drop)
}

/// Loads a library for good.
fn load(library: &Path) -> Result<*mut libc::c_void, Refusal> {
    let failed =
        |reason: String| Refusal::Skipped(format!("cannot load {}: {reason}", library.display()));
    let path = CString::new(library.as_os_str().as_bytes()).map_err(|it| failed(it.to_string()))?;
    // SAFETY: the path ends with NUL; NVIDIA's libraries run nothing when they are loaded.
    let loaded = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    if !loaded.is_null() {
        return Ok(loaded);
    }
    // SAFETY: always to be called.
    let message = unsafe { libc::dlerror() };
    // SAFETY: the last call on this thread failed, so there is a message, which ends with NUL;
    // nothing of the loader is called before it is copied.
    let message = unsafe { CStr::from_ptr(message) };
    Err(failed(message.to_string_lossy().into_owned()))
}

/// The file that holds an address.
fn path_of(address: *const libc::c_void) -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: any address may be asked for, and `info` is writable.
    if address.is_null() || unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: written, as the call succeeded.
    let name = unsafe { info.assume_init() }.dli_fname;
    // SAFETY: the name of a loaded library, which ends with NUL and lives as long as it is loaded.
    let name = unsafe { CStr::from_ptr(name) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

fn is_inside(file: &Path, folder: &Path) -> bool {
    match (file.canonicalize(), folder.canonicalize()) {
        (Ok(file), Ok(folder)) => file.starts_with(folder),
        _ => false,
    }
}

#[cfg(test)]
#[path = "libraries_tests.rs"]
mod tests;
