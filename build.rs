//! From configs to the sources of the bench targets, and the link flags of libtorch.

use std::env;
use std::process::Command;

fn main() {
    plan::build::main(&[
        plan::Mode::Inference,
        plan::Mode::Fusion,
        plan::Mode::Operators,
        plan::Mode::Calibration,
        plan::Mode::Kernels,
    ]);
    link();
    println!("cargo::rustc-env=CRITERION_TORCH_RUSTC={}", rustc_version());
}

/// tch's own flags reach only its own binaries, so they are repeated here: the path where
/// libtorch is found at run time, and CUDA, which no symbol asks for and the linker would drop.
fn link() {
    let native = |name: &str| env::var(format!("DEP_CRITERION_TORCH_NATIVE_{name}"));
    let Ok(lib) = native("LIBTORCH_LIB") else {
        println!("cargo::error=libtorch was not found; run `cargo xtask setup`");
        return;
    };
    println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
    if native("CUDA").as_deref() == Ok("linked") {
        println!("cargo::rustc-link-arg=-Wl,--no-as-needed,-ltorch_cuda,-ltorch,--as-needed");
    }
}

/// Goes into every record: the compiler is a circumstance of a measurement.
fn rustc_version() -> String {
    let rustc = env::var_os("RUSTC").expect("cargo sets it");
    let output = Command::new(rustc).arg("--version").output();
    let text = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    text.map_or_else(
        || "unknown".to_owned(),
        |text| String::from_utf8_lossy(&text).trim().to_owned(),
    )
}
