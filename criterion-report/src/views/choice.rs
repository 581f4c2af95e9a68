//! Columns that the user names, of the catalogue of values.

use std::str::FromStr;

use crate::model::Field;

/// A word of `--columns`.
#[derive(Debug, Clone, Copy)]
pub enum Choice {
    Help,
    Field(&'static Field),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name == "help" {
            return Ok(Self::Help);
        }
        Field::named(name)
            .map(Self::Field)
            .ok_or_else(|| "unknown value; `--columns help` lists those that exist".to_owned())
    }
}

/// The fields that were chosen; none where `help` was.
pub fn fields(choices: &[Choice]) -> Option<Vec<&'static Field>> {
    let field = |choice: &Choice| match choice {
        Choice::Help => None,
        Choice::Field(field) => Some(*field),
    };
    choices.iter().map(field).collect()
}

/// The choices, a line each: name, unit, description.
pub fn help() -> String {
    let line = |field: &Field| {
        let Field { name, unit, description, .. } = field;
        format!("{name:<28} {:<10} {description}\n", unit.symbol)
    };
    Field::all().map(line).collect()
}
