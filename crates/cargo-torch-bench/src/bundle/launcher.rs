//! The shell scripts of a bundle: its launcher, and a stand-in for the compiler.

use super::version::Version;
use crate::template::{filled, quoted};

/// `machine` is the host's kind as `uname -m` prints it.
pub fn launcher(machine: &str, glibc: Option<&Version>) -> String {
    let glibc = glibc.map_or_else(|| "of any version".to_owned(), Version::to_string);
    filled(include_str!("torch-bench-run.sh"), &[("MACHINE", machine), ("GLIBC", &glibc)])
}

/// Compiled packages are found by the version of the compiler that made them, which a host without a compiler cannot
/// tell. This script tells it, and compiles nothing.
pub fn compiler(version: &str) -> String {
    let version = quoted(version);
    format!(
        "#!/bin/sh\n# Names the compiler of the packages in this bundle, by which they are found.\n\
         case $1 in\n--version) printf '%s\\n' {version} ;;\n*)\n    \
         echo 'this is not a compiler: the bundle has no package for this case on this processor' >&2\n    exit 1\n    ;;\nesac\n"
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::process::{Command, Output};

    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        // Written by another process: a file that a child of another test's thread has open for writing cannot be
        // executed.
        let mut shell = Command::new("sh");
        shell.args(["-c", "printf %s \"$1\" >\"$0\""]).arg(path).arg(text);
        assert!(shell.status().expect("sh runs").success());
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("changed");
    }

    /// The launcher's output when its runner is this script, in a folder with spaces.
    fn launched(runner: Option<&str>, machine: &str) -> Output {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let bundle = folder.path().join("a bundle");
        put(&bundle.join("torch-bench-run"), &launcher(machine, Version::parse("2.34").as_ref()));
        if let Some(runner) = runner {
            put(&bundle.join("bin/torch-bench-run"), &format!("#!/bin/sh\n{runner}\n"));
        }
        let mut command = Command::new(bundle.join("torch-bench-run"));
        command.args(["--shard", "1/2", "--", "a b"]).env_remove("LD_LIBRARY_PATH");
        command.output().expect("sh runs")
    }

    #[test]
    fn the_runner_is_started_with_all_arguments() {
        let script = "test \"$1\" = --probe && exit\n\
            echo \"${TORCH_BENCH_BUNDLE##*/}: $# $4 ${LD_LIBRARY_PATH-none}\"; exit 75";
        let output = launched(Some(script), std::env::consts::ARCH);
        assert_eq!(output.status.code(), Some(75), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "a bundle: 4 a b none\n");
    }

    #[test]
    fn a_library_that_the_host_lacks_is_the_bundles() {
        let script = "case $LD_LIBRARY_PATH in */lib/system) ;; *) exit 127 ;; esac\n\
            test \"$1\" = --probe || echo started";
        let output = launched(Some(script), std::env::consts::ARCH);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "started\n", "{output:?}");
    }

    #[test]
    fn a_host_that_does_not_fit_is_told_why() {
        let here = std::env::consts::ARCH;
        for (runner, machine, what, remedy) in [
            (None, here, "bin/torch-bench-run is missing", "unpack the bundle again"),
            (Some("exit 0"), "vax", "this bundle is for vax", "on a host of that kind"),
            (
                Some("echo \"x: version \\`GLIBC_2.99' not found\"; exit 1"),
                here,
                "the bundle needs glibc 2.34 or newer",
                "in a container",
            ),
            (Some("exit 126"), here, "cannot be executed", "noexec"),
            (Some("kill -ILL $$"), here, "lacks instructions", "without `-C target-cpu`"),
            (Some("echo odd; exit 127"), here, "(exit code 127): odd", "container of Debian"),
        ] {
            let output = launched(runner, machine);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{what}: {output:?}");
            let error = said.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
            assert!(error.contains(what), "{what}: {said}");
            assert!(said.contains("\n  help: ") && said.contains(remedy), "{remedy}: {said}");
        }
    }

    #[test]
    fn the_stand_in_tells_a_version_and_compiles_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("c++");
        put(&path, &compiler("g++ (Bob's 12.2.0-14) 12.2.0 \\ %s"));
        let run = |argument: &str| Command::new(&path).arg(argument).output().expect("sh runs");
        let version = run("--version");
        assert_eq!(
            String::from_utf8_lossy(&version.stdout),
            "g++ (Bob's 12.2.0-14) 12.2.0 \\ %s\n"
        );
        assert_eq!(run("a.cpp").status.code(), Some(1));
    }
}
