//! JSON as Python's `json.dump(value, file, indent=2)` writes it, byte for byte: ASCII only, and
//! floats as `repr` prints them.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

/// Serialises as Python would; no newline at the end, as there.
pub fn to_string<T: Serialize>(value: &T) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    write(value, 0, &mut bytes)?;
    Ok(String::from_utf8(bytes).expect("the formatter writes ASCII only"))
}

/// Adds the text of a value that stands in so many containers.
pub fn write<T: Serialize>(value: &T, depth: usize, out: &mut Vec<u8>) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Python { depth, empty: true }))
}

struct Python {
    /// Containers that are open.
    depth: usize,
    /// Whether the innermost of them has had no value so far.
    empty: bool,
}

impl Python {
    fn open<W: ?Sized + io::Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        out.write_all(bracket)
    }

    fn close<W: ?Sized + io::Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if !self.empty {
            self.line(out, b"\n")?;
        }
        // This container is a value of the one around it.
        self.empty = false;
        out.write_all(bracket)
    }

    fn line<W: ?Sized + io::Write>(&self, out: &mut W, before: &[u8]) -> io::Result<()> {
        /// As deep as documents are, so that most lines are indented at once.
        const INDENT: &[u8] = &[b' '; 16];
        out.write_all(before)?;
        let mut spaces = 2 * self.depth;
        while spaces > 0 {
            let some = spaces.min(INDENT.len());
            out.write_all(&INDENT[..some])?;
            spaces -= some;
        }
        Ok(())
    }
}

impl Formatter for Python {
    fn write_f64<W: ?Sized + io::Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
            return CompactFormatter.write_f64(out, value);
        }
        // Python has at least two digits and a sign in the exponent.
        let scientific = format!("{value:e}");
        let (digits, exponent) = scientific.split_once('e').expect("an exponent");
        let exponent: i32 = exponent.parse().expect("Rust prints an integer exponent");
        write!(out, "{digits}e{exponent:+03}")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut units = [0; 2];
        let mut rest = fragment;
        while let Some(plain) = rest.bytes().position(|byte| !matches!(byte, b' '..=b'~')) {
            out.write_all(&rest.as_bytes()[..plain])?;
            let mut chars = rest[plain..].chars();
            for unit in chars.next().into_iter().flat_map(|it| it.encode_utf16(&mut units).to_vec())
            {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = chars.as_str();
        }
        out.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.line(out, if first { b"\n" } else { b",\n" })
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.empty = false;
        Ok(())
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.line(out, if first { b"\n" } else { b",\n" })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.empty = false;
        Ok(())
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
            assert_eq!(to_string(&value).expect("serialises"), text);
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
        // Inside another container its lines are indented, as they are in the whole.
        let mut inside = Vec::new();
        write(&value, 1, &mut inside).expect("serialises");
        let inside = String::from_utf8(inside).expect("text");
        assert_eq!(inside, expected.replace('\n', "\n  "));
        let around = to_string(&[value]).expect("serialises");
        assert_eq!(around, format!("[\n  {inside}\n]"));
    }
}
