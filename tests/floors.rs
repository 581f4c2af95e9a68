//! The house stands: a file imports only from floors below its own.

use std::path::{Path, PathBuf};

/// The modules of the library from the ground up. The numbers are the floors of the house;
/// inside a floor, too, a module imports only from those listed before it.
const FLOORS: &[(u8, &[&str])] = &[
    (2, &["native", "refusal", "python", "device", "inputs", "step", "threads"]),
    (3, &["measurement", "kernels", "operators"]),
    (4, &["compile", "recipes", "fusion", "kernel"]),
    (5, &["models"]),
    (6, &["verify", "workload"]),
    (7, &["harness"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the folder is in the repository") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|it| it == "rs") {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    walk(&root().join(folder), &mut files);
    assert!(!files.is_empty(), "{folder} holds no source");
    files
}

/// The code of a file: without comments, and without its tests.
fn code(path: &Path) -> String {
    without_tests(&std::fs::read_to_string(path).expect("readable"))
}

/// `text` without comments and without items that are for tests, wherever they stand. It is laid out
/// by rustfmt: an item ends in its first line, or with a bracket that is indented as it is.
fn without_tests(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("#[cfg(test)]") {
            let indent = &line[..line.len() - line.trim_start().len()];
            let last = |line: &&str| {
                let inside = line.strip_prefix(indent).unwrap_or_default();
                let begins = !inside.starts_with([' ', '#', ')']);
                begins && (inside.starts_with('}') || inside.ends_with([';', ',', '}']))
            };
            lines.find(last).unwrap_or_else(|| panic!("no end of {line} in:\n{text}"));
        } else {
            code += line;
            code.push('\n');
        }
    }
    code
}

/// How far up a module stands.
fn height(module: &str) -> Option<usize> {
    FLOORS.iter().flat_map(|(_, modules)| *modules).position(|it| *it == module)
}

/// The top module that a file of `src` belongs to.
fn module_of(path: &Path) -> String {
    let inside = path.strip_prefix(root().join("src")).expect("a file of src");
    let first = inside.components().next().expect("not empty").as_os_str();
    first.to_str().expect("plain names").trim_end_matches(".rs").to_owned()
}

/// The modules that follow `crate::`, also inside braces.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        // `$crate::` in a macro is the caller's business.
        if code[..at].ends_with('$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let group = rest.strip_prefix('{').and_then(|rest| rest.split('}').next());
        for name in group.unwrap_or(rest).split(',') {
            let name: String =
                name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            found.push(name);
            if group.is_none() {
                break;
            }
        }
    }
    found
}

#[test]
fn every_module_has_a_floor_and_every_floor_its_modules() {
    for file in rust_files("src") {
        let module = module_of(&file);
        assert!(module == "lib" || height(&module).is_some(), "{module} has no floor here");
    }
    for module in FLOORS.iter().flat_map(|(_, modules)| *modules) {
        let exists = ["src/NAME", "src/NAME.rs"]
            .iter()
            .any(|path| root().join(path.replace("NAME", module)).exists());
        assert!(exists, "{module} is gone");
    }
}

#[test]
fn imports_go_down() {
    for file in rust_files("src") {
        let module = module_of(&file);
        let Some(here) = height(&module) else { continue };
        for import in imports(&code(&file)) {
            let Some(there) = height(&import) else { continue };
            assert!(there <= here, "{} imports `{import}` from above", file.display());
        }
    }
}

#[test]
fn only_the_harness_names_criterion_and_only_its_clock_loops() {
    for file in rust_files("src") {
        let code = code(&file);
        let harness = module_of(&file) == "harness";
        assert!(harness || !code.contains("criterion::"), "{} names criterion", file.display());
        let name = file.file_name().and_then(|name| name.to_str());
        // The probes' clock is one file, too, and times no sample.
        let may_read_a_clock = match module_of(&file).as_str() {
            "harness" => matches!(name, Some("clock.rs" | "progress.rs")),
            // The time limit of waiting for another process, while nothing is timed.
            "compile" => name == Some("lock.rs"),
            "measurement" => name == Some("stopwatch.rs"),
            _ => false,
        };
        assert!(
            may_read_a_clock || !code.contains("Instant::now"),
            "{} reads a clock: the timing loop is in harness/clock.rs",
            file.display()
        );
    }
}

#[test]
fn the_ground_floor_and_the_report_know_nothing_of_torch() {
    for manifest in ["crates/plan/Cargo.toml", "criterion-report/Cargo.toml"] {
        let text = std::fs::read_to_string(root().join(manifest)).expect("readable");
        for forbidden in ["tch", "torch-sys", "native", "criterion", "criterion-torch"] {
            let named =
                text.lines().any(|line| line.split(['.', ' ', '=']).next() == Some(forbidden));
            assert!(!named, "{manifest} depends on {forbidden}");
        }
    }
}

#[test]
fn the_checks_find_what_they_look_for() {
    let code = "use crate::{harness::Session, models};\nlet x = crate::verify::sqnr();\n";
    assert_eq!(imports(code), ["harness", "models", "verify"]);
    assert!(imports("$crate::harness::main()").is_empty());
    let code = "\
use crate::a;
#[cfg(test)]
use crate::b;
#[cfg(test)]
#[path = \"c_tests.rs\"]
mod tests;
#[cfg(test)]
mod tests {
    use crate::d;
}
/// It stands after its tests.
fn e() {
    // crate::f
    crate::g();
}
impl H {
    #[cfg(test)]
    fn i(
        j: u8,
    ) {
        if crate::k() {}
    }

    fn l() {
        crate::m();
    }
}
";
    assert_eq!(imports(&without_tests(code)), ["a", "g", "m"]);
}
