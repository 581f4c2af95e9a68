//! Why a run ends before it has done what it was asked for.

use std::fmt;
use std::io;

use plan::exit;

/// An error that ends the run, and the code that the process ends with.
#[derive(Debug)]
pub struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    /// One of a file that cannot be written. A disk that is full may have room when the run is tried again.
    pub fn of_file(error: &io::Error, text: String) -> Self {
        let code = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => exit::RETRY,
            _ => exit::UNUSABLE,
        };
        Self { text, code }
    }

    pub fn code(&self) -> u8 {
        self.code
    }
}

impl From<String> for Failure {
    /// Running it again would change nothing.
    fn from(text: String) -> Self {
        Self { text, code: exit::UNUSABLE }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_may_have_room_later() {
        let code = |kind| Failure::of_file(&io::Error::from(kind), String::new()).code();
        assert_eq!(code(io::ErrorKind::StorageFull), 75);
        assert_eq!(code(io::ErrorKind::QuotaExceeded), 75);
        assert_eq!(code(io::ErrorKind::PermissionDenied), 2);
        assert_eq!(Failure::from("wrong".to_owned()).code(), 2);
    }
}
