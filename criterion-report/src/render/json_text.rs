//! JSON in every form that is written, by one serializer: each type's code is compiled for one, too.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// In one line, without spaces.
    Compact,
    /// A value per line, indented by two spaces.
    Pretty,
    /// As Python's `json.dump(value, file, indent=2)` writes it, byte for byte: [`Pretty`](Self::Pretty), but
    /// ASCII only, and floats as `repr` prints them.
    Python,
}

/// The text of a value; no newline at its end.
pub fn to_string(value: &impl Serialize, style: Style) -> serde_json::Result<String> {
    let mut text = Vec::new();
    add(value, style, 0, &mut text)?;
    Ok(String::from_utf8(text).expect("JSON is text"))
}

/// A document for people's eyes, too: a value per line, and a newline at its end.
pub fn document(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(to_string(value, Style::Pretty)? + "\n")
}

/// Adds the text of a value that stands in so many containers.
pub fn add(
    value: &impl Serialize,
    style: Style,
    depth: usize,
    text: &mut Vec<u8>,
) -> serde_json::Result<()> {
    serialize(value, style, depth, Out { text, file: None })
}

/// Writes the text of a value, of which only a part is in memory at once.
pub fn write(value: &impl Serialize, style: Style, file: &mut dyn Write) -> Result<()> {
    let mut text = Vec::new();
    serialize(value, style, 0, Out { text: &mut text, file: Some(file) })?;
    Ok(file.write_all(&text)?)
}

fn serialize(
    value: &impl Serialize,
    style: Style,
    depth: usize,
    out: Out<'_>,
) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Nesting { style, depth, empty: true }))
}

/// A text, and where it goes when it is long.
struct Out<'a> {
    text: &'a mut Vec<u8>,
    file: Option<&'a mut dyn Write>,
}

impl Out<'_> {
    const LONG: usize = 1 << 16;
}

impl Write for Out<'_> {
    fn write(&mut self, some: &[u8]) -> io::Result<usize> {
        self.write_all(some).map(|()| some.len())
    }

    // Called for each token, from other units of this crate.
    #[inline]
    fn write_all(&mut self, some: &[u8]) -> io::Result<()> {
        self.text.extend_from_slice(some);
        if let Some(file) = &mut self.file
            && self.text.len() >= Self::LONG
        {
            file.write_all(self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Nesting {
    style: Style,
    /// Containers that are open.
    depth: usize,
    /// Whether the innermost of them has had no value so far.
    empty: bool,
}

impl Nesting {
    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        out.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if !self.empty && self.style != Style::Compact {
            self.line(out, false)?;
        }
        // This container is a value of the one around it.
        self.empty = false;
        out.write_all(bracket)
    }

    #[inline]
    fn value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.empty = false;
        if self.style == Style::Compact {
            return if first { Ok(()) } else { out.write_all(b",") };
        }
        self.line(out, !first)
    }

    /// Begins a line, where there are lines, behind a comma or none.
    fn line<W: ?Sized + Write>(&self, out: &mut W, comma: bool) -> io::Result<()> {
        /// As deep as documents are, so that most lines are indented at once.
        const LINE: &[u8] = b",\n                ";
        const INDENT: usize = LINE.len() - 2;
        let mut spaces = 2 * self.depth;
        out.write_all(&LINE[usize::from(!comma)..2 + spaces.min(INDENT)])?;
        while spaces > INDENT {
            spaces -= INDENT;
            out.write_all(&LINE[2..2 + spaces.min(INDENT)])?;
        }
        Ok(())
    }
}

impl Formatter for Nesting {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        // Nanoseconds and iterations are whole numbers, whose digits are found in a third of the time.
        let whole = value as i64;
        if whole != 0 && whole as f64 == value && value.abs() < 1e15 {
            CompactFormatter.write_i64(out, whole)?;
            return out.write_all(b".0");
        }
        if self.style != Style::Python || value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
            return CompactFormatter.write_f64(out, value);
        }
        // Python has at least two digits and a sign in the exponent.
        let scientific = format!("{value:e}");
        let (digits, exponent) = scientific.split_once('e').expect("an exponent");
        let exponent: i32 = exponent.parse().expect("Rust prints an integer exponent");
        write!(out, "{digits}e{exponent:+03}")
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.style != Style::Python {
            return out.write_all(fragment.as_bytes());
        }
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

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    #[inline]
    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.value(out, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    #[inline]
    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.value(out, first)
    }

    #[inline]
    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.style == Style::Compact { b":" } else { b": " })
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
            assert_eq!(to_string(&value, Style::Python).expect("serialises"), text);
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
        assert_eq!(to_string(&value, Style::Python).expect("serialises"), expected);
        // Inside another container its lines are indented, as they are in the whole.
        let mut inside = Vec::new();
        add(&value, Style::Python, 1, &mut inside).expect("serialises");
        let inside = String::from_utf8(inside).expect("text");
        assert_eq!(inside, expected.replace('\n', "\n  "));
        let around = to_string(&[value], Style::Python).expect("serialises");
        assert_eq!(around, format!("[\n  {inside}\n]"));
    }

    #[test]
    fn other_styles_are_those_of_serde_json() {
        let value =
            serde_json::json!({"a": ["µ\"\n", {"b": {"c": [[1e-7, 1e20]]}}], "d": [], "e": {}});
        let compact = serde_json::to_string(&value).expect("serialises");
        let pretty = serde_json::to_string_pretty(&value).expect("serialises");
        assert_eq!(to_string(&value, Style::Compact).expect("serialises"), compact);
        assert_eq!(to_string(&value, Style::Pretty).expect("serialises"), pretty);
        let many = vec![value; 10_000];
        let mut written = Vec::new();
        write(&many, Style::Pretty, &mut written).expect("serialises");
        assert!(written == serde_json::to_vec_pretty(&many).expect("serialises"));
    }
}
