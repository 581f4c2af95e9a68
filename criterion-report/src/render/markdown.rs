//! The few things that Markdown is made of.

pub use crate::render::table::ABSENT;
use crate::render::table::Align;
use crate::visible;

/// A table; nothing without rows.
pub fn table(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = columns.iter().map(|(_, align)| match align {
        Align::Left => "---".to_owned(),
        Align::Right => "---:".to_owned(),
    });
    let mut out = line(columns.iter().map(|(name, _)| (*name).to_owned()).collect());
    out.push_str(&line(rule.collect()));
    for row in rows {
        out.push_str(&line(row.iter().map(|text| cell(text)).collect()));
    }
    out
}

/// Text as a cell of a table holds it: on one line, and no `|` in it ends the cell.
pub fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible::line(&text).into_owned()
}

/// Somebody else's text on one line, which is no markup and calls nobody; code in it stays code.
pub fn plain(text: &str) -> String {
    let text = one_line(text);
    // Longer fences do not tell what they enclose.
    if text.contains("``") {
        return escape(&text);
    }
    let parts: Vec<&str> = text.split('`').collect();
    let last = parts.len() - 1;
    let (paired, open) =
        if last.is_multiple_of(2) { (&parts[..], "") } else { (&parts[..last], parts[last]) };
    let paired = paired.iter().enumerate();
    let paired = paired.map(|(i, part)| if i % 2 == 1 { (*part).to_owned() } else { escape(part) });
    let mut out = paired.collect::<Vec<_>>().join("`");
    if !last.is_multiple_of(2) {
        out.push_str(&escape(&format!("`{open}")));
    }
    // A line of these would be a heading, or an item of a list.
    if out.starts_with(['#', '-', '+', '=']) { format!("\\{out}") } else { out }
}

/// An entity is no help against a mention, which is looked for in the text that it stands for, nor a
/// backslash against the number of an issue; an empty space is.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let behind = letters.peek().copied().unwrap_or(' ');
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("@\u{200b}"),
            '#' if behind.is_ascii_digit() => out.push_str("#\u{200b}"),
            _ => {
                let is_markup = match letter {
                    '\\' | '`' => true,
                    '*' | '~' => before != ' ' || behind != ' ',
                    '_' => !(before.is_alphanumeric() && behind.is_alphanumeric()),
                    ']' => ['(', '[', ':'].contains(&behind),
                    _ => false,
                };
                if is_markup {
                    out.push('\\');
                }
                out.push(letter);
            }
        }
        before = letter;
    }
    out
}

/// Escapes a reason. It may be a compiler's whole output: only its beginning is kept.
pub fn reason(text: &str) -> String {
    const MOST: usize = 200;
    let text = one_line(text);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", plain(&text[..end])),
        None => plain(&text),
    }
}

pub fn code(text: &str) -> String {
    format!("`{}`", visible::line(text).replace('`', "'"))
}

/// ` and 2 more`; nothing of none.
pub fn and_more(others: usize) -> String {
    if others > 0 { format!(" and {others} more") } else { String::new() }
}

/// The first 8 digits of a revision.
pub fn short(commit: &str) -> String {
    code(&commit.chars().take(8).collect::<String>())
}

/// A short revision; the suffix `-dirty` becomes words.
pub fn revision(revision: &str) -> String {
    match revision.strip_suffix("-dirty") {
        Some(commit) => format!("{} with uncommitted changes", short(commit)),
        None => short(revision),
    }
}

pub fn or_absent(value: Option<String>) -> String {
    value.unwrap_or_else(|| ABSENT.to_owned())
}

/// The first of several items, each on a line of its own, and how many more there are.
pub fn list(items: impl ExactSizeIterator<Item = String>, most: usize, where_all: &str) -> String {
    let more = items.len().saturating_sub(most);
    let mut out: String = items.take(most).map(|item| format!("  - {item}\n")).collect();
    if more > 0 {
        out.push_str(&format!("  - and {more} more, in {where_all}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_in_their_cell() {
        let rows = [vec!["a|b\nc".to_owned(), "1".to_owned()]];
        let text = table(&[("x", Align::Left), ("y", Align::Right)], &rows);
        assert_eq!(text, "| x | y |\n| --- | ---: |\n| a\\|b c | 1 |\n");
        assert_eq!(table(&[("x", Align::Left)], &[]), "");
    }

    #[test]
    fn text_is_no_markup_and_calls_nobody() {
        assert_eq!(plain("a <b> & @c"), "a &lt;b&gt; &amp; @\u{200b}c");
        assert_eq!(plain("run `x <y> @z` or <w>"), "run `x <y> @z` or &lt;w&gt;");
        assert_eq!(plain("open ` <b>"), "open \\` &lt;b&gt;");
        assert_eq!(plain("`a` open ` <b>"), "`a` open \\` &lt;b&gt;");
        assert_eq!(plain("``<b>``"), "\\`\\`&lt;b&gt;\\`\\`");
        assert_eq!(plain("__global__ f(x_1, *p) a * b"), "\\_\\_global\\_\\_ f(x_1, \\*p) a * b");
        assert_eq!(plain(r"[a](b) [0, 1] C:\x ~~c~~"), r"[a\](b) [0, 1] C:\\x \~\~c\~\~");
        assert_eq!(plain("see #12 or #x"), "see #\u{200b}12 or #x");
        assert_eq!(plain("# error"), "\\# error");
        let cut = reason(&format!("`{}<b>` {}", "x".repeat(198), "y".repeat(9)));
        assert!(cut.starts_with("\\`x") && cut.ends_with("x&lt;…"), "{cut}");
        let text = table(&[("x", Align::Left)], &[vec![reason("a|b <c>")]]);
        assert_eq!(text, "| x |\n| --- |\n| a\\|b &lt;c&gt; |\n");
    }

    #[test]
    fn any_text_may_stand_for_a_revision() {
        assert_eq!(short("äöüßäöüßäöüß"), "`äöüßäöüß`");
        assert_eq!(short("1f0c"), "`1f0c`");
    }

    #[test]
    fn long_reasons_are_cut() {
        let text = reason(&"ä ".repeat(300));
        assert_eq!(text.chars().count(), 200);
        assert!(text.ends_with("ä ä…"), "{text}");
        assert_eq!(reason("short"), "short");
    }

    #[test]
    fn long_lists_say_how_long() {
        let items = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(list(items.clone().into_iter(), 3, "x.json"), "  - a\n  - b\n  - c\n");
        assert_eq!(list(items.into_iter(), 1, "x.json"), "  - a\n  - and 2 more, in x.json\n");
    }
}
