//! From a package with configs and kernels to the sources of its bench targets.

mod kernels;
mod modes;
mod package;
mod user_files;
