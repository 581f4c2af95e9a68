//! Flags of ours, which criterion would refuse. It alone can set its modes, and it reads the arguments of the process
//! itself: the process starts anew without our flags, and a variable holds them.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use plan::flag::{self, HIDDEN};

/// The process's arguments, its name first, with the hidden ones.
pub fn arguments() -> Result<Vec<String>, String> {
    let mut arguments: Vec<String> = std::env::args().collect();
    if let Some(hidden) = std::env::var_os(HIDDEN) {
        let hidden: Vec<String> = serde_json::from_slice(hidden.as_encoded_bytes())
            .map_err(|error| format!("{HIDDEN}: {error}; unset it"))?;
        arguments.splice(1..1, hidden);
    }
    Ok(arguments)
}

/// Hides the flags that criterion does not know.
pub fn hide() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ours, criterions] = split(&arguments);
    let Some(first) = ours.first() else { return Ok(()) };
    // It loads libtorch a second time.
    let program = std::env::current_exe()
        .map_err(|error| format!("{first}: this executable has no path: {error}"))?;
    let hidden = serde_json::json!(ours).to_string();
    let error = Command::new(&program).args(criterions).env(HIDDEN, hidden).exec();
    Err(format!("{first}: {}: {error}", program.display()))
}

/// Our flags with their values, and criterion's words.
fn split(arguments: &[String]) -> [Vec<&str>; 2] {
    [true, false].map(|is_ours| {
        let words = flag::words(arguments).filter(|it| it.is_ours() == is_ours);
        words.flat_map(|it| it.words).map(String::as_str).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criterion_sees_its_own_flags_alone() {
        for (line, criterions, ours) in [
            ("--bench int8wo -s main", "--bench int8wo -s main", ""),
            ("--bench --wait sort", "--bench sort", "--wait"),
            ("--profile sort", "sort", "--profile"),
            ("--profile=a=b --wait --profile-time 2", "--profile-time 2", "--profile=a=b --wait"),
            ("--bench --budget 10min sort", "--bench sort", "--budget 10min"),
            ("--budget=90s sort", "sort", "--budget=90s"),
            (
                "--shard 3/16 --partition=hash --resume sort",
                "sort",
                "--shard 3/16 --partition=hash --resume",
            ),
            ("--bench -- --wait", "--bench -- --wait", ""),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let [found, kept] = split(&words);
            assert_eq!(
                (kept.join(" "), found.join(" ")),
                (criterions.to_owned(), ours.to_owned()),
                "{line}"
            );
        }
    }
}
