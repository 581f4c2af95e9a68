//! Compiles the C++ shim against the libtorch that torch-sys links.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const REMEDY: &str = "run `cargo torch-bench setup`";

fn main() {
    // An error printed this way fails the build as one readable line, without a panic trace.
    if let Err(message) = build() {
        println!("cargo::error={message}");
    }
}

fn build() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shim");
    let Some(libtorch) = libtorch::find::of_build()? else { return Ok(()) };
    let linked = env::var_os("DEP_TCH_LIBTORCH_LIB").map(PathBuf::from).ok_or_else(|| {
        format!("torch-sys did not say where libtorch is (DEP_TCH_LIBTORCH_LIB); {REMEDY}")
    })?;
    libtorch.refuse_another(&linked)?;
    let include = libtorch.root.join("include");
    let openmp = has_openmp(&include)?;
    compile(&include, openmp)?;
    // Link arguments reach only this package's own test programs; dependents repeat them.
    for argument in libtorch.link_arguments() {
        println!("cargo::rustc-link-arg={argument}");
    }
    if openmp {
        link_openmp(&libtorch.lib())?;
    }
    Ok(())
}

/// Whether libtorch's threads are those of OpenMP; else it has a pool of its own.
fn has_openmp(include: &Path) -> Result<bool, String> {
    let config = include.join("ATen/Config.h");
    let text = fs::read_to_string(&config)
        .map_err(|error| format!("cannot read {}: {error}; {REMEDY}", config.display()))?;
    Ok(text.lines().any(|line| line.trim_end() == "#define AT_PARALLEL_OPENMP 1"))
}

fn compile(include: &Path, openmp: bool) -> Result<(), String> {
    let mut shim = cc::Build::new();
    shim.cpp(true).std(libtorch::CXX_STANDARD).define("_GLIBCXX_USE_CXX11_ABI", "1").file(unit()?);
    // Thin calls of libtorch, which -O3 compiles a third longer.
    if env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        shim.opt_level(1);
    }
    // As system headers, so that only the shim's own warnings are shown.
    for dir in [include.to_owned(), include.join("torch/csrc/api/include")] {
        shim.flag("-isystem").flag(dir.as_os_str());
    }
    // GCC 12 sees an overflow in the atomics of libtorch's headers, where they are inlined.
    shim.flag_if_supported("-Wno-stringop-overflow");
    if openmp {
        shim.flag("-fopenmp");
        if shim.get_compiler().is_like_clang() {
            return Err("the C++ compiler is clang, whose OpenMP would bring other threads than \
                 libtorch's; set CXX to a GCC, such as `g++`"
                .to_owned());
        }
    }
    shim.try_compile("criterion_torch_native").map_err(|error| {
        format!("the C++ shim did not compile against {}: {error}", include.display())
    })
}

/// One file that includes all sources. libtorch's headers take fifteen seconds to read and all sources nine to compile.
fn unit() -> Result<PathBuf, String> {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or("cargo did not set OUT_DIR")?;
    let path = out.join("shim.cpp");
    let text: String =
        sources()?.iter().map(|it| format!("#include {:?}\n", it.display().to_string())).collect();
    fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

fn sources() -> Result<Vec<PathBuf>, String> {
    let unreadable = |error: io::Error| format!("cannot list crates/native/shim: {error}");
    let shim = env::current_dir().map_err(unreadable)?.join("shim");
    let mut sources = Vec::new();
    for entry in fs::read_dir(shim).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "cpp") {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}

/// Links the OpenMP that libtorch links, so that the program has one, with one set of threads: the
/// file beside libtorch, whose name can bear a hash, or else the system's.
fn link_openmp(lib: &Path) -> Result<(), String> {
    let unreadable = |error: io::Error| format!("cannot list {}: {error}", lib.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(lib).map_err(unreadable)? {
        names.push(entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    // GCC's runtime, and Intel's, which takes the same calls.
    let beside = |it: &&String| it.starts_with("libgomp") || it.starts_with("libiomp5");
    match names.iter().find(beside) {
        Some(name) => {
            println!("cargo::rustc-link-search=native={}", lib.display());
            println!("cargo::rustc-link-lib=dylib:+verbatim={name}");
        }
        None => println!("cargo::rustc-link-lib=dylib=gomp"),
    }
    Ok(())
}
