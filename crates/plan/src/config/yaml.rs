//! YAML that someone else wrote, read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::de::{DeserializeOwned, Error as _};

/// Beyond this it is no config. A device may have no end.
const LARGEST: u64 = 1 << 24;
/// Brackets within brackets. The parser takes time that grows with the square of their depth, and
/// refuses 128 of them when it has read them all; this counts those in quotes, too.
const DEEPEST: usize = 1000;

/// The text of a file.
///
/// # Errors
/// When it cannot be read.
pub fn text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("more than {LARGEST} bytes")));
    }
    Ok(text)
}

/// What a text says.
///
/// # Errors
/// When it is no YAML, or says something else.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_yaml::Error> {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if deepest > DEEPEST {
        return Err(serde_yaml::Error::custom(format!("{deepest} brackets within brackets")));
    }
    serde_yaml::from_str(text)
}

#[cfg(test)]
mod tests {
    use serde_yaml::Value;

    use super::*;

    #[test]
    fn what_would_take_for_ever_is_refused() {
        let error = parse::<Value>(&"[".repeat(1 << 20)).expect_err("too deep");
        assert_eq!(error.to_string(), "1048576 brackets within brackets");
        let error = parse::<Value>(&"{a: ".repeat(500)).expect_err("too deep").to_string();
        assert!(error.starts_with("recursion limit exceeded"), "{error}");
        assert_eq!(
            parse::<Vec<u8>>(&format!("[{}]", "1, ".repeat(2000))).map(|it| it.len()).ok(),
            Some(2000)
        );
        let laughs = (1..12).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
            format!("{text}a{n}: &a{n} [{}]\n", format!("*a{}, ", n - 1).repeat(9))
        });
        let error = parse::<Value>(&laughs).expect_err("too many").to_string();
        assert!(error.starts_with("repetition limit exceeded"), "{error}");
    }

    #[test]
    fn what_has_no_end_is_no_config() {
        let error = text(Path::new("/dev/zero")).expect_err("endless").to_string();
        assert_eq!(error, "more than 16777216 bytes");
    }
}
