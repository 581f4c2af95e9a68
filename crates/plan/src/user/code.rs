//! Rust source that turns the files of recipes and models into modules, and lists what makes them.
//!
//! It names everything by `generated::…`, the library's part of it, which the bench target imports.

use super::file::Parameter;
use super::{UserFile, UserFiles, UserKind};
use crate::kernel::code::add;

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
        let name = format!("{module}_{index}");
        let path = match &file.module {
            Some(path) => path.clone(),
            None => {
                let path = file.path.to_str().expect("the search refuses other paths");
                add(text, format_args!("#[path = {path:?}]\nmod {name};\n\n"));
                name.clone()
            }
        };
        let numbers = if file.fields.is_empty() { "_numbers" } else { "numbers" };
        let field = |(place, field): (usize, &Parameter)| {
            format!("\n        {}: generated::number(numbers, {place})?,", field.ident)
        };
        let mut fields: String = file.fields.iter().enumerate().map(field).collect();
        if !fields.is_empty() {
            fields += "\n    ";
        }
        let struct_name = kind.struct_name();
        let make = format_args!(
            "fn make_{name}(\n    {numbers}: &[u64],\n\
             ) -> Result<Box<dyn generated::{of_trait}>, generated::Refusal> {{\n    \
             Ok(Box::new({path}::{struct_name} {{{fields}}}))\n}}\n\n"
        );
        add(text, make);
        let entry = format_args!(
            "    generated::UserDefinition {{ spelling: {path}::SPELLING, make: make_{name} }},\n"
        );
        add(&mut entries, entry);
    }
    let all = format_args!(
        "const {list}: &[generated::UserDefinition<dyn generated::{of_trait}>] = &[\n{entries}];\n\n"
    );
    add(text, all);
}
