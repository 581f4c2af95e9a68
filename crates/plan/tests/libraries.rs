//! Library crates bring kernels, recipes and models to the packages that depend on them.

use std::path::PathBuf;
use std::process::Command;

use plan::{Brings, CargoPackage, Config, Library, Package, expand};

/// A package `mine` and crates beside it, in a folder that is gone when it is dropped.
struct TestPackages(tempfile::TempDir);

impl TestPackages {
    /// `dependencies` are the lines of `mine`'s manifest behind its name, `crates` the names of others and what their
    /// manifests say. It has benchmarks.
    fn new(dependencies: &str, crates: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().expect("a temporary folder"));
        let package = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
        };
        let ours = "[target.'cfg(all())'.dev-dependencies]\n\
                    criterion-torch = { path = \"../criterion-torch\" }\n";
        place.write("mine/Cargo.toml", &package("mine", &format!("{dependencies}{ours}")));
        place.write("criterion-torch/Cargo.toml", &package("criterion-torch", ""));
        place.write("criterion-torch/src/lib.rs", "");
        place.write("mine/src/lib.rs", "");
        for (name, rest) in crates {
            place.write(&format!("{name}/Cargo.toml"), &package(name, rest));
            place.write(&format!("{name}/src/lib.rs"), "");
        }
        place
    }

    fn path(&self, inside: &str) -> PathBuf {
        // A temporary folder may be a link.
        self.0.path().canonicalize().expect("it is there").join(inside)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    fn ask(&self) -> CargoPackage {
        CargoPackage::ask(&self.path("mine")).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As in a build, when cargo has written the lock file.
    fn libraries(&self) -> Result<Vec<Library>, String> {
        let mut cargo = Command::new(std::env::var_os("CARGO").expect("cargo runs this"));
        cargo.args(["generate-lockfile", "--offline"]).current_dir(self.path("mine"));
        assert!(cargo.output().expect("cargo runs").status.success());
        let libraries = self.ask().libraries().unwrap_or_else(|error| panic!("{error}"));
        libraries.map_err(|errors| self.without_folder(&errors.to_string()))
    }

    fn without_folder(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.path("").display()).replace("//", "/"), "")
    }
}

const KERNELS: &str = "[package.metadata.criterion-torch]\nkernels = \"src/kernels\"\n";

#[test]
fn a_crate_says_what_it_brings_and_has_the_name_that_the_package_gives_it() {
    let place = TestPackages::new(
        "[dependencies]\nfast = { path = \"../my-fast-kernels\", package = \"my-fast-kernels\" }\n\
         plain = { path = \"../plain\" }\n\
         [dev-dependencies]\nof-tests = { path = \"../of-tests\" }\n\
         [build-dependencies]\nof-build = { path = \"../of-build\" }\n",
        &[
            ("my-fast-kernels", &format!("{KERNELS}recipes = \"src/more/recipes\"\n")),
            ("plain", "[dependencies]\nindirect = { path = \"../indirect\" }\n"),
            ("indirect", KERNELS),
            ("of-tests", KERNELS),
            ("of-build", KERNELS),
        ],
    );
    for folder in ["my-fast-kernels", "of-tests", "of-build", "indirect"] {
        place.write(&format!("{folder}/src/kernels/mod.rs"), "");
    }
    place.write("my-fast-kernels/src/more/recipes/mod.rs", "");
    let library = |package: &str, brings, folder: &str, module: &str| Library {
        package: package.to_owned(),
        manifest: place.path(&format!("{package}/Cargo.toml")),
        brings,
        folder: place.path(&format!("{package}/{folder}")),
        module: module.to_owned(),
    };
    let expected = [
        library("my-fast-kernels", Brings::Kernels, "src/kernels", "::fast::kernels"),
        library("my-fast-kernels", Brings::Recipes, "src/more/recipes", "::fast::more::recipes"),
        library("of-tests", Brings::Kernels, "src/kernels", "::of_tests::kernels"),
    ];
    assert_eq!(place.libraries().expect("all is right"), expected);
    let manifests = ["mine", "criterion-torch", "my-fast-kernels", "plain", "of-tests"];
    let mut watched = place.ask().manifests();
    watched[1..].sort();
    let mut expected = manifests.map(|it| place.path(&format!("{it}/Cargo.toml")));
    expected[1..].sort();
    // Cargo names a crate beside the package by the way to it.
    let real = |path: &PathBuf| path.canonicalize().expect("it is there");
    watched[1..].sort_by_key(real);
    assert_eq!(watched.iter().map(real).collect::<Vec<_>>(), expected);
}

#[test]
fn a_package_without_other_dependencies_asks_no_more_than_that() {
    let place = TestPackages::new(
        "[build-dependencies]\nof-build = { path = \"../of-build\" }\n",
        &[("of-build", KERNELS)],
    );
    // There is no lock file, without which the whole answer would be refused.
    assert_eq!(place.ask().libraries(), Ok(Ok(Vec::new())));
    let other =
        TestPackages::new("[dependencies]\nplain = { path = \"../plain\" }\n", &[("plain", "")]);
    let error = other.ask().libraries().expect_err("there is no lock file");
    assert!(error.starts_with("`cargo metadata --frozen`: ") && error.contains("lock"), "{error}");
    let manifest = std::fs::read_to_string(other.path("mine/Cargo.toml")).expect("readable");
    other.write("mine/Cargo.toml", manifest.split("[target").next().expect("the beginning"));
    assert_eq!(other.ask().libraries(), Ok(Ok(Vec::new())), "it has no benchmarks");
}

#[test]
fn a_wrong_table_is_an_error_of_its_manifest() {
    for (said, expected) in [
        (
            "kernels = \"src/kernls\"",
            "my-lib/Cargo.toml: package.metadata.criterion-torch.kernels: there is no folder my-lib/src/kernls; make it, \
             or correct the path",
        ),
        (
            "kernel = \"src/kernels\"",
            "my-lib/Cargo.toml: package.metadata.criterion-torch.kernel: unknown key; did you mean `kernels`?",
        ),
        (
            "patterns = \"src/kernels\"",
            "my-lib/Cargo.toml: package.metadata.criterion-torch.patterns: unknown key; the keys are kernels, recipes, \
             models",
        ),
        (
            "kernels = [\"src/kernels\"]",
            "my-lib/Cargo.toml: package.metadata.criterion-torch.kernels: `[\"src/kernels\"]` is no text; name a folder \
             inside the one of the library's sources, such as `src/kernels`",
        ),
        (
            "kernels = \"benches/kernels\"",
            "my-lib/Cargo.toml: package.metadata.criterion-torch.kernels: `benches/kernels` is not inside my-lib/src; \
             name a folder inside the one of the library's sources, such as `src/kernels`",
        ),
        (
            "kernels = \"src\"",
            "my-lib/Cargo.toml: package.metadata.criterion-torch.kernels: `src` is not inside my-lib/src; name a folder \
             inside the one of the library's sources, such as `src/kernels`",
        ),
        (
            "kernels = \"src/../src/kernels\"",
            "my-lib/Cargo.toml: package.metadata.criterion-torch.kernels: `src/../src/kernels` is not inside my-lib/src; \
             name a folder inside the one of the library's sources, such as `src/kernels`",
        ),
    ] {
        let table = format!("[package.metadata.criterion-torch]\n{said}\n");
        let place = TestPackages::new(
            "[dependencies]\nmy-lib = { path = \"../my-lib\" }\n",
            &[("my-lib", &table)],
        );
        place.write("my-lib/src/kernels/mod.rs", "");
        assert_eq!(place.libraries().expect_err(said), expected);
    }
    let place = TestPackages::new(
        "[dependencies]\nmy-lib = { path = \"../my-lib\" }\n",
        &[("my-lib", "[package.metadata]\ncriterion-torch = \"src/kernels\"\n")],
    );
    let error = place.libraries().expect_err("no table");
    assert!(
        error.starts_with(
            "my-lib/Cargo.toml: package.metadata.criterion-torch: is no table; write `["
        ),
        "{error}"
    );
}

const KERNEL: &str = "pub struct ProblemSize;\npub fn run_benchmark(_: &ProblemSize) -> Result<Tensor, Refusal> {}\n";

/// The config of `mine` that says nothing but `rest`.
fn read(place: &TestPackages, rest: &str) -> Result<Vec<String>, String> {
    let libraries = place.libraries()?;
    let folder = place.path("mine");
    let built = Package { folder: &folder, libraries: &libraries };
    let text = format!("benchmark_mode: kernels\n{rest}");
    let config = Config::parse_for(&place.path("mine/configs/kernels/my.yml"), &text, built);
    let plan = config.and_then(|config| expand(&[config]));
    let plan = plan.map_err(|errors| place.without_folder(&errors.to_string()))?;
    let file = |case: &plan::Case| case.work.kernel().expect("a kernel's").file.clone();
    Ok(plan.cases().map(|case| format!("{} {}", case.id, file(case))).collect())
}

#[test]
fn its_kernels_are_measured_beside_those_of_the_package() {
    let place = TestPackages::new(
        "[dependencies]\nmy-lib = { path = \"../my-lib\" }\n",
        &[("my-lib", KERNELS)],
    );
    place.write("mine/benches/kernels/own.rs", KERNEL);
    // The modules' declarations are no kernels.
    place.write("my-lib/src/kernels/mod.rs", "pub mod saxpy;\npub mod stencil;\n");
    place.write("my-lib/src/kernels/saxpy.rs", KERNEL);
    place.write("my-lib/src/kernels/stencil.rs", "pub mod kernel;\npub mod threaded;\n");
    place.write("my-lib/src/kernels/stencil/kernel.rs", KERNEL);
    let threaded = KERNEL.replace("pub struct", "use super::kernel::ProblemSize; //");
    place.write("my-lib/src/kernels/stencil/threaded.rs", &threaded);
    let of_library = [
        "kernels/my/saxpy/cpu/kernel/f32-default my-lib/src/kernels/saxpy.rs",
        "kernels/my/stencil/cpu/kernel/f32-default my-lib/src/kernels/stencil/kernel.rs",
        "kernels/my/stencil/cpu/threaded/f32-default my-lib/src/kernels/stencil/threaded.rs",
    ];
    let own = "kernels/my/own/cpu/kernel/f32-default benches/kernels/own.rs";
    assert_eq!(read(&place, "").expect("all is right"), [&[own][..], &of_library].concat());
    let named = "kernel_paths: [benches/kernels]\n";
    assert_eq!(read(&place, named).expect("all is right"), [own], "a config can leave them out");

    place.write("my-lib/src/kernels/fast-saxpy.rs", KERNEL);
    assert_eq!(
        read(&place, "").expect_err("no module"),
        "my-lib/src/kernels/fast-saxpy.rs: `fast-saxpy` cannot be the name of a module of Rust; rename it with letters, \
         digits and `_`"
    );
}

#[test]
fn two_of_one_name_are_an_error_that_names_both_and_their_crates() {
    let place = TestPackages::new(
        "[dependencies]\none = { path = \"../one\" }\ntwo = { path = \"../two\" }\n",
        &[("one", KERNELS), ("two", KERNELS)],
    );
    for file in ["one/src/kernels/saxpy.rs", "two/src/kernels/saxpy.rs"] {
        place.write(file, KERNEL);
    }
    let remedy =
        "rename one of the two, or name in `kernel_paths` of a config the folders to search";
    assert_eq!(
        read(&place, "").expect_err("one name"),
        format!(
            "two/src/kernels/saxpy.rs: the kernel `saxpy` of crate `two` is in one/src/kernels/saxpy.rs of crate `one` \
             already; {remedy}"
        )
    );
    std::fs::remove_file(place.path("two/src/kernels/saxpy.rs")).expect("removed");
    place.write("mine/benches/kernels/Saxpy.rs", KERNEL);
    assert_eq!(
        read(&place, "").expect_err("one name"),
        format!(
            "one/src/kernels/saxpy.rs: the kernel `saxpy` of crate `one` is in mine/benches/kernels/Saxpy.rs already; \
             {remedy}"
        )
    );
}
