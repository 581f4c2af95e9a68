//! A folder that follows another one: what has not changed keeps its time, so that cargo does not build it again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The profile of the kernels, whose code takes minutes to compile as the repository's own tests need it.
pub const KERNELS: &str = "profile.dev.package.criterion-torch-kernels";
/// With these it takes seconds: a copy of them is there to be built and called.
pub const AT_ONCE: [&str; 3] = ["opt-level=0", "overflow-checks=false", "debug-assertions=false"];

/// Takes over what differs in the files of these names, and removes all other files, with the folders that had nothing else.
pub fn follow(from: &Path, to: &Path, names: &BTreeSet<PathBuf>) {
    for gone in files(to).difference(names) {
        fs::remove_file(to.join(gone)).expect("writable");
    }
    remove_empty_folders(to);
    for name in names {
        let (from, to) = (from.join(name), to.join(name));
        let text = fs::read(&from).expect("readable");
        if fs::read(&to).ok().as_ref() != Some(&text) {
            fs::create_dir_all(to.parent().expect("it is in the folder")).expect("writable");
            // Not a copy, which could keep the time as well.
            fs::write(to, text).expect("writable");
        }
    }
}

fn remove_empty_folders(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            remove_empty_folders(&path);
            let is_empty = fs::read_dir(&path).expect("readable").next().is_none();
            if is_empty {
                fs::remove_dir(&path).expect("writable");
            }
        }
    }
}

/// The files of a folder, by their names inside of it.
pub fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    collect(folder, folder, &mut found);
    found
}

fn collect(folder: &Path, inside: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(inside).into_iter().flatten() {
        let path = entry.expect("readable").path();
        match path.is_dir() {
            true => collect(folder, &path, found),
            false => drop(found.insert(path.strip_prefix(folder).expect("in it").to_owned())),
        }
    }
}
