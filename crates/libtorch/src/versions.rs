//! The releases that this project is built with and compared with.
//!
//! `cargo-torch-bench`'s test `versions` compares the root `Cargo.toml`, `requirements` and the texts that name a release
//! with these constants. The book's page "Another libtorch" says how to change them.

/// The bindings, exactly. Each release of tch is generated against one release of libtorch.
pub const TCH: &str = "0.24.0";

/// The one release of libtorch, and of torch for Python, that [`TCH`] is generated against.
pub const VERSION: &str = "2.11.0";

/// The C++ standard in which its headers are compiled.
pub const CXX_STANDARD: &str = "c++17";

/// The torchao whose numbers and times ours are compared with; it runs on torch [`VERSION`].
pub const TORCHAO: &str = "0.17.0";

/// The Triton that torch [`VERSION`] wants.
pub const TRITON: &str = "3.6.0";
