//! Ranges for NVIDIA's profilers: Nsight Systems and others that read NVTX.
//!
//! A profiler that reads ranges names its library in an environment variable. NVTX is only a header: it loads that
//! library and offers it a table of function pointers, and the profiler replaces those it wants to receive. This module
//! does the same, once, when the first range is opened. Without the variable nothing is loaded, and a range costs one
//! memory read.

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// The environment variable that names a profiler's library to 64-bit programs, as NVTX defines it.
pub const INJECTION: &str = "NVTX_INJECTION64_PATH";

/// A range on the calling thread, from now until it is dropped.
#[derive(Debug)]
#[must_use = "the range ends when it is dropped"]
pub struct Range {
    pop: Option<Pop>,
    /// Ranges of a thread form a stack, so a range must not move to another thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Range {
    /// Opens a range. Without a profiler it does nothing and does not call `name`. A name is cut at its first NUL.
    pub fn open(name: impl FnOnce() -> String) -> Self {
        let pop = profiler().and_then(|profiler| profiler.push(&name()));
        Self { pop, _thread: std::marker::PhantomData }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(pop) = self.pop {
            // SAFETY: the profiler gave the function, and this thread's range is open.
            unsafe { pop() };
        }
    }
}

/// Whether a profiler reads ranges. The error is the reason why a named profiler does not.
///
/// # Errors
/// When the library cannot be loaded, is not a profiler's, or refuses to attach.
pub fn listens() -> Result<bool, &'static str> {
    state().as_ref().map(Option::is_some).map_err(String::as_str)
}

type Push = unsafe extern "C" fn(*const c_char) -> c_int;
type Pop = unsafe extern "C" fn() -> c_int;

/// The functions of a profiler that reads ranges.
struct Profiler {
    push: Push,
    pop: Pop,
}

impl Profiler {
    fn push(&self, name: &str) -> Option<Pop> {
        let name: Vec<u8> = name.bytes().take_while(|it| *it != 0).collect();
        let name = CString::new(name).ok()?;
        // SAFETY: the profiler gave the function, and the name lives during the call.
        unsafe { (self.push)(name.as_ptr()) };
        Some(self.pop)
    }
}

fn profiler() -> Option<&'static Profiler> {
    state().as_ref().ok()?.as_ref()
}

fn state() -> &'static Result<Option<Profiler>, String> {
    static STATE: OnceLock<Result<Option<Profiler>, String>> = OnceLock::new();
    STATE.get_or_init(|| {
        let Some(path) = std::env::var_os(INJECTION) else { return Ok(None) };
        attach(&path).map_err(|why| format!("{INJECTION} is {}: {why}", path.display()))
    })
}

fn attach(path: &std::ffi::OsStr) -> Result<Option<Profiler>, String> {
    let path = CString::new(path.as_encoded_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the path ends with NUL. The profiler's own library is made to be loaded here.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
    if library.is_null() {
        return Err(load_error());
    }
    // SAFETY: the library is loaded, and stays so.
    let entry = unsafe { libc::dlsym(library, c"InitializeInjectionNvtx2".as_ptr()) };
    if entry.is_null() {
        return Err("it has no InitializeInjectionNvtx2".to_owned());
    }
    // SAFETY: NVTX fixes the type of the function of this name.
    let initialize = unsafe { std::mem::transmute::<*mut c_void, Initialize>(entry) };
    // SAFETY: as NVTX calls it, with a function that lives for ever.
    if unsafe { initialize(export_table) } == 0 {
        return Err("the profiler does not attach".to_owned());
    }
    // SAFETY: the profiler has left either null or a function of the type that belongs to the place.
    let push = unsafe { std::mem::transmute::<*const c_void, Option<Push>>(SLOTS.get(PUSH)) };
    // SAFETY: as above.
    let pop = unsafe { std::mem::transmute::<*const c_void, Option<Pop>>(SLOTS.get(POP)) };
    match (push, pop) {
        (Some(push), Some(pop)) => Ok(Some(Profiler { push, pop })),
        (None, None) => Ok(None),
        _ => Err("the profiler can only open ranges or only close them".to_owned()),
    }
}

fn load_error() -> String {
    // SAFETY: `dlerror` has no preconditions.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "it cannot be loaded".to_owned();
    }
    // SAFETY: it ends with NUL, and nothing of the loader is called before it is copied.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

// The rest of this file is NVTX 3's interface between a program and a profiler (nvtxDetail/nvtxTypes.h).

type GetExportTable = unsafe extern "C" fn(id: u32) -> *const c_void;
type Initialize = unsafe extern "C" fn(GetExportTable) -> c_int;

const CALLBACKS: u32 = 1;
const VERSION_INFO: u32 = 3;
const NVTX_VERSION: u32 = 3;

/// The number of the module whose functions open and close ranges.
const CORE: c_uint = 1;
const PUSH: usize = 9;
const POP: usize = 11;
/// The number of function slots in modules 1 to 6, including the unused slot 0.
const SIZES: [c_uint; 6] = [16, 9, 15, 7, 16, 7];
const MOST: usize = 16;

#[repr(C)]
struct Callbacks {
    size: usize,
    table_of: unsafe extern "C" fn(c_uint, *mut *const *mut c_void, *mut c_uint) -> c_int,
}

#[repr(C)]
struct VersionInfo {
    size: usize,
    version: u32,
    reserved: u32,
    set: unsafe extern "C" fn(u32),
}

static CALLBACK_TABLE: Callbacks =
    Callbacks { size: size_of::<Callbacks>(), table_of: module_table };
static VERSION_TABLE: VersionInfo = VersionInfo {
    size: size_of::<VersionInfo>(),
    version: NVTX_VERSION,
    reserved: 0,
    set: profilers_version,
};

/// Slots for a profiler's functions: those of ranges, and one slot that nobody calls for all other functions.
struct Slots([UnsafeCell<*const c_void>; MOST], UnsafeCell<*const c_void>);

// SAFETY: written by the profiler while it attaches, which happens once, and read after that.
unsafe impl Sync for Slots {}

static SLOTS: Slots =
    Slots([const { UnsafeCell::new(std::ptr::null()) }; MOST], UnsafeCell::new(std::ptr::null()));

impl Slots {
    fn get(&self, number: usize) -> *const c_void {
        // SAFETY: nobody writes any more.
        unsafe { *self.0[number].get() }
    }
}

/// Pointers to the slots of a module.
struct Pointers([*mut c_void; MOST]);

// SAFETY: the pointers are never changed, and point to statics.
unsafe impl Sync for Pointers {}

static CORE_TABLE: Pointers = {
    let mut pointers = [std::ptr::null_mut(); MOST];
    let mut number = 0;
    while number < MOST {
        pointers[number] = SLOTS.0[number].get().cast();
        number += 1;
    }
    Pointers(pointers)
};
static UNUSED_TABLE: Pointers = Pointers([SLOTS.1.get().cast(); MOST]);

unsafe extern "C" fn export_table(id: u32) -> *const c_void {
    match id {
        CALLBACKS => std::ptr::from_ref(&CALLBACK_TABLE).cast(),
        VERSION_INFO => std::ptr::from_ref(&VERSION_TABLE).cast(),
        _ => std::ptr::null(),
    }
}

unsafe extern "C" fn module_table(
    module: c_uint,
    table: *mut *const *mut c_void,
    size: *mut c_uint,
) -> c_int {
    let Some(&places) = module.checked_sub(1).and_then(|at| SIZES.get(at as usize)) else {
        return 0;
    };
    let pointers = if module == CORE { &CORE_TABLE } else { &UNUSED_TABLE };
    if !size.is_null() {
        // SAFETY: the profiler's own variable.
        unsafe { *size = places };
    }
    if !table.is_null() {
        // SAFETY: as above.
        unsafe { *table = pointers.0.as_ptr() };
    }
    1
}

/// NVTX ignores the profiler's version as well.
unsafe extern "C" fn profilers_version(_version: u32) {}
