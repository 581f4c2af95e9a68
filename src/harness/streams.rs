//! Standard streams whose errors cannot change how a run goes.
//!
//! Criterion prints with `println!` and `eprintln!`, which panic when nobody reads any longer
//! (`cargo bench | head -1`) or the disk is full. So what is no terminal goes through a pipe to a
//! process of its own, which writes it on, and from the first error on reads and drops the rest. It
//! is a process and not a thread, so that the last words of a crash still come through.

use std::fs::File;
use std::io::{self, IsTerminal, PipeWriter, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};

/// Writes on what it reads, and reads on when it cannot write. Ctrl-C ends the benchmark, whose last
/// words it still has to write.
const PUMP: &str = "trap '' HUP INT QUIT TERM; cat; exec cat >/dev/null";

/// Both streams are guarded until this is dropped; then all that was printed has been written.
#[derive(Debug)]
pub struct Streams {
    /// The streams as they were.
    kept: Vec<(BorrowedFd<'static>, OwnedFd)>,
    pumps: Vec<Child>,
}

impl Streams {
    /// Guards both, as far as they are no terminals.
    pub fn guard() -> io::Result<Self> {
        // SAFETY: the two numbers stay open for as long as the process lives: nothing here closes
        // them, and Rust opens those that are closed at its start.
        let [out, error] = [1, 2].map(|number| unsafe { BorrowedFd::borrow_raw(number) });
        let mut streams = Self { kept: Vec::new(), pumps: Vec::new() };
        // Asked before either of them leads to a pipe.
        let is_same = is_same(out, error)?;
        let shared = if out.is_terminal() { None } else { Some(streams.pump(out)?) };
        match shared {
            // If both go to one file, they share one pipe, which keeps their order.
            Some(pipe) if is_same => streams.replace(error, &pipe)?,
            _ if error.is_terminal() => {}
            _ => drop(streams.pump(error)?),
        }
        Ok(streams)
    }

    /// Has a process write on what goes to `stream`; the pipe to it.
    fn pump(&mut self, stream: BorrowedFd<'static>) -> io::Result<PipeWriter> {
        let (reader, writer) = io::pipe()?;
        let mut pump = Command::new("sh");
        pump.args(["-c", PUMP]).stdin(reader).stderr(Stdio::null());
        pump.stdout(stream.try_clone_to_owned()?);
        self.pumps.push(pump.spawn()?);
        self.replace(stream, &writer)?;
        Ok(writer)
    }

    fn replace(&mut self, stream: BorrowedFd<'static>, by: &PipeWriter) -> io::Result<()> {
        let original = stream.try_clone_to_owned()?;
        point(stream, by.as_fd())?;
        self.kept.push((stream, original));
        Ok(())
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // Nothing more can be done about output than was done: it is dropped where it fails.
        drop(io::stdout().flush());
        for (stream, original) in self.kept.drain(..) {
            drop(point(stream, original.as_fd()));
        }
        for mut pump in self.pumps.drain(..) {
            drop(pump.wait());
        }
    }
}

/// Takes standard output for the caller: everything printed from now on goes to standard error.
pub fn take_stdout() -> io::Result<File> {
    let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // SAFETY: it stays open for as long as the process lives.
    point(unsafe { BorrowedFd::borrow_raw(1) }, io::stderr().as_fd())?;
    Ok(out)
}

/// Says it on stderr, if that takes it: in one write, as another process may write there meanwhile.
pub fn say(text: &str) {
    drop(io::stderr().write_all(format!("{text}\n").as_bytes()));
}

/// From now on `stream` leads where `target` does.
fn point(stream: BorrowedFd<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes numbers only. Both are open, and the one that is replaced belongs to the process
    // and to no owner that counts on where it leads.
    match unsafe { libc::dup2(target.as_raw_fd(), stream.as_raw_fd()) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn is_same(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> io::Result<bool> {
    let identity = |stream: BorrowedFd<'_>| -> io::Result<(u64, u64)> {
        let file = File::from(stream.try_clone_to_owned()?).metadata()?;
        Ok((file.dev(), file.ino()))
    };
    Ok(identity(one)? == identity(other)?)
}
