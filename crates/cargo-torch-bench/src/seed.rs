//! Dependencies that are built in one worktree, taken over into the next: their C++ takes minutes.
//!
//! Copied is what comes from registries and git, and nothing of the workspace. Cargo itself decides
//! what of it is of use: names hold a hash of version, features, profile and compiler, and beside each
//! lies what it was built with, variables included. Paths that a build script has left are in terms of
//! `root-output`, and cargo puts the new ones in their place. One folder only is taken from: a crate
//! fits those that it was built with.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::{Error, Result};
use crate::partial::{self, Partial};

/// What `cargo bench` calls its profile's folder.
const RELEASE: &str = "release";
/// Each unit has a folder in here, made when it is whole.
const FINGERPRINTS: &str = ".fingerprint";
/// Harnesses take a folder with this file for cargo's.
const TAG: &str = "CACHEDIR.TAG";

/// Fills the `target` of the worktree `place`, in which nothing was built yet, from that of the one
/// beside it that was built last.
pub fn take_over(place: &Path) -> Result<()> {
    let target = place.join("target");
    sweep(&target)?;
    if target.join(RELEASE).exists() {
        return Ok(());
    }
    let Some(from) = newest_beside(place)? else { return Ok(()) };
    let Some(_lock) = lock(&from.join(RELEASE)) else { return Ok(()) };
    let unreadable = |error| Error::io("copy", &from, &error);
    let units = units(&from, &foreign(&place.join("Cargo.lock"))?).map_err(unreadable)?;
    if units.is_empty() {
        return Ok(());
    }
    eprintln!("taking over the dependencies that are built in {}", from.display());
    fs::create_dir_all(&target).map_err(|error| Error::io("create", &target, &error))?;
    let partial = Partial::beside(&target.join(RELEASE))?;
    let wanted = |name: &OsStr| unit(name).is_some_and(|unit| units.contains(unit));
    for folder in [FINGERPRINTS, "build", "deps"] {
        let from = from.join(RELEASE).join(folder);
        copy(&from, &partial.dir().join(folder), &wanted).map_err(unreadable)?;
    }
    copy(&from, &target, &|name| name == TAG).map_err(unreadable)?;
    partial.move_to(&target.join(RELEASE))?;
    Ok(())
}

/// What cargo holds while it builds, by hand of somebody perhaps: then nothing in there is whole.
fn lock(release: &Path) -> Option<File> {
    let path = release.join(".cargo-lock");
    let why = match File::open(&path).map(|file| file.try_lock_shared().map(|()| file)) {
        Ok(Ok(file)) => return Some(file),
        Ok(Err(why)) => why.to_string(),
        Err(why) => why.to_string(),
    };
    eprintln!("note: no dependencies are taken over: cannot lock {}: {why}", path.display());
    None
}

/// What was being copied when somebody was killed.
fn sweep(target: &Path) -> Result<()> {
    for path in inside(target).map_err(|error| Error::io("read", target, &error))? {
        if partial::is_leftover(&path) {
            partial::remove(&path)?;
        }
    }
    Ok(())
}

/// The `target` of the worktree beside `place` in which cargo was last.
fn newest_beside(place: &Path) -> Result<Option<PathBuf>> {
    let folder = place.parent().unwrap_or(place);
    let places = inside(folder).map_err(|error| Error::io("read", folder, &error))?;
    let targets = places.iter().map(|place| place.join("target"));
    let built = |target: PathBuf| Some((modified(&target.join(RELEASE).join("deps"))?, target));
    Ok(targets.filter_map(built).max().map(|(_, target)| target))
}

/// None where there is no such folder.
fn modified(folder: &Path) -> Option<SystemTime> {
    fs::metadata(folder).and_then(|metadata| metadata.modified()).ok()
}

/// The packages of a Cargo.lock whose sources cannot differ from one worktree to another.
fn foreign(lock: &Path) -> Result<BTreeSet<String>> {
    let text = match fs::read_to_string(lock) {
        // Not every commit has one.
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|error| Error::io("read", lock, &error))?,
    };
    let (mut foreign, mut own) = (BTreeSet::new(), BTreeSet::new());
    for package in text.split("[[package]]").skip(1) {
        let value = |key| package.lines().find_map(|line| line.strip_prefix(key));
        let name = value("name = ").unwrap_or_default().trim_matches('"').to_owned();
        let kind = if value("source = ").is_some() { &mut foreign } else { &mut own };
        kind.insert(name);
    }
    Ok(&foreign - &own)
}

/// The hashes of what was built of `packages` in a folder of cargo's.
fn units(target: &Path, packages: &BTreeSet<String>) -> io::Result<BTreeSet<String>> {
    let mut units = BTreeSet::new();
    for path in inside(&target.join(RELEASE).join(FINGERPRINTS))? {
        let Some(name) = path.file_name().and_then(OsStr::to_str) else { continue };
        if let Some((package, unit)) = name.rsplit_once('-')
            && packages.contains(package)
        {
            units.insert(unit.to_owned());
        }
    }
    Ok(units)
}

/// The hash in the name of a file or folder of cargo's: `libserde-d71eaaee5bcf4f6b.rlib`.
fn unit(name: &OsStr) -> Option<&str> {
    let (_, rest) = name.to_str()?.rsplit_once('-')?;
    rest.split('.').next()
}

/// Copies what `wanted` wants of a folder, whole. With its times: cargo goes by them.
fn copy(from: &Path, to: &Path, wanted: &dyn Fn(&OsStr) -> bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for path in inside(from)? {
        let Some(name) = path.file_name().filter(|name| wanted(name)) else { continue };
        let place = to.join(name);
        if path.is_dir() {
            copy(&path, &place, &|_| true)?;
        } else {
            fs::copy(&path, &place)?;
            File::open(&place)?.set_modified(fs::metadata(&path)?.modified()?)?;
        }
    }
    Ok(())
}

/// What lies in a folder that may not be there.
fn inside(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LOCK: &str = "\
version = 4

[[package]]
name = \"own\"
version = \"0.1.0\"
dependencies = [
 \"serde\",
]

[[package]]
name = \"serde\"
version = \"1.0.0\"
source = \"registry+https://example.org\"

[[package]]
name = \"twice\"
version = \"1.0.0\"
source = \"registry+https://example.org\"

[[package]]
name = \"twice\"
version = \"2.0.0\"
";
    const SERDE: &str = "0123456789abcdef";
    const OWN: &str = "123456789abcdef0";

    fn files(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for path in inside(folder).expect("list a scratch folder") {
            let name = path.file_name().expect("it has a name").display().to_string();
            let below = if path.is_dir() { files(&path) } else { Vec::new() };
            found.extend(below.iter().map(|file| format!("{name}/{file}")));
            found.extend(path.is_file().then_some(name));
        }
        found.sort();
        found
    }

    /// A worktree in which `own` and `serde` were built at a time.
    fn built(place: &Path, at: SystemTime) {
        let target = place.join("target");
        for file in [
            "CACHEDIR.TAG".to_owned(),
            "release/.cargo-lock".to_owned(),
            format!("release/.fingerprint/own-{OWN}/lib-own"),
            format!("release/.fingerprint/serde-{SERDE}/lib-serde"),
            format!("release/.fingerprint/twice-{OWN}/lib-twice"),
            format!("release/build/serde-{SERDE}/out/deep/private.rs"),
            format!("release/deps/libown-{OWN}.rlib"),
            format!("release/deps/libserde-{SERDE}.rlib"),
            format!("release/incremental/own-{SERDE}/object.o"),
        ] {
            let path = target.join(file);
            fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("folder");
            fs::write(&path, place.display().to_string()).expect("write a scratch file");
            let file = File::options().append(true).open(&path).expect("open it again");
            file.set_modified(at).expect("set its time");
        }
        let deps = File::open(target.join("release/deps")).expect("open a folder");
        deps.set_modified(at).expect("set its time");
    }

    #[test]
    fn the_newest_build_of_others_code_is_taken_over() {
        let root = std::env::temp_dir().join(format!("xtask-seed-{}", std::process::id()));
        let place = |name: &str| root.join(name);
        let before = |days: u64| SystemTime::now() - Duration::from_secs(86_400 * days);
        for (name, days) in [("old", 3), ("newest", 1), ("older", 2)] {
            built(&place(name), before(days));
        }
        let new = place("new");
        fs::create_dir_all(&new).expect("make a worktree");
        take_over(&new).expect("a commit without Cargo.lock");
        assert_eq!(files(&new), Vec::<String>::new());

        fs::write(new.join("Cargo.lock"), LOCK).expect("write a Cargo.lock");
        let leftover = new.join(format!("target/release.partial-{}", u32::MAX));
        fs::create_dir_all(leftover.join("deps")).expect("leave a leftover");
        fs::write(leftover.join("deps/half"), "").expect("leave a leftover");
        let lock = File::open(place("newest/target/release/.cargo-lock")).expect("open the lock");
        lock.lock().expect("build there");
        take_over(&new).expect("not now");
        assert_eq!(files(&new), ["Cargo.lock"]);

        lock.unlock().expect("end building there");
        take_over(&new).expect("take over");
        let taken = [
            "CACHEDIR.TAG".to_owned(),
            format!("release/.fingerprint/serde-{SERDE}/lib-serde"),
            format!("release/build/serde-{SERDE}/out/deep/private.rs"),
            format!("release/deps/libserde-{SERDE}.rlib"),
        ];
        assert_eq!(files(&new.join("target")), taken);
        let library = format!("target/release/deps/libserde-{SERDE}.rlib");
        let text = fs::read_to_string(new.join(&library)).expect("read what was taken");
        assert_eq!(text, place("newest").display().to_string());
        let times = ["new", "newest"].map(|name| modified(&place(name).join(&library)));
        assert_eq!(times[0], times[1]);

        built(&place("later"), before(0));
        take_over(&new).expect("it has a build of its own");
        assert_eq!(fs::read_to_string(new.join(&library)).expect("read it again"), text);
        fs::remove_dir_all(&root).expect("remove the scratch folder");
    }
}
