//! JSON: what the library wrote beside its packages, and what `--format json` prints.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// One value. Members of an object keep their order.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// Bytes, counts and times, exact up to 2⁵³.
    pub fn count(number: u64) -> Self {
        Self::Number(number as f64)
    }

    /// The value of a whole text, or none if it is not JSON.
    pub fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader { rest: text.chars().peekable(), depth: 0 };
        let value = reader.value()?;
        reader.space();
        reader.rest.next().is_none().then_some(value)
    }

    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            // JSON has no other numbers.
            Self::Number(number) if !number.is_finite() => f.write_str("null"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => quote(f, text),
            Self::List(values) => {
                lines(f, ['[', ']'], values, indent, |f, value| value.write(f, indent + 2))
            }
            Self::Object(members) => lines(f, ['{', '}'], members, indent, |f, (name, value)| {
                quote(f, name)?;
                f.write_str(": ")?;
                value.write(f, indent + 2)
            }),
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

fn lines<T>(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [char; 2],
    items: &[T],
    indent: usize,
    mut write: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    if items.is_empty() {
        return write!(f, "{open}{close}");
    }
    for (index, item) in items.iter().enumerate() {
        let before = if index == 0 { open } else { ',' };
        write!(f, "{before}\n{:1$}", "", indent + 2)?;
        write(f, item)?;
    }
    write!(f, "\n{:indent$}{close}", "")
}

fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
            other => write!(f, "{other}")?,
        }
    }
    f.write_str("\"")
}

struct Reader<'t> {
    rest: Peekable<Chars<'t>>,
    depth: u32,
}

/// Deeper than anything that is written here; a file of brackets must not exhaust the stack.
const DEEPEST: u32 = 64;

impl Reader<'_> {
    fn space(&mut self) {
        while self.rest.next_if(|c| matches!(c, ' ' | '\t' | '\n' | '\r')).is_some() {}
    }

    /// The next character but for white space, if it is this one.
    fn takes(&mut self, wanted: char) -> Option<()> {
        self.space();
        self.rest.next_if_eq(&wanted).map(|_| ())
    }

    fn value(&mut self) -> Option<Json> {
        self.space();
        match *self.rest.peek()? {
            '{' => self.nested(|reader| {
                let members = reader.items('{', '}', |reader| {
                    let name = reader.string()?;
                    reader.takes(':')?;
                    Some((name, reader.value()?))
                });
                members.map(Json::Object)
            }),
            '[' => self.nested(|reader| reader.items('[', ']', Self::value).map(Json::List)),
            '"' => self.string().map(Json::Text),
            _ => self.word(),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<Json>) -> Option<Json> {
        self.depth += 1;
        let value = if self.depth > DEEPEST { None } else { read(self) };
        self.depth -= 1;
        value
    }

    fn items<T>(
        &mut self,
        open: char,
        close: char,
        mut item: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.takes(open)?;
        let mut items = Vec::new();
        if self.takes(close).is_some() {
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            if self.takes(',').is_none() {
                return self.takes(close).map(|()| items);
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.takes('"')?;
        let mut text = String::new();
        loop {
            match self.rest.next()? {
                '"' => return Some(text),
                '\\' => text.push(self.escape()?),
                control if control < ' ' => return None,
                other => text.push(other),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.rest.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => self.code_point()?,
            same @ ('"' | '\\' | '/') => same,
            _ => return None,
        })
    }

    /// A character of four digits, or of two surrogates in a row.
    fn code_point(&mut self) -> Option<char> {
        let high = self.digits()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high);
        }
        let escaped = self.rest.next()? == '\\' && self.rest.next()? == 'u';
        let low = self.digits().filter(|low| escaped && (0xdc00..0xe000).contains(low))?;
        char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
    }

    fn digits(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |sum, _| Some(sum * 16 + self.rest.next()?.to_digit(16)?))
    }

    /// A number, or one of the three names.
    fn word(&mut self) -> Option<Json> {
        let mut word = String::new();
        let belongs = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        while let Some(character) = self.rest.next_if(belongs) {
            word.push(character);
        }
        match word.as_str() {
            "null" => Some(Json::Null),
            "true" => Some(Json::Bool(true)),
            "false" => Some(Json::Bool(false)),
            // Rust also reads "inf", which is no number here.
            number => {
                let number: f64 = number.parse().ok()?;
                number.is_finite().then_some(Json::Number(number))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let value = Json::object([
            ("nothing", Json::Null),
            ("bytes", Json::count(1 << 53)),
            ("seconds", Json::Number(15.25)),
            ("text", Json::Text("tab\t \"quoted\" \\ µ 🦀".to_owned())),
            ("list", Json::List(vec![Json::Bool(true), Json::List(vec![]), Json::object([])])),
        ]);
        assert_eq!(Json::parse(&value.to_string()), Some(value));
    }

    #[test]
    fn every_form_of_a_value_is_read() {
        let text = r#" {"a":[1,-2.5e3 , {"b" : null}],"c":"\u00b5\ud83e\udd80\n\/","d":false} "#;
        let value = Json::parse(text).expect("it is JSON");
        let list = [1.0, -2500.0].map(Json::Number);
        let Some(Json::List(found)) = value.get("a") else { panic!("{value}") };
        assert_eq!(found[..2], list);
        assert_eq!(found[2].get("b"), Some(&Json::Null));
        assert_eq!(value.get("c").and_then(Json::text), Some("µ🦀\n/"));
        assert_eq!(value.get("d"), Some(&Json::Bool(false)));
        assert_eq!((value.get("e"), value.number()), (None, None));
    }

    #[test]
    fn anything_else_is_not_json() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "[1,]",
            "[1 2]",
            "nul",
            "inf",
            "NaN",
            "\"a",
            "\"\\x\"",
            "\"\\ud800\"",
            "{} {}",
            "{a:1}",
            &deep,
        ] {
            assert_eq!(Json::parse(text), None, "{:.20}", text);
        }
    }
}
