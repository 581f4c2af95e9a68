use super::*;

/// A folder in which a libtorch, a workspace and a user's cache can lie.
struct TestFolder(tempfile::TempDir);

impl TestFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.0.path().join(inside)
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// A whole libtorch of this version, whose libc10 holds this symbol.
    fn libtorch(&self, folder: &str, version: &str, symbol: &str) -> PathBuf {
        for (file, text) in [
            ("build-version", version),
            (crate::cpu_library(), "elf"),
            (crate::TORCH_HEADER, "// header"),
            ("lib/libc10.so", symbol),
        ] {
            self.write(&format!("{folder}/{file}"), text);
        }
        self.path(folder)
    }

    /// Searches with these variables, and with the cache and the build script's output in this folder. The current
    /// folder is `/`, and the command is the users'.
    fn find(&self, variables: &[(&str, &str)]) -> Result<Libtorch, String> {
        let own = |name: &str| match name {
            "CRITERION_TORCH_CACHE" => Some(self.path("cache").into()),
            "OUT_DIR" => Some(self.path("workspace/target/debug/build/x/out").into()),
            _ => None,
        };
        let given = |name: &str| {
            let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
            Some(value.replace('/', &format!("{}/", self.0.path().display())).into())
        };
        let here = self.0.path().display().to_string();
        find(|name| given(name).or_else(|| own(name)))
            .map_err(|error| error.replace(&here, "").replace(command::ALIAS, command::INSTALLED))
    }
}

const NEW: &str = "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIc";
const OLD: &str = "_ZN3c105ErrorC1ENS_14SourceLocationESs";

#[test]
fn the_folder_of_the_variable_is_found() {
    let place = TestFolder::new();
    let root = place.libtorch("libtorch", "2.11.0+cpu", NEW);
    let found = place.find(&[("LIBTORCH", "/libtorch")]).expect("it is whole");
    assert_eq!((&found.root, found.lib()), (&root, root.join("lib")));
    assert_eq!(found.watched(), root.join("lib"));
    let rpath = format!("-Wl,-rpath,{}/lib", root.display());
    assert_eq!(found.link_arguments(), [rpath.as_str()]);

    place.write(&format!("libtorch/{}", crate::CUDA_LIBRARY), "elf");
    let with_cuda = place.find(&[("LIBTORCH", "/libtorch")]).expect("it is whole");
    let expected = [
        rpath,
        format!("-L{}/lib", root.display()),
        "-Wl,--no-as-needed,-ltorch_cuda,-ltorch,--as-needed".to_owned(),
    ];
    assert_eq!(with_cuda.link_arguments(), expected);
}

#[test]
fn each_refusal_names_the_place_and_the_command() {
    let place = TestFolder::new();
    place.libtorch("good", "2.11.0", NEW);
    place.libtorch("earlier", "2.10.0", NEW);
    place.libtorch("old-abi", "2.11.0", OLD);
    place.write("partial/build-version", "2.11.0");
    for (variables, expected) in [
        (
            &[][..],
            "LIBTORCH is not set, and torch-sys finds libtorch by it: run `cargo torch-bench setup`",
        ),
        (
            &[("LIBTORCH", "")],
            "LIBTORCH is not set, and torch-sys finds libtorch by it: run `cargo torch-bench setup`",
        ),
        (
            &[("LIBTORCH", "libtorch")],
            "LIBTORCH is `libtorch`, which build scripts would look for in folders of their own: set it to the whole \
             path, or in .cargo/config.toml with `relative = true`",
        ),
        (
            &[("LIBTORCH", "/nowhere")],
            "/nowhere is not a folder: LIBTORCH names it; run `cargo torch-bench setup`",
        ),
        (
            &[("LIBTORCH", "/partial")],
            "libtorch in /partial is incomplete: lib/libtorch_cpu.so is missing: LIBTORCH names it; run `cargo \
             torch-bench setup`",
        ),
        (
            &[("LIBTORCH", "/earlier")],
            "wrong libtorch version in /earlier: wanted 2.11.0, found 2.10.0: LIBTORCH names it; run `cargo \
             torch-bench setup`",
        ),
        (
            &[("LIBTORCH", "/old-abi")],
            "libtorch in /old-abi has the C++ ABI of before GCC 5 (_GLIBCXX_USE_CXX11_ABI=0), which tch does not link: \
             LIBTORCH names it; run `cargo torch-bench setup`",
        ),
        (
            &[("LIBTORCH", "/good"), ("LIBTORCH_CXX11_ABI", "0")],
            "LIBTORCH_CXX11_ABI is `0`, but /good has the new C++ ABI, as every libtorch 2.11.0 has: unset \
             LIBTORCH_CXX11_ABI",
        ),
        (
            &[("LIBTORCH", "/good"), ("LIBTORCH_USE_PYTORCH", "1"), ("LIBTORCH_LIB", "x")],
            "LIBTORCH_USE_PYTORCH, LIBTORCH_LIB set: torch-sys may link another libtorch than the one that LIBTORCH \
             names; unset LIBTORCH_USE_PYTORCH LIBTORCH_LIB, and set LIBTORCH to the folder of a libtorch 2.11.0",
        ),
    ] {
        assert_eq!(place.find(variables).expect_err("refused"), expected, "{variables:?}");
    }
}

#[test]
fn torch_sys_links_the_same_folder() {
    let place = TestFolder::new();
    let root = place.libtorch("libtorch", "2.11.0", NEW);
    let found = place.find(&[("LIBTORCH", "/libtorch")]).expect("it is whole");
    assert_eq!(found.refuse_another(&root.join("lib")), Ok(()));
    assert_eq!(found.refuse_another(&root.join("lib/../lib")), Ok(()));
    let error = found.refuse_another(Path::new("/usr/lib")).expect_err("another one");
    assert_eq!(
        error.replace(&place.0.path().display().to_string(), ""),
        "torch-sys links the libtorch in /usr/lib, and LIBTORCH is /libtorch: unset LIBTORCH_USE_PYTORCH, set LIBTORCH \
         also where /usr/lib has a libtorch, and `cargo clean -p torch-sys`"
    );
}

#[test]
fn one_that_is_there_already_is_named() {
    let place = TestFolder::new();
    let other = |variables: &[(&str, &str)]| {
        let error = place.find(variables).expect_err("refused");
        let (_, other) = error.split_once("setup`")?;
        other.strip_prefix("; ")?.split_once(" would").map(|(other, _)| other.to_owned())
    };
    place.libtorch("cache/torch-2.10.0-cpu/torch", "2.10.0", NEW);
    place.libtorch("cache/torch-2.11.0-gone/torch", "2.10.0", NEW);
    assert_eq!(other(&[]), None);
    place.libtorch("cache/torch-2.11.0-cpu/torch", "2.11.0+cpu", NEW);
    let cached = Some("LIBTORCH=/cache/torch-2.11.0-cpu/torch".to_owned());
    assert_eq!([other(&[]), other(&[("LIBTORCH", "/nowhere")])], [cached.clone(), cached]);
    place.write("workspace/Cargo.lock", "");
    place.libtorch("workspace/.libtorch", "2.11.0+cpu", NEW);
    assert_eq!(other(&[]), Some("LIBTORCH=/workspace/.libtorch".to_owned()));
}
