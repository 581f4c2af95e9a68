//! Looks for libtorch before anything that needs it is compiled. Without it torch-sys would fail, too, after minutes, and
//! with less to say.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = libtorch::find::of_build() {
        println!("cargo::error={error}");
    }
}
