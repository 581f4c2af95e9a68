//! From tokens to an expression whose types are right.

use super::fact::{Fact, FactValue, Kind};
use super::lexer::{Token, tokens};
use super::{COMPARISONS, ExpressionError, Term, is_of_order};
use crate::words::UnknownWord;

/// Deepest nesting: every level is one of the stack's.
const DEEPEST: usize = 64;

/// Fields of a problem size begin with it.
const PROBLEM: &str = "problem.";

/// How Python asks for [`Fact::CudaAvailable`]; the only call that is read.
const IS_AVAILABLE: &str = "torch.cuda.is_available";

pub(super) fn parse(text: &str, fields: &[(String, Kind)]) -> Result<Term, ExpressionError> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0, fields };
    let whole = parser.disjunction()?.flag()?;
    match parser.peek() {
        Token::End => Ok(whole),
        _ => parser.error("the expression should end here", "join two with `and` or `or`"),
    }
}

/// An expression, what it stands for and where it begins.
struct Typed {
    expression: Term,
    kind: Kind,
    column: usize,
}

impl Typed {
    /// The expression, if it is true or false.
    fn flag(self) -> Result<Term, ExpressionError> {
        if self.kind == Kind::Flag {
            return Ok(self.expression);
        }
        Err(ExpressionError::new(
            self.column,
            format!("this is {}, and has to be {}", self.kind.described(), Kind::Flag.described()),
            "compare it, e.g. with `==` or `<`".to_owned(),
        ))
    }
}

/// A term that is true or false.
fn flag(expression: Term, column: usize) -> Typed {
    Typed { expression, kind: Kind::Flag, column }
}

struct Parser<'f> {
    tokens: Vec<(Token, usize)>,
    next: usize,
    depth: usize,
    fields: &'f [(String, Kind)],
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn column(&self) -> usize {
        self.tokens[self.next].1
    }

    /// The token here, and on to the next; nothing is behind the end.
    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(it) if it == word);
        if found {
            self.take();
        }
        found
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(it) if *it == sign);
        if found {
            self.take();
        }
        found
    }

    fn error<T>(&self, message: &str, remedy: &str) -> Result<T, ExpressionError> {
        Err(ExpressionError::new(self.column(), message.to_owned(), remedy.to_owned()))
    }

    /// `read`, one level deeper.
    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        if self.depth == DEEPEST {
            let message = format!("more than {DEEPEST} levels of parentheses and `not`");
            return self.error(&message, "write it simpler, or as several conditions");
        }
        self.depth += 1;
        let read = read(self)?;
        self.depth -= 1;
        Ok(read)
    }

    fn disjunction(&mut self) -> Result<Typed, ExpressionError> {
        self.joined("or", Self::conjunction, true)
    }

    fn conjunction(&mut self) -> Result<Typed, ExpressionError> {
        self.joined("and", Self::not, false)
    }

    /// One part, or several with `word` between them.
    fn joined(
        &mut self,
        word: &str,
        part: impl Fn(&mut Self) -> Result<Typed, ExpressionError>,
        decides: bool,
    ) -> Result<Typed, ExpressionError> {
        let first = part(self)?;
        if !self.take_word(word) {
            return Ok(first);
        }
        let column = first.column;
        let mut parts = vec![first.flag()?];
        loop {
            parts.push(part(self)?.flag()?);
            if !self.take_word(word) {
                return Ok(flag(Term::Joined(parts, decides), column));
            }
        }
    }

    fn not(&mut self) -> Result<Typed, ExpressionError> {
        let column = self.column();
        if !self.take_word("not") {
            return self.comparison();
        }
        let inner = self.deeper(Self::not)?.flag()?;
        Ok(flag(Term::Not(Box::new(inner)), column))
    }

    fn comparison(&mut self) -> Result<Typed, ExpressionError> {
        let left = self.operand()?;
        let Some(sign) = self.sign() else { return Ok(left) };
        let at = self.column();
        self.take();
        let right = self.operand()?;
        comparable(&left, (sign, at), &right)?;
        if self.sign().is_some() {
            return self.error("a second comparison", "write both, with `and` between them");
        }
        let column = left.column;
        let (left, right) = (Box::new(left.expression), Box::new(right.expression));
        Ok(flag(Term::Comparison(left, sign, right), column))
    }

    fn sign(&self) -> Option<&'static str> {
        let sign = match self.peek() {
            Token::Sign(sign) => sign,
            Token::Word(word) => word.as_str(),
            _ => return None,
        };
        COMPARISONS.iter().copied().find(|it| *it == sign)
    }

    fn operand(&mut self) -> Result<Typed, ExpressionError> {
        let column = self.column();
        let token = self.peek().clone();
        let value = match &token {
            Token::Number(number) => FactValue::Number(*number),
            Token::Text(text) => FactValue::Text(text.clone()),
            Token::Word(word) => match word.as_str() {
                "true" | "True" => FactValue::Flag(true),
                "false" | "False" => FactValue::Flag(false),
                "not" | "and" | "or" | "in" => return self.nothing(),
                _ => return self.fact(word),
            },
            Token::Sign("(") => {
                self.take();
                let inner = self.deeper(Self::disjunction)?;
                if !self.take_sign(")") {
                    return self.error("a parenthesis is open", "close it with `)`");
                }
                return Ok(Typed { column, ..inner });
            }
            Token::Sign(_) | Token::End => return self.nothing(),
        };
        self.take();
        let kind = value.kind();
        Ok(Typed { expression: Term::Constant(value), kind, column })
    }

    fn nothing<T>(&self) -> Result<T, ExpressionError> {
        self.error(
            "something is missing here",
            "write a fact, a number, text in quotes, `true` or `false`",
        )
    }

    fn fact(&mut self, word: &str) -> Result<Typed, ExpressionError> {
        let (name, kind) = if word == IS_AVAILABLE {
            (Fact::CudaAvailable.as_str().to_owned(), Fact::CudaAvailable.kind())
        } else if let Ok(fact) = word.parse::<Fact>() {
            (word.to_owned(), fact.kind())
        } else if let Some(kind) = self.field(word) {
            (word.to_owned(), kind)
        } else {
            return self.unknown(word);
        };
        let column = self.column();
        self.take();
        if word == IS_AVAILABLE {
            if !(self.take_sign("(") && self.take_sign(")")) {
                return self.error("this is a call", "write `cuda.available`");
            }
        } else if matches!(self.peek(), Token::Sign("(")) {
            return self.error(&format!("`{word}` is not a function"), "delete the parentheses");
        }
        Ok(Typed { expression: Term::Fact(name, kind), kind, column })
    }

    fn field(&self, word: &str) -> Option<Kind> {
        let field = word.strip_prefix(PROBLEM)?;
        self.fields.iter().find(|(name, _)| name == field).map(|(_, kind)| *kind)
    }

    fn unknown<T>(&self, word: &str) -> Result<T, ExpressionError> {
        let fields: Vec<String> =
            self.fields.iter().map(|(name, _)| format!("{PROBLEM}{name}")).collect();
        let facts = Fact::ALL.iter().map(|fact| fact.as_str());
        let unknown =
            UnknownWord::new("fact", word, facts.chain(fields.iter().map(String::as_str)));
        self.error(&unknown.to_string(), &unknown.remedy)
    }
}

fn comparable(
    left: &Typed,
    (sign, at): (&str, usize),
    right: &Typed,
) -> Result<(), ExpressionError> {
    if left.kind != right.kind {
        let (left, right) = (left.kind.described(), right.kind.described());
        let message = format!("`{sign}` compares {left} with {right}");
        let remedy = "compare two values of the same kind; write text in quotes and numbers \
                      without";
        return Err(ExpressionError::new(at, message, remedy.to_owned()));
    }
    if left.kind != Kind::Number && is_of_order(sign) {
        let message = format!("`{sign}` compares numbers, this is {}", left.kind.described());
        return Err(ExpressionError::new(at, message, "write `==` or `!=`".to_owned()));
    }
    if sign == "in" {
        let message = format!("`in` looks for text in text, this is {}", left.kind.described());
        let remedy = "write e.g. `'H100' in device.name`".to_owned();
        let are_texts = left.kind == Kind::Text;
        return are_texts.then_some(()).ok_or(ExpressionError::new(at, message, remedy));
    }
    is_a_word(left, right)?;
    is_a_word(right, left)
}

/// A text that the fact never is, is a mistake.
fn is_a_word(fact: &Typed, text: &Typed) -> Result<(), ExpressionError> {
    let (Term::Fact(name, _), Term::Constant(FactValue::Text(found))) =
        (&fact.expression, &text.expression)
    else {
        return Ok(());
    };
    let Some(fact) = name.parse::<Fact>().ok() else { return Ok(()) };
    match fact.words() {
        Some(words) if !words.contains(&found.as_str()) => {
            let unknown = UnknownWord::new(fact.as_str(), found, words);
            Err(ExpressionError::new(text.column, unknown.to_string(), unknown.remedy))
        }
        _ => Ok(()),
    }
}
