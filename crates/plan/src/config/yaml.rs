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

/// The text of a file, without a byte-order mark.
///
/// # Errors
/// When it cannot be read; of the kind `InvalidData`, when it is not UTF-8.
pub fn text(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("more than {LARGEST} bytes")));
    }
    let invalid = |what| io::Error::new(io::ErrorKind::InvalidData, what);
    if let Some((encoding, name)) = wide_encoding(&bytes) {
        let command = format!("iconv -f {name} -t UTF-8 OLD > NEW");
        return Err(invalid(format!("its text is {encoding}, which `{command}` makes UTF-8")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        invalid(format!("byte {} in line {line} is not UTF-8", at + 1))
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(text) => text.to_owned(),
        None => text,
    })
}

/// The encoding of a text whose characters have more than one byte each, by its byte-order mark or, as
/// the YAML specification finds it out, by the NUL bytes of its first character. In words, and as iconv
/// calls it.
fn wide_encoding(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    match bytes {
        [0, 0, 0xfe, 0xff, ..] | [0, 0, 0, _, ..] => Some(("UTF-32 (big-endian)", "UTF-32BE")),
        [0xff, 0xfe, 0, 0, ..] | [_, 0, 0, 0, ..] => Some(("UTF-32 (little-endian)", "UTF-32LE")),
        [0xfe, 0xff, ..] | [0, _, ..] => Some(("UTF-16 (big-endian)", "UTF-16BE")),
        [0xff, 0xfe, ..] | [_, 0, ..] => Some(("UTF-16 (little-endian)", "UTF-16LE")),
        _ => None,
    }
}

/// The remedy for an error of [`text`]; `otherwise`, where the file is not text in another encoding.
pub(crate) fn remedy(error: &io::Error, otherwise: &'static str) -> &'static str {
    match error.kind() {
        io::ErrorKind::InvalidData => "save it as UTF-8",
        _ => otherwise,
    }
}

/// The boolean that PyYAML, which reads YAML 1.1, takes a word without quotes for.
pub(crate) fn boolean(word: &str) -> Option<bool> {
    match word {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => Some(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Parses a text.
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
        let text = format!("{deepest} levels of brackets, at most {DEEPEST} are read");
        return Err(serde_yaml::Error::custom(text));
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
        assert_eq!(error.to_string(), "1048576 levels of brackets, at most 1000 are read");
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

    /// Reads a file of these bytes.
    fn read(bytes: &[u8]) -> io::Result<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mine.yml");
        std::fs::write(&file, bytes).expect("written");
        text(&file)
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        assert_eq!(read(b"\xef\xbb\xbfa: 1\n").expect("text"), "a: 1\n");
        assert_eq!(read("a: \u{feff}1\n".as_bytes()).expect("text"), "a: \u{feff}1\n");
        assert_eq!(read(b"").expect("text"), "");
    }

    #[test]
    fn other_encodings_are_named() {
        let text = "a: ü\n";
        let wide = |mark: &[u8], of: fn(u16) -> [u8; 2]| {
            [mark.to_vec(), text.encode_utf16().flat_map(of).collect()].concat()
        };
        let little = "its text is UTF-16 (little-endian), which `iconv -f UTF-16LE -t UTF-8 OLD > NEW` makes UTF-8";
        let big = "its text is UTF-16 (big-endian), which `iconv -f UTF-16BE -t UTF-8 OLD > NEW` makes UTF-8";
        let utf_32: Vec<u8> = text.chars().flat_map(|it| u32::from(it).to_le_bytes()).collect();
        for (bytes, said) in [
            (wide(&[], u16::to_le_bytes), little),
            (wide(&[0xff, 0xfe], u16::to_le_bytes), little),
            (wide(&[], u16::to_be_bytes), big),
            (wide(&[0xfe, 0xff], u16::to_be_bytes), big),
            (
                utf_32,
                "its text is UTF-32 (little-endian), which `iconv -f UTF-32LE -t UTF-8 OLD > NEW` makes UTF-8",
            ),
            (b"a: 1\nb: \xe4\n".to_vec(), "byte 9 in line 2 is not UTF-8"),
        ] {
            let error = read(&bytes).expect_err("not UTF-8");
            assert_eq!(error.to_string(), said);
            assert_eq!(remedy(&error, "otherwise"), "save it as UTF-8");
        }
        assert_eq!(remedy(&io::Error::other("x"), "otherwise"), "otherwise");
    }

    #[test]
    fn what_has_no_end_is_no_config() {
        let error = text(Path::new("/dev/zero")).expect_err("endless").to_string();
        assert_eq!(error, "more than 16777216 bytes");
    }
}
