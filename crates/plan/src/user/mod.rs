//! Recipes and models that a package brings, each in a file of its own: `benches/recipes/ternary.rs`.
//!
//! A build script knows their spelling and their numbers. What they compute, and what they cost, is known
//! to the bench target that they are compiled into.

pub(crate) mod code;
mod file;

use std::path::{Path, PathBuf};

pub(crate) use file::{UserFile, UserKind};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::hash;
use crate::kernel::discovery::{entries, is_helper};
use crate::library::Library;
use crate::words::{ModelKind, Recipe, Spelling, UnknownWord, UserWord, closest};

/// The recipes and models that configs of a package can name, beside those that are built in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UserFiles {
    pub(crate) recipes: Vec<UserFile>,
    pub(crate) models: Vec<UserFile>,
}

impl UserFiles {
    /// The files of `package` and of `libraries`, and every mistake in them.
    pub(crate) fn find(package: &Path, libraries: &[Library]) -> (Self, Vec<Diagnostic>) {
        let mut errors = Vec::new();
        let mut find = |kind: UserKind| {
            let folder = package.join(kind.folder());
            let mut files = Vec::new();
            if folder.exists() {
                files = read(kind, &folder, None, &mut errors);
            }
            for library in libraries.iter().filter(|library| library.brings == kind.brings()) {
                files.extend(read(kind, &library.folder, Some(library), &mut errors));
            }
            distinct(files, &built_in(kind), &mut errors)
        };
        let found = Self { recipes: find(UserKind::Recipe), models: find(UserKind::Model) };
        (found, errors)
    }

    /// Rust source with the modules of all recipes and models, and the lists of what makes them.
    ///
    /// # Errors
    /// When two packages spell one word.
    pub fn source<'f>(all: impl IntoIterator<Item = &'f Self>) -> Result<String, Diagnostics> {
        let mut errors = Vec::new();
        let (mut recipes, mut models): (Vec<UserFile>, Vec<UserFile>) = Default::default();
        for found in all {
            for (known, files) in [(&mut recipes, &found.recipes), (&mut models, &found.models)] {
                let is_new = |file: &&UserFile| known.iter().all(|it| it.path != file.path);
                let new: Vec<UserFile> = files.iter().filter(is_new).cloned().collect();
                known.extend(new);
            }
        }
        let recipes = distinct(recipes, &[], &mut errors);
        let models = distinct(models, &[], &mut errors);
        if errors.is_empty() {
            Ok(code::source(&Self { recipes, models }))
        } else {
            Err(Diagnostics(errors))
        }
    }

    /// The paths at which a change makes another suite: the files, and the folders that they lie in.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files().flat_map(|file| std::iter::once(&*file.path).chain(file.path.parent()))
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &UserFile> {
        self.recipes.iter().chain(&self.models)
    }

    /// The recipe of this word, built in or not.
    pub(crate) fn recipe(&self, text: &str) -> Result<Recipe, UnknownWord> {
        text.parse().or_else(|unknown| match word(&self.recipes, text) {
            Some(word) => Ok(Recipe::User(word)),
            None if Recipe::grammar(text).is_some() => Err(unknown),
            None => Err(self::unknown(&self.recipes, &unknown, Recipe::spellings())),
        })
    }

    /// The model of this word, built in or not.
    pub(crate) fn model(&self, text: &str) -> Result<ModelKind, UnknownWord> {
        text.parse().or_else(|unknown| match word(&self.models, text) {
            Some(word) => Ok(ModelKind::User(word)),
            None => Err(self::unknown(&self.models, &unknown, &ModelKind::words())),
        })
    }

    /// `config`, the hash of a config, and those of the files that `words` are spelled in: which edit of
    /// them a case is of.
    pub(crate) fn hash(&self, config: String, words: &[UserWord]) -> String {
        let is_named = |file: &&UserFile| words.iter().any(|word| file.is_spelled(word.as_str()));
        let hashes: String = self.files().filter(is_named).map(|file| file.hash.as_str()).collect();
        if hashes.is_empty() { config } else { hash::hex(config + &hashes) }
    }
}

/// The files of a folder, which may be that of a library.
fn read(
    kind: UserKind,
    folder: &Path,
    library: Option<&Library>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<UserFile> {
    let entries = match entries(folder) {
        Ok(entries) => entries,
        Err(error) => {
            let (message, remedy) = (format!("cannot be read: {error}"), "make it a folder");
            errors.push(Diagnostic::whole_file(folder, message, remedy));
            return Vec::new();
        }
    };
    // Folders are the modules of these files.
    let is_source = |path: &PathBuf| {
        path.extension().is_some_and(|it| it == "rs")
            && path.file_stem().is_some_and(|stem| stem != "mod")
            && !path.is_dir()
            && !is_helper(path)
    };
    let mut files = Vec::new();
    for path in entries.into_iter().filter(is_source) {
        if path.to_str().is_none() {
            let message = "its path is not UTF-8".to_owned();
            errors.push(Diagnostic::whole_file(&path, message, "rename it, or the folders above"));
            continue;
        }
        match UserFile::read(kind, &path, library) {
            Ok(file) => files.push(file),
            Err(found) => errors.extend(found.0),
        }
    }
    files
}

/// The words of the kind that are built in: a family of recipes by its first part, as its numbers follow
/// rules of their own.
fn built_in(kind: UserKind) -> Vec<Spelling> {
    let spelling = |word: &str| Spelling::parse(word).expect("a built-in word has the form of one");
    match kind {
        UserKind::Recipe => {
            let families = Recipe::spellings().iter().filter_map(|word| word.split('-').next());
            families.map(spelling).collect()
        }
        UserKind::Model => {
            let words = ModelKind::words();
            words.iter().map(String::as_str).chain([ModelKind::LN_LINEAR]).map(spelling).collect()
        }
    }
}

/// The files that can be told apart by their spellings.
fn distinct(
    files: Vec<UserFile>,
    built_in: &[Spelling],
    errors: &mut Vec<Diagnostic>,
) -> Vec<UserFile> {
    let mut kept: Vec<UserFile> = Vec::new();
    for file in files {
        let (text, what) = (file.spelling.as_str(), file.kind.what());
        let is_built_in = |word: &&Spelling| match file.kind {
            UserKind::Recipe => file.spelling.is_of_family(word),
            UserKind::Model => file.spelling.overlaps(word),
        };
        let other = kept.iter().find(|it| it.spelling.overlaps(&file.spelling));
        if let Some(word) = built_in.iter().find(is_built_in) {
            let message =
                format!("its spelling `{text}` is taken: `{}` is a built-in {what}", word.as_str());
            errors.push(file.error(message, "choose another word for SPELLING"));
        } else if let Some(other) = other {
            let message = format!(
                "its spelling `{text}` can mean the same {what} as `{}` of {}",
                other.spelling.as_str(),
                other.path.display()
            );
            errors.push(file.error(message, "choose another word for one of the two"));
        } else {
            kept.push(file);
        }
    }
    kept
}

/// The word of a file.
fn word(files: &[UserFile], text: &str) -> Option<UserWord> {
    files.iter().any(|file| file.is_spelled(text)).then(|| UserWord::new(text)).flatten()
}

/// `unknown`, with a remedy that knows the words of `files`, too.
fn unknown<W: AsRef<str>>(
    files: &[UserFile],
    unknown: &UnknownWord,
    built_in: &[W],
) -> UnknownWord {
    let UnknownWord { what, found, .. } = unknown;
    if let Some(file) = files.iter().find(|file| file.spelling.is_meant_by(found)) {
        return UnknownWord { remedy: file.grammar(), ..unknown.clone() };
    }
    let built_in = || built_in.iter().map(AsRef::as_ref);
    let filled: Vec<String> = files.iter().map(|file| file.spelling.filled(found)).collect();
    let near = closest(found, built_in().chain(filled.iter().map(String::as_str)));
    let own = files.iter().map(|file| file.spelling.as_str());
    UnknownWord::new(
        what,
        found,
        near.map_or_else(|| built_in().chain(own).collect(), |near| vec![near]),
    )
}
