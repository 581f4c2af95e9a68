//! The name of this project's command, for messages: `cargo torch-bench`, or in this project's own
//! repository its alias `cargo xtask`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The alias in this project's repository.
pub const ALIAS: &str = "cargo xtask";
/// The command as it is installed.
pub const INSTALLED: &str = "cargo torch-bench";

static NAME: OnceLock<&str> = OnceLock::new();

/// For the command itself, which knows how it was called. The first call counts.
pub fn called(name: &'static str) {
    NAME.get_or_init(|| name);
}

/// How it was called; in other programs, how it can be called where the user is.
pub fn name() -> &'static str {
    NAME.get_or_init(|| {
        // Cargo starts programs in folders of packages; the shell says where the user is.
        let shell = std::env::var_os("PWD").map(PathBuf::from);
        shell.or_else(|| std::env::current_dir().ok()).map_or(INSTALLED, |here| name_in(&here))
    })
}

fn name_in(here: &Path) -> &'static str {
    let is_own = |folder: &Path| folder.join("crates/cargo-torch-bench/Cargo.toml").is_file();
    if here.ancestors().any(is_own) { ALIAS } else { INSTALLED }
}

/// One of its commands: `cargo xtask setup --python`.
pub fn with_arguments(arguments: &str) -> String {
    format!("{} {arguments}", name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alias_is_known_in_this_repository_alone() {
        assert_eq!(name_in(Path::new(env!("CARGO_MANIFEST_DIR"))), ALIAS);
        assert_eq!(name_in(&std::env::temp_dir()), INSTALLED);
        called(INSTALLED);
        called(ALIAS);
        assert_eq!(with_arguments("setup"), "cargo torch-bench setup");
    }
}
