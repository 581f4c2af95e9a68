//! JSON as Python's `json.dump(value, file, indent=2)` writes it, byte for byte: ASCII only, and
//! floats as `repr` prints them.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};

/// Serialises as Python would; no newline at the end, as there.
pub fn to_string<T: Serialize>(value: &T) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, Python::default()))?;
    Ok(String::from_utf8(bytes).expect("the formatter writes ASCII only"))
}

#[derive(Default)]
struct Python(PrettyFormatter<'static>);

impl Formatter for Python {
    fn write_f64<W: ?Sized + io::Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        out.write_all(repr(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut units = [0; 2];
        for char in fragment.chars() {
            if matches!(char, ' '..='~') {
                write!(out, "{char}")?;
            } else {
                for unit in char.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

/// Python's `repr` of a float: the shortest digits that read back, in exponent form below 1e-4
/// and from 1e16 on, with at least two digits in the exponent.
fn repr(value: f64) -> String {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().expect("Rust prints an integer exponent");
    if value == 0.0 || (-4..16).contains(&exponent) {
        format!("{value:?}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pair was printed by CPython 3.
    #[test]
    fn floats_are_pythons() {
        for (value, text) in [
            (0.0, "0.0"),
            (1.25, "1.25"),
            (1e-4, "0.0001"),
            (1.234e-5, "1.234e-05"),
            (5e-324, "5e-324"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (-0.1, "-0.1"),
            (0.30000000000000004, "0.30000000000000004"),
        ] {
            assert_eq!(repr(value), text);
        }
    }

    #[test]
    fn text_is_ascii_and_empty_containers_stay_closed() {
        let value = serde_json::json!({"a": ["µ\"\n\u{7f}", "😀"], "b": [], "c": {}, "d": 1});
        let expected = r#"{
  "a": [
    "\u00b5\"\n\u007f",
    "\ud83d\ude00"
  ],
  "b": [],
  "c": {},
  "d": 1
}"#;
        assert_eq!(to_string(&value).expect("serialises"), expected);
    }
}
