//! Text into a page, so that no text can be taken for markup.

use std::io::{self, Write};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::render::json_text::{self, Style};
use crate::visible;

/// Puts each part where the page names it as `{{name}}`, in one pass: what looks like a name inside
/// a part stays as it is.
///
/// # Panics
/// When the page, which is our own, names a part that there is not.
pub fn fill(page: &str, parts: &[(&str, String)], out: &mut dyn Write) -> io::Result<()> {
    let mut pieces = page.split("{{");
    out.write_all(pieces.next().unwrap_or_default().as_bytes())?;
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").expect("our own page closes every name");
        let part = parts.iter().find(|(known, _)| *known == name);
        let (_, text) = part.unwrap_or_else(|| panic!("our own page names `{name}`"));
        out.write_all(text.as_bytes())?;
        out.write_all(rest.as_bytes())?;
    }
    Ok(())
}

/// Text as the content of an element or of a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in visible::lines(text).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// More of a list than is shown at first; nothing where there is no more.
pub fn folded(more: usize, content: &str) -> String {
    if more == 0 {
        return String::new();
    }
    format!("<details><summary>{more} more</summary>\n{content}</details>\n")
}

/// JSON as the content of a `script` element, which only `</script` and `<!--` could end or bend:
/// both need a `<`, and in JSON that stands inside strings only.
pub fn json(value: &impl Serialize) -> Result<String> {
    let text =
        json_text::to_string(value, Style::Compact).context("cannot write the page's data")?;
    Ok(text.replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_put_in_once() {
        let filled = |page: &str, parts: &[(&str, String)]| {
            let mut out = Vec::new();
            fill(page, parts, &mut out).expect("memory can be written");
            String::from_utf8(out).expect("text")
        };
        let parts = [("a", "{{b}}".to_owned()), ("b", "2".to_owned())];
        assert_eq!(filled("<p>{{a}}, {{b}}, {{a}}</p>", &parts), "<p>{{b}}, 2, {{b}}</p>");
        assert_eq!(filled("nothing", &[]), "nothing");
    }

    #[test]
    fn text_is_no_markup() {
        assert_eq!(escape("<\u{7}>"), "&lt;\\u{7}&gt;");
        assert_eq!(
            escape(r#"</script><a href='x' title="y">&amp;"#),
            "&lt;/script&gt;&lt;a href=&#39;x&#39; title=&quot;y&quot;&gt;&amp;amp;"
        );
        let hostile = "</script><!--<script>\u{2028}\"\\";
        let text = json(&hostile).expect("JSON");
        assert!(!text.contains('<'), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).expect("the same text"), hostile);
    }
}
