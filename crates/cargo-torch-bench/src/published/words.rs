//! A command line, as a person would type it, made into a process.

use std::path::Path;
use std::process::Command;

use crate::cargo;

/// Variables in front, then the program; single quotes hold words together.
pub fn command(root: &Path, line: &str) -> Command {
    let words = split(line);
    let variables = words.iter().take_while(|word| variable(word).is_some()).count();
    let (variables, rest) = words.split_at(variables);
    let mut command = match rest.first().map(String::as_str) {
        Some("cargo") | None => cargo::in_folder(root),
        Some(program) => {
            let mut command = Command::new(program);
            command.current_dir(root);
            command
        }
    };
    command.args(rest.iter().skip(1));
    command.envs(variables.iter().filter_map(|word| variable(word)));
    command
}

/// The name and the value of a word that sets a variable.
fn variable(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    name.chars().all(|c| c.is_ascii_uppercase() || c == '_').then_some((name, value))
}

fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_as_a_shell_would() {
        let line = "A_B=c.yml cargo bench --x=y  -- '/a|b c/' ''";
        assert_eq!(split(line), ["A_B=c.yml", "cargo", "bench", "--x=y", "--", "/a|b c/", ""]);
        let command = command(Path::new("/"), line);
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["bench", "--x=y", "--", "/a|b c/", ""]);
        let variables: Vec<_> = command.get_envs().collect();
        assert_eq!(variables, [("A_B".as_ref(), Some("c.yml".as_ref()))]);
    }
}
