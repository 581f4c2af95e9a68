//! The linker of benchmark programs: it links each program several times, with its functions in other orders.
//!
//! The place of a function decides how it falls into the processor's caches and predictors, so that two builds of one source
//! can differ by some percent. A change of the source moves functions, too. Over several orders such luck averages out,
//! and its size shows. rustc calls this tool in place of the linker; LLD's `--shuffle-sections` does the rest.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use memchr::memmem;
use plan::lockstep::PORT;

use crate::error::{Error, Result};
use crate::files;

/// Set where rustc calls this tool as its linker.
const LAYOUTS: &str = "CRITERION_TORCH_LAYOUTS";
/// The linker that rustc calls by default on Linux.
const LINKER: &str = "cc";
/// Layouts beside that of the linker itself.
pub const FURTHER: usize = 23;
/// Bytes of all layouts of a program, at most.
const MOST_BYTES: usize = 200 << 20;

/// Whether rustc has started this process.
pub fn is_called() -> bool {
    env::var_os(LAYOUTS).is_some()
}

/// Copies this program into a folder, where nobody replaces it while rustc calls it.
pub fn copy(folder: &Path) -> Result<PathBuf> {
    files::make_folder(folder)?;
    let tool = env::current_exe();
    let tool = tool.map_err(|error| Error::new(format!("this program has no path: {error}")))?;
    let copy = folder.join("linker");
    fs::copy(&tool, &copy).map_err(|error| Error::io("copy", &tool, &error))?;
    Ok(copy)
}

/// Has rustc call a [`copy`] of this tool.
pub fn rustc(cargo: &mut Command, copy: &Path) {
    let mut linker = OsString::from("-Clinker=");
    linker.push(copy);
    cargo.arg(linker).env(LAYOUTS, "1");
}

/// Links as asked, and then the other layouts, whose files stand beside that of the first.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    // rustc reads what the linker says.
    match Command::new(LINKER).args(&arguments).status() {
        Err(error) => {
            eprintln!("{LINKER}: {error}");
            return ExitCode::FAILURE;
        }
        Ok(status) if !status.success() => {
            return ExitCode::from(crate::cargo::code(status));
        }
        Ok(_) => {}
    }
    let output = arguments.iter().position(|it| it == "-o").map(|place| place + 1);
    if let Some(place) = output.filter(|place| *place < arguments.len()) {
        further(&arguments, place);
    }
    ExitCode::SUCCESS
}

/// Links the other layouts of a benchmark program, as many as the linker can. `place` is that of the output's name.
fn further(arguments: &[OsString], place: usize) {
    let output = Path::new(&arguments[place]);
    for earlier in layouts(output) {
        // They are of an earlier build.
        if let Err(error) = fs::remove_file(&earlier) {
            eprintln!("{}: {error}", earlier.display());
            return;
        }
    }
    let Ok(program) = fs::read(output) else { return };
    if memmem::find(&program, PORT.as_bytes()).is_none() {
        return;
    }
    let most = MOST_BYTES / program.len().max(1);
    for seed in 1..=FURTHER.min(most) {
        let mut again = arguments.to_vec();
        again[place] = layout(output, seed).into_os_string();
        again.push(format!("-Wl,--shuffle-sections=.text*={seed}").into());
        let linked =
            Command::new(LINKER).args(&again).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !linked.is_ok_and(|status| status.success()) {
            return;
        }
    }
}

fn layout(program: &Path, seed: usize) -> PathBuf {
    let mut name = program.as_os_str().to_owned();
    name.push(format!(".layout-{seed}"));
    name.into()
}

/// The further layouts of a program that were linked.
pub fn layouts(program: &Path) -> Vec<PathBuf> {
    let all = (1..=FURTHER).map(|seed| layout(program, seed));
    all.take_while(|it| it.is_file()).collect()
}
