//! Texts with places to fill in, `@NAME@`, and words that a shell takes as they are.

/// Fills in every place. What is filled in is not looked at again.
///
/// # Panics
/// When the text has a place that is not named, or a name has no place: both are mistakes in our own files.
pub fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let (mut text, mut rest) = (String::new(), template);
    while let Some(start) = rest.find('@') {
        let (before, from) = rest.split_at(start);
        text.push_str(before);
        match place(from) {
            None => {
                text.push('@');
                rest = &from[1..];
            }
            Some(name) => {
                let value = values.iter().find(|(it, _)| *it == name);
                text.push_str(value.unwrap_or_else(|| panic!("@{name}@ has no value")).1);
                rest = &from[name.len() + 2..];
            }
        }
    }
    for (name, _) in values {
        assert!(template.contains(&format!("@{name}@")), "there is no @{name}@");
    }
    text + rest
}

/// The name of the place at the start of a text.
fn place(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('@')?.split_once('@')?;
    let is_name = !name.is_empty() && name.bytes().all(|it| it.is_ascii_uppercase() || it == b'_');
    is_name.then_some(name)
}

/// One word of a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./=:,+%".contains(it);
    match word {
        _ if !word.is_empty() && word.chars().all(is_plain) => word.to_owned(),
        _ => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Words of a shell, each with a space before it.
pub fn appended(words: &[String]) -> String {
    words.iter().map(|word| format!(" {}", quoted(word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled_and_what_is_filled_in_is_left_alone() {
        let values = [("X", "@Y@"), ("Y", "")];
        assert_eq!(filled("a@v5 @X@ b@Y@\n@X@@", &values), "a@v5 @Y@ b\n@Y@@");
        for (template, values) in [("@X@", &[][..]), ("x", &[("X", "1")])] {
            let values = values.to_vec();
            assert!(std::panic::catch_unwind(move || filled(template, &values)).is_err());
        }
    }

    #[test]
    fn a_shell_reads_words_as_they_were() {
        let words = ["plain-1.5", "", "two words", "it's", "$HOME `x` \\ \"", "^a|b$"];
        let line = format!("printf '%s\\n'{}", appended(&words.map(str::to_owned)));
        let output = std::process::Command::new("sh").arg("-c").arg(&line).output();
        let output = output.expect("sh runs");
        assert_eq!(String::from_utf8(output.stdout).expect("text"), words.join("\n") + "\n");
    }
}
