//! Rust source that turns the files of recipes and models into modules, and lists what makes them.
//!
//! It names everything by `generated::…`, the library's part of it, which the bench target imports.

use std::fmt::Write as _;

use super::file::Parameter;
use super::{UserFile, UserFiles, UserKind};

/// The modules, what makes a recipe or a model of the numbers of its word, and the lists of them.
pub(crate) fn source(files: &UserFiles) -> String {
    let mut text = String::from("\n");
    list(&mut text, UserKind::Recipe, &files.recipes);
    list(&mut text, UserKind::Model, &files.models);
    text
}

fn list(text: &mut String, kind: UserKind, files: &[UserFile]) {
    let (module, list, of_trait) = match kind {
        UserKind::Recipe => ("recipe", "RECIPES", kind.trait_name()),
        UserKind::Model => ("model", "MODELS", kind.trait_name()),
    };
    let mut entries = String::new();
    for (index, file) in files.iter().enumerate() {
        let path = file.path.to_str().expect("the search refuses other paths");
        let module = format!("{module}_{index}");
        let numbers = if file.fields.is_empty() { "_numbers" } else { "numbers" };
        let field = |(place, field): (usize, &Parameter)| {
            format!("\n        {}: generated::number(numbers, {place})?,", field.ident)
        };
        let mut fields: String = file.fields.iter().enumerate().map(field).collect();
        if !fields.is_empty() {
            fields += "\n    ";
        }
        let name = kind.struct_name();
        write!(
            text,
            "#[path = {path:?}]\nmod {module};\n\n\
             fn make_{module}(\n    {numbers}: &[u64],\n\
             ) -> Result<Box<dyn generated::{of_trait}>, generated::Refusal> {{\n    \
             Ok(Box::new({module}::{name} {{{fields}}}))\n}}\n\n"
        )
        .expect("writing to a string does not fail");
        writeln!(
            entries,
            "    generated::Own {{ spelling: {module}::SPELLING, make: make_{module} }},"
        )
        .expect("writing to a string does not fail");
    }
    write!(
        text,
        "const {list}: &[generated::Own<dyn generated::{of_trait}>] = &[\n{entries}];\n\n"
    )
    .expect("writing to a string does not fail");
}
