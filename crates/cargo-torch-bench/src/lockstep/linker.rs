//! The linker of benchmark programs: it keeps what each program is linked from, so that it can be linked again, with its
//! functions in another order.
//!
//! The place of a function decides how it falls into the processor's caches and predictors, so that two builds of one source
//! can differ by some percent. A change of the source moves functions, too. Over many orders such luck averages out,
//! and its size shows. rustc calls this tool in place of the linker; LLD's `--shuffle-sections` does the rest.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use memchr::memmem;
use plan::lockstep::PORT;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files;

/// Set where rustc calls this tool as its linker.
const CALLED: &str = "CRITERION_TORCH_LINKER";
/// The linker that rustc calls by default on Linux.
const LINKER: &str = "cc";

/// Whether rustc has started this process.
pub fn is_called() -> bool {
    env::var_os(CALLED).is_some()
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
    cargo.arg(linker).env(CALLED, "1");
}

/// Links as asked, and keeps what a benchmark program is linked from.
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
    // A program with an argument that is not UTF-8 is linked once; rustc writes none.
    let arguments: Option<Vec<String>> =
        arguments.into_iter().map(|it| it.into_string().ok()).collect();
    if let Err(error) = arguments.map_or(Ok(()), Inputs::keep) {
        eprint!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The inputs of a linked program: its object files and libraries in a folder of their own, and the linker's arguments.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Inputs {
    folder: PathBuf,
    arguments: Vec<String>,
    /// Index of the name of the program.
    output: usize,
}

impl Inputs {
    /// Keeps them beside the program, if it is a benchmark: rustc removes some, and the next build replaces others.
    fn keep(arguments: Vec<String>) -> Result<()> {
        let place = arguments.iter().position(|it| it == "-o").map(|place| place + 1);
        let Some(output) = place.filter(|place| *place < arguments.len()) else { return Ok(()) };
        let program = PathBuf::from(&arguments[output]);
        let folder = inputs(&program);
        // They are of an earlier build.
        files::remove_folder(&folder)?;
        let is_benchmark =
            fs::read(&program).is_ok_and(|it| memmem::find(&it, PORT.as_bytes()).is_some());
        // A file of arguments would have to be kept, too; rustc writes one where a system refuses long lines.
        if !is_benchmark || arguments.iter().any(|it| it.starts_with('@')) {
            return Ok(());
        }
        files::make_folder(&folder)?;
        let mut kept = Self { folder, arguments, output };
        for index in 0..kept.arguments.len() {
            let input = PathBuf::from(&kept.arguments[index]);
            let is_kept =
                input.extension().is_some_and(|it| it == "o" || it == "rlib" || it == "a");
            if is_kept && input.is_file() {
                let here = kept.folder.join(format!("{index}-{}", files::name(&input)));
                link_or_copy(&input, &here)?;
                kept.arguments[index] = here.display().to_string();
            }
        }
        kept.write()
    }

    fn write(&self) -> Result<()> {
        let text = serde_json::to_string(self).map_err(|error| Error::new(error.to_string()))?;
        files::write(&self.folder.join(ARGUMENTS), text)
    }

    /// Copies what was kept of a program to beside its copy. None where nothing was.
    pub fn copy(program: &Path, copy: &Path) -> Result<Option<Self>> {
        let [from, folder] = [program, copy].map(inputs);
        files::remove_folder(&folder)?;
        if !from.is_dir() {
            return Ok(None);
        }
        let text = files::read(&from.join(ARGUMENTS))?;
        let mut kept: Self = serde_json::from_str(&text)
            .map_err(|error| Error::new(format!("{}: {error}", from.display())))?;
        files::make_folder(&folder)?;
        for argument in &mut kept.arguments {
            if let Ok(name) = Path::new(argument).strip_prefix(&kept.folder) {
                let here = folder.join(name);
                link_or_copy(&from.join(name), &here)?;
                *argument = here.display().to_string();
            }
        }
        kept.folder = folder;
        Ok(Some(kept))
    }

    /// Links the program anew, with its functions in the order of a number.
    pub fn link(&self, order: usize, program: &Path) -> Result<()> {
        let mut arguments = self.arguments.clone();
        let linked = self.folder.join("program");
        arguments[self.output] = linked.display().to_string();
        arguments.push(format!("-Wl,--shuffle-sections=.text*={order}"));
        let output = Command::new(LINKER).args(&arguments).stdin(Stdio::null()).output();
        let output = output.map_err(|error| Error::new(format!("{LINKER}: {error}")))?;
        if output.status.success() {
            return fs::rename(&linked, program)
                .map_err(|error| Error::io("replace", program, &error));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("it says nothing");
        Err(Error::new(format!("{LINKER} ({}): {said}", output.status)))
    }
}

/// The linker's arguments, among the inputs.
const ARGUMENTS: &str = "arguments.json";

/// The folder of what a program is linked from.
fn inputs(program: &Path) -> PathBuf {
    let mut name = program.as_os_str().to_owned();
    name.push(".inputs");
    name.into()
}

/// A second name of a file, which keeps it when the first is removed or replaced; a copy where the system has none.
fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    fs::hard_link(from, to)
        .or_else(|_| fs::copy(from, to).map(drop))
        .map_err(|error| Error::io("copy", from, &error))
}
