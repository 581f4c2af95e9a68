//! A panic inside a case is an outcome, not the end of the run.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};

use plan::Outcome;

use crate::native::is_out_of_memory;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static WHERE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `body`; a panic becomes an error with its message and place, without a trace on the
/// terminal. `Ok(Err(_))` is for payloads that are no message, handed back as they came.
pub fn catch<T>(body: impl FnOnce() -> T) -> Result<T, Caught> {
    install();
    let was_catching = CATCHING.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    CATCHING.set(was_catching);
    result.map_err(|payload| {
        let place = WHERE.take();
        match message(payload.as_ref()) {
            Some(message) => Caught::Panic(match place {
                Some(place) => format!("panic at {place}: {message}"),
                None => format!("panic: {message}"),
            }),
            None => Caught::Other(payload),
        }
    })
}

/// The way in which `body` ended early.
pub enum Caught {
    /// A panic, with its message.
    Panic(String),
    /// `resume_unwind` with a payload of its own.
    Other(Box<dyn Any + Send>),
}

impl Caught {
    /// The outcome of the case; other payloads go on as they came.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Panic(message) if is_out_of_memory(&message) => Outcome::Oom { reason: message },
            Self::Panic(message) => Outcome::Failed { error: message },
            Self::Other(payload) => panic::resume_unwind(payload),
        }
    }
}

fn message(payload: &(dyn Any + Send)) -> Option<String> {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
}

/// Puts a hook in front of the one that is there: quiet while catching, on the catching thread.
fn install() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
                WHERE.set(place);
            } else {
                usual(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_with_its_message_and_place() {
        let caught = catch(|| panic!("bad {}", 7));
        let Err(Caught::Panic(text)) = caught else { panic!("not caught as a panic") };
        assert!(text.contains("bad 7") && text.contains("panics.rs:"), "{text}");
        assert!(matches!(catch(|| 3), Ok(3)));
    }

    #[test]
    fn other_payloads_come_back_as_they_are() {
        let caught = catch(|| panic::resume_unwind(Box::new(42_u8)));
        let Err(Caught::Other(payload)) = caught else { panic!("not caught") };
        assert_eq!(payload.downcast_ref::<u8>(), Some(&42));
    }
}
