//! For build scripts: from configs to the sources of the bench targets.
//!
//! A bench target's default suite is the files of `configs/<target>`. The variable
//! `BENCH_CONFIG`, a list of paths like `PATH`, names other configs instead; each goes to the
//! target that its `benchmark_mode` names.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::case::Plan;
use crate::config::{Diagnostic, Diagnostics, shape_set};
use crate::expand::load;
use crate::words::Mode;

/// Writes `$OUT_DIR/<target>.json` (the plan) and `$OUT_DIR/<target>.rs` (its functions) for
/// every target, and tells cargo what to watch. Errors become one readable cargo error each.
///
/// For a build script: reads `CARGO_MANIFEST_DIR`, `OUT_DIR` and `BENCH_CONFIG`.
pub fn main(targets: &[Mode]) {
    let folder = |name| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
    println!("cargo::rerun-if-env-changed=BENCH_CONFIG");
    let bench_config = std::env::var_os("BENCH_CONFIG");
    let package = folder("CARGO_MANIFEST_DIR");
    // Shape lists may lie beside any config, so the whole folder is watched.
    println!("cargo::rerun-if-changed={}", package.join("configs").display());
    let written = plans(&package, targets, bench_config.as_deref()).and_then(|plans| {
        plans.iter().try_for_each(|(target, plan)| write(&folder("OUT_DIR"), *target, plan))
    });
    if let Err(errors) = written {
        for error in errors.0 {
            println!("cargo::error={error}");
        }
    }
}

/// The plan of each target.
fn plans(
    package: &Path,
    targets: &[Mode],
    bench_config: Option<&OsStr>,
) -> Result<Vec<(Mode, Plan)>, Diagnostics> {
    let Some(list) = bench_config.filter(|list| !list.is_empty()) else {
        let plan_of = |&target| Ok((target, load(&default_configs(package, target)?)?));
        return targets.iter().map(plan_of).collect();
    };
    let named = std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty());
    // Joining keeps an absolute path as it is.
    let files: Vec<PathBuf> = named.map(|path| package.join(path)).collect();
    if files.is_empty() {
        let message = format!("BENCH_CONFIG is `{}`, which names no file", list.display());
        return Err(Diagnostic::whole_file(
            Path::new(""),
            message,
            "name at least one config, or unset it",
        )
        .into());
    }
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        // A folder that is not there yet would make cargo build anew every time.
        let folder = file.parent().unwrap_or(Path::new(""));
        for shapes in shape_set::folders(folder).into_iter().filter(|folder| folder.is_dir()) {
            println!("cargo::rerun-if-changed={}", shapes.display());
        }
    }
    let plan = load(&files)?;
    if let Some(case) = plan.cases().find(|case| !targets.contains(&case.mode)) {
        let file = files.iter().find(|file| file.file_stem() == Some(OsStr::new(&case.config)));
        return Err(Diagnostic::whole_file(
            file.map_or(Path::new(""), PathBuf::as_path),
            format!("benchmark_mode `{}` has no bench target in this version", case.mode),
            "name a config of another mode, or expand this one with `criterion-report plan`",
        )
        .into());
    }
    let of = |target| {
        plan.groups.iter().filter(move |group| group.baseline().mode == target).cloned().collect()
    };
    Ok(targets.iter().map(|&target| (target, Plan { groups: of(target) })).collect())
}

/// Every `.yml` and `.yaml` directly inside `configs/<target>`, in the order of their names.
fn default_configs(package: &Path, target: Mode) -> Result<Vec<PathBuf>, Diagnostics> {
    const REMEDY: &str = "put a config there, or name one with BENCH_CONFIG";
    let folder = package.join("configs").join(target.as_str());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(|error| {
            Diagnostic::whole_file(&folder, format!("cannot be read: {error}"), REMEDY)
        })?;
    files.retain(|file| file.extension().is_some_and(|it| it == "yml" || it == "yaml"));
    files.sort();
    if files.is_empty() {
        return Err(Diagnostic::whole_file(&folder, "holds no config".to_owned(), REMEDY).into());
    }
    Ok(files)
}

fn write(folder: &Path, target: Mode, plan: &Plan) -> Result<(), Diagnostics> {
    let json = serde_json::to_string(plan).expect("a plan has no map with non-string keys");
    for (extension, text) in [("json", json), ("rs", source(plan))] {
        let file = folder.join(format!("{target}.{extension}"));
        std::fs::write(&file, text).map_err(|error| {
            Diagnostic::whole_file(
                &file,
                format!("cannot be written: {error}"),
                "free some space, or `cargo clean`",
            )
        })?;
    }
    Ok(())
}

/// Rust source with one function per group and the list of them. The functions only say which
/// group they are; what a group does is in the library.
fn source(plan: &Plan) -> String {
    let mut text = String::from("// Generated from the configs by the build script.\n\n");
    let mut names = Vec::with_capacity(plan.groups.len());
    for (index, group) in plan.groups.iter().enumerate() {
        let baseline = group.baseline();
        let name = format!("group_{index}");
        let id = format!("{}/*/{}", baseline.id.group, baseline.id.parameter);
        writeln!(
            text,
            "/// {id}\nfn {name}(criterion: &mut Criterion, session: &mut Session) {{\n    session.group(criterion, {index});\n}}\n"
        )
        .expect("writing to a string does not fail");
        names.push(name);
    }
    let list = names.iter().fold(String::new(), |list, name| list + "    " + name + ",\n");
    write!(text, "const GROUPS: &[GroupFn] = &[\n{list}];\n")
        .expect("writing to a string does not fail");
    text
}
