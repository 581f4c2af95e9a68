//! Whether the dynamic loader would find all that a library needs.

use std::path::Path;
use std::process::Command;

use crate::ask::ask;

/// The names it would not find, or why that cannot be told.
pub fn unresolved(library: &Path) -> Result<Vec<String>, String> {
    if !cfg!(target_os = "linux") {
        return Err("ldd exists on Linux only".to_owned());
    }
    let mut ldd = Command::new("ldd");
    ldd.arg(library);
    let output = ask(ldd).map_err(|error| format!("ldd: {error}"))?;
    if !output.status.success() {
        return Err(format!("ldd cannot read {}", library.display()));
    }
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

fn parse(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.trim().strip_suffix(" => not found"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_libraries_are_named() {
        let text = "\tlinux-vdso.so.1 (0x00007ffe)\n\tlibcudnn.so.9 => not found\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1c)\n\
            \tlibcublas.so.13 => not found\n";
        assert_eq!(parse(text), ["libcudnn.so.9", "libcublas.so.13"]);
    }
}
