//! The words and signs of an expression.

use super::ExpressionError;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A fact, a constant, `not`, `and` or `or`.
    Word(String),
    Number(f64),
    Text(String),
    /// A comparison or a parenthesis.
    Sign(&'static str),
    End,
}

/// The two-character ones first: `<=` is not `<`.
const SIGNS: &[&str] = &["==", "!=", "<=", ">=", "<", ">", "(", ")"];

/// The tokens of `text`, [`Token::End`] the last, each with its column, counted from 1.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let column = column(text, rest);
        let (token, length) = match first {
            '"' | '\'' => quoted(rest, first, column)?,
            '-' | '.' | '0'..='9' => number(rest, column)?,
            _ if is_of_word(first) => {
                let length = rest.find(|c| !is_of_word(c) && c != '.').unwrap_or(rest.len());
                (Token::Word(rest[..length].to_owned()), length)
            }
            _ => sign(rest, first, column)?,
        };
        tokens.push((token, column));
        rest = rest[length..].trim_start();
    }
    tokens.push((Token::End, column(text, rest)));
    Ok(tokens)
}

/// The column at which `rest`, the end of `text`, begins.
fn column(text: &str, rest: &str) -> usize {
    text[..text.len() - rest.len()].chars().count() + 1
}

/// Whether a name may have this letter. Nothing in it is written with other letters.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn quoted(rest: &str, quote: char, column: usize) -> Result<(Token, usize), ExpressionError> {
    match rest[1..].find(quote) {
        Some(length) => Ok((Token::Text(rest[1..=length].to_owned()), length + 2)),
        None => Err(ExpressionError::new(
            column,
            "the text is not closed".to_owned(),
            format!("close it with {quote}"),
        )),
    }
}

fn number(rest: &str, column: usize) -> Result<(Token, usize), ExpressionError> {
    let mut before = None;
    // A sign is one of the number at its beginning and after its exponent's `e`.
    let goes_on = |c: char| {
        let is_sign = "+-".contains(c) && matches!(before.replace(c), None | Some('e' | 'E'));
        before = Some(c);
        is_sign || c == '.' || is_of_word(c)
    };
    // All of these are one byte long.
    let length = rest.chars().map(goes_on).take_while(|goes_on| *goes_on).count();
    let text = &rest[..length];
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((Token::Number(number), length)),
        _ => Err(ExpressionError::new(
            column,
            format!("`{text}` is not a number"),
            "write one, e.g. `16`, `0.5` or `1e-6`".to_owned(),
        )),
    }
}

fn sign(rest: &str, first: char, column: usize) -> Result<(Token, usize), ExpressionError> {
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    let remedy = match first {
        '=' => "write `==`",
        '!' => "write `not`, or `!=`",
        '&' => "write `and`",
        '|' => "write `or`",
        _ => {
            "an expression has facts, numbers, text in quotes, `not`, `and`, `or`, `in`, `==`, \
             `!=`, `<`, `<=`, `>`, `>=` and parentheses"
        }
    };
    Err(ExpressionError::new(column, format!("`{first}` is not allowed here"), remedy.to_owned()))
}
