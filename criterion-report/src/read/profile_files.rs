//! Whether the files that a profile names are still those that it wrote.
//!
//! A case has one folder for them, whatever its results are saved as. So a later profile, of another baseline too,
//! replaces the files of an earlier one, whose record still names their paths.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path};

use plan::{Profile, ProfileFile};

use crate::read::file;

/// Whether a path of a record leads into the folder of the records.
pub fn is_inside(path: &str) -> bool {
    Path::new(path).components().all(|it| matches!(it, Component::Normal(_) | Component::CurDir))
}

/// Removes the files that are not the profile's own any more from it, and says why under `files` in `absent`.
pub(crate) fn check(records: &Path, profile: &mut Profile) {
    let mut lost: BTreeMap<String, Vec<String>> = BTreeMap::new();
    profile.files.retain(|file| {
        let state = is_own(records, file);
        if let Err(why) = &state {
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            lost.entry(why.clone()).or_default().push(name.to_owned());
        }
        state.is_ok()
    });
    let said = lost.into_iter().map(|(why, names)| format!("{why}: {}", names.join(", ")));
    let said: Vec<String> = said.collect();
    if !said.is_empty() {
        let reason = format!("{}; measure the case again with --profile", said.join("; "));
        profile.absent.insert("files".to_owned(), reason);
    }
}

fn is_own(records: &Path, of: &ProfileFile) -> Result<(), String> {
    if !is_inside(&of.path) {
        return Err("not in the folder of the records".to_owned());
    }
    let path = records.join(&of.path);
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "no longer there".to_owned(),
        _ => format!("cannot be read ({error})"),
    };
    let size = fs::metadata(&path).map_err(unreadable)?.len();
    // Most files of another profile have another size, and need not be read.
    if size == of.bytes && of.has(&file::read_all(&path).map_err(unreadable)?) {
        return Ok(());
    }
    Err("replaced by a later profile of the case".to_owned())
}

#[cfg(test)]
mod tests {
    use plan::ProfileFileKind;

    use super::*;

    #[test]
    fn only_the_files_of_the_profile_itself_remain() {
        let root = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(root.path().join("profiles")).expect("created");
        for (name, content) in
            [("own", "own"), ("same-size", "new"), ("larger", "other"), ("older", "abc")]
        {
            fs::write(root.path().join("profiles").join(name), content).expect("written");
        }
        fs::create_dir(root.path().join("profiles/folder")).expect("created");
        let size = fs::metadata(root.path().join("profiles/folder")).expect("there").len();
        let of = |path: &str| ProfileFile::new(ProfileFileKind::Trace, path.to_owned(), b"own");
        let files = vec![
            of("profiles/own"),
            of("profiles/same-size"),
            of("profiles/larger"),
            of("profiles/gone"),
            of("profiles/../profiles/own"),
            // A record of the time before checksums.
            ProfileFile { checksum: None, ..of("profiles/older") },
            ProfileFile { bytes: size, ..of("profiles/folder") },
        ];
        let mut profile = Profile { files, ..Profile::default() };
        check(root.path(), &mut profile);
        let left: Vec<&str> = profile.files.iter().map(|file| &*file.path).collect();
        assert_eq!(left, ["profiles/own", "profiles/older"]);
        assert_eq!(
            profile.absent["files"],
            "cannot be read (is a directory): folder; no longer there: gone; not in the folder of the \
             records: own; replaced by a later profile of the case: same-size, larger; measure the \
             case again with --profile"
        );
    }

    #[test]
    fn a_whole_profile_has_no_reason() {
        let root = tempfile::tempdir().expect("a temporary folder");
        fs::write(root.path().join("own"), "own").expect("written");
        let own = ProfileFile::new(ProfileFileKind::Trace, "own".to_owned(), b"own");
        let whole = Profile { files: vec![own], ..Profile::default() };
        let mut checked = whole.clone();
        check(root.path(), &mut checked);
        assert_eq!(checked, whole);
    }
}
