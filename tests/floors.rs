//! The house stands: a file imports only from floors below its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The sources of a crate, and its modules from the ground up. Inside a floor, too, a module imports
/// only from those listed before it.
struct House {
    folder: &'static str,
    lowest: usize,
    floors: &'static [&'static [&'static str]],
}

/// The crates that need no torch and so stand below the library.
const PLAN: House = House {
    folder: "crates/plan/src",
    lowest: 1,
    floors: &[
        &[
            "words",
            "git",
            "hash",
            "diagnostic",
            "shape",
            "history",
            "exit",
            "shard",
            "budget",
            "results",
            "lockstep",
        ],
        &["settings", "variant", "expression", "library"],
        &["catalogue", "kernel", "user"],
        &["linears", "work", "case", "recommendation", "architecture"],
        &["id", "cost", "flag", "record", "config"],
        &["expand", "estimate", "assignment"],
    ],
};

/// The library. Its numbers are the floors of the whole house.
const LIBRARY: House = House {
    folder: "src",
    lowest: 2,
    floors: &[
        &["device", "inputs", "threads"],
        &["measurement"],
        &["compile", "recipes", "kernel", "catalogue"],
        &["models"],
        &["verify", "workload"],
        &["harness"],
    ],
};

/// The report. Its numbers are its own: nothing of the house stands on it.
const REPORT: House = House {
    folder: "criterion-report/src",
    lowest: 1,
    floors: &[
        &["order", "parallel", "visible", "output"],
        &["render"],
        &["model"],
        &["read"],
        &["compare"],
        &["views"],
        &["export", "html", "fusion", "merge"],
        &["cli"],
    ],
};

impl House {
    fn modules(&self) -> impl Iterator<Item = &'static str> {
        self.floors.iter().flat_map(|floor| floor.iter().copied())
    }

    /// The floors with their modules, the highest first.
    fn table(&self) -> String {
        let floors = self.floors.iter().enumerate().rev();
        floors.map(|(at, floor)| format!("{}  {}\n", self.lowest + at, floor.join("  "))).collect()
    }

    /// How far up a module stands.
    fn height(&self, module: &str) -> Option<usize> {
        self.modules().position(|it| it == module)
    }

    /// The top module that a file belongs to.
    fn module_of(&self, path: &Path) -> String {
        let inside = path.strip_prefix(root().join(self.folder)).expect("a file of the folder");
        let first = inside.components().next().expect("not empty").as_os_str();
        let name = first.to_str().expect("plain names").trim_end_matches(".rs");
        // Tests beside a module are a part of it.
        name.trim_end_matches("_tests").to_owned()
    }
}

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

/// The names that follow `crate::`, also inside braces.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        // `$crate::` in a macro is the caller's business.
        if code[..at].ends_with('$') {
            continue;
        }
        let name = |text: &str| -> String {
            text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.push(name(rest));
            continue;
        };
        found.push(name(group));
        let mut depth = 0;
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => found.push(name(&group[at + 1..])),
                _ => {}
            }
        }
    }
    // A comma may stand before the bracket that closes a group.
    found.retain(|name| !name.is_empty());
    found
}

#[test]
fn every_module_has_a_floor_and_every_floor_its_modules() {
    for house in [PLAN, LIBRARY, REPORT] {
        for file in rust_files(house.folder) {
            let module = house.module_of(&file);
            let is_known =
                ["lib", "main", "bin"].contains(&&*module) || house.height(&module).is_some();
            assert!(is_known, "{}: {module} has no floor here", house.folder);
        }
        for module in house.modules() {
            let folder = root().join(house.folder).join(module);
            let exists = folder.exists() || folder.with_extension("rs").exists();
            assert!(exists, "{}: {module} is gone", house.folder);
        }
    }
}

#[test]
fn imports_go_down() {
    for house in [PLAN, LIBRARY, REPORT] {
        for file in rust_files(house.folder) {
            let Some(here) = house.height(&house.module_of(&file)) else { continue };
            for import in imports(&code(&file)) {
                // Items that `lib.rs` exports again may be of any floor.
                let is_item = import.starts_with(|c: char| c.is_uppercase());
                assert!(!is_item, "{}: name the module of `{import}`", file.display());
                let Some(there) = house.height(&import) else { continue };
                assert!(there <= here, "{} imports `{import}` from above", file.display());
            }
        }
    }
}

/// The sources of all crates.
const SOURCES: [&str; 10] = [
    "src",
    "criterion-report/src",
    "crates/build/src",
    "crates/cargo-torch-bench/src",
    "crates/kernels/src",
    "crates/libtorch/src",
    "crates/native/src",
    "crates/plan/src",
    "crates/statistics/src",
    "crates/xtask/src",
];

/// Modules that may import one another: CUDA's gemlite multiplies many rows by Triton's product, and Triton's kernels are
/// loaded and launched as CUDA's are.
const MAY: [&str; 2] = ["cuda", "triton"];

#[test]
fn no_modules_of_a_folder_import_one_another_in_a_circle() {
    let mut circles = BTreeSet::new();
    for source in SOURCES {
        for (folder, modules) in imports_of_folders(&root().join(source)) {
            for module in modules.keys().filter(|module| !MAY.contains(&module.as_str())) {
                let way = way_back(module, &modules).map(|way| way.join(" → "));
                circles.extend(way.map(|way| format!("{source}, {}: {way}", folder.join("::"))));
            }
        }
    }
    assert!(circles.is_empty(), "{circles:#?}");
}

/// Per folder of a crate, each of its modules with those beside it that its files name.
type Folders = BTreeMap<Vec<String>, BTreeMap<String, BTreeSet<String>>>;

fn imports_of_folders(source: &Path) -> Folders {
    let mut folders = Folders::new();
    for file in rust_files(source.to_str().expect("a plain name")) {
        let inside = file.strip_prefix(source).expect("a file of the crate").with_extension("");
        let place: Vec<String> =
            inside.iter().map(|it| it.to_str().expect("plain names").to_owned()).collect();
        let is_test = |name: &String| name == "tests" || name.ends_with("_tests");
        if place.iter().any(is_test) {
            continue;
        }
        let here = match &place[..] {
            [folder @ .., last] if last == "mod" || last == "lib" || last == "main" => folder,
            all => all,
        };
        for path in paths(&code(&file)) {
            let Some(target) = absolute(&path, here) else { continue };
            // The folder where both parted company.
            let common = here.iter().zip(&target).take_while(|(a, b)| a == b).count();
            let (Some(own), Some(other)) = (here.get(common), target.get(common)) else { continue };
            let modules = folders.entry(here[..common].to_vec()).or_default();
            modules.entry(own.clone()).or_default().insert(other.clone());
        }
    }
    folders
}

/// The modules from one back to itself, if its imports lead there.
fn way_back(module: &str, modules: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut known = BTreeSet::new();
    let mut ways = vec![vec![module.to_owned()]];
    while let Some(way) = ways.pop() {
        for next in modules.get(way.last().expect("a way begins somewhere")).into_iter().flatten() {
            let longer = [&way[..], std::slice::from_ref(next)].concat();
            if next == module {
                return Some(longer);
            }
            if known.insert(next.clone()) {
                ways.push(longer);
            }
        }
    }
    None
}

/// All paths that begin with `crate`, `super` or `self`, those in braces one by one.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || "_$:".contains(c)) {
                branches(&code[at..], &mut Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Adds the paths of a tree of imports, which begins `text`; returns its length.
fn branches(text: &str, stem: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let (mut at, depth) = (0, stem.len());
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        if text[at..].starts_with('{') {
            at += 1;
            while !text[at..].trim_start().starts_with('}') {
                at += branches(&text[at..], stem, found).max(1);
                at += text[at..].find([',', '}']).unwrap_or(text[at..].len());
                at += usize::from(text[at..].starts_with(','));
                if at >= text.len() {
                    break;
                }
            }
            at += text[at..].find('}').map_or(0, |end| end + 1);
            break;
        }
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let name: String = text[at..].chars().take_while(|c| is_name(*c)).collect();
        at += name.len();
        stem.push(name);
        if !text[at..].starts_with("::") {
            found.push(stem.clone());
            break;
        }
        at += 2;
    }
    stem.truncate(depth);
    at
}

/// A path from the root of its crate, if it stays in the crate.
fn absolute(path: &[String], here: &[String]) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    match &path[0][..] {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([here, &path[1..]].concat()),
        _ => Some([here.get(..here.len().checked_sub(ups)?)?, &path[ups..]].concat()),
    }
}

/// The document with the floors' tables.
const GUIDE: &str = "CONTRIBUTING.md";
/// The variable with which the test writes the tables.
const UPDATE: &str = "UPDATE_FLOORS";

#[test]
fn the_guide_shows_the_floors() {
    let path = root().join(GUIDE);
    let guide = std::fs::read_to_string(&path).expect("readable");
    let updated = [LIBRARY, PLAN, REPORT].iter().fold(guide.clone(), |text, house| {
        let start = format!("<!-- floors: {} -->\n```text\n", house.folder);
        let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("no {start}"));
        let (_, after) = rest.split_once("```\n").expect("the table ends");
        format!("{before}{start}{}```\n{after}", house.table())
    });
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, updated).expect("writable");
    } else {
        assert_eq!(guide, updated, "{UPDATE}=1 cargo test --test floors writes the tables");
    }
}

#[test]
fn only_the_harness_names_criterion_and_only_its_clock_loops() {
    for file in rust_files(LIBRARY.folder) {
        let code = code(&file);
        let module = LIBRARY.module_of(&file);
        let harness = module == "harness";
        assert!(harness || !code.contains("criterion::"), "{} names criterion", file.display());
        let name = file.file_name().and_then(|name| name.to_str());
        // The probes' clock is one file, too, and times no sample.
        let may_read_a_clock = match module.as_str() {
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
fn circles_are_found() {
    let text = "use super::{a::{B, C}, d};\nuse crate::e::{self, f};\nx(self::g::h(), $crate::i);";
    let found: Vec<String> = paths(text).iter().map(|path| path.join("::")).collect();
    let expected =
        ["crate::e::self", "crate::e::f", "super::a::B", "super::a::C", "super::d", "self::g::h"];
    assert_eq!(found, expected);
    let here = ["write".to_owned(), "show".to_owned()];
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(absolute(&path("super::view::Room"), &here), Some(path("write::view::Room")));
    assert_eq!(absolute(&path("crate::units"), &here), Some(path("units")));
    let import = |one: &str, other: &str| (one.to_owned(), BTreeSet::from([other.to_owned()]));
    let circle = BTreeMap::from([import("a", "b"), import("b", "c"), import("c", "a")]);
    assert_eq!(way_back("b", &circle), Some(path("b::c::a::b")));
    assert_eq!(way_back("a", &BTreeMap::from([import("a", "b"), import("b", "c")])), None);
}

#[test]
fn the_checks_find_what_they_look_for() {
    let code = "use crate::{harness::Session, models};\nlet x = crate::verify::sqnr();\n";
    assert_eq!(imports(code), ["harness", "models", "verify"]);
    let nested = "use crate::{\n    a::{B, C},\n    d,\n};\nlet x = crate::e;\nf(crate::g, h);\n";
    assert_eq!(imports(nested), ["a", "d", "e", "g"]);
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
