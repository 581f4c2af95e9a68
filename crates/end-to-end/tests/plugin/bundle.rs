//! A bundle of a user's package on a host that has glibc, a shell, `cat` and nothing else: no Rust, no Python, no compiler, not
//! even the compiler's libraries. It runs as nobody, from a read-only place with spaces.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::document::skip;
use crate::outside::{outside, succeeded};
use crate::sweep::{FAULTY, Sweep};

/// Folder of the bundle on the host.
const PLACE: &str = "/a read-only place";
/// All kinds of cases, and none that fails.
const FEW: &str = "^(inference|calibration)/|/saxpy/";
/// The number of the user `nobody`.
const NOBODY: &str = "65534:65534";

/// A folder that becomes the root of a host.
struct Host {
    root: tempfile::TempDir,
}

impl Host {
    /// With a shell, and what it and these programs need of glibc.
    fn with_programs(programs: &[PathBuf]) -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let open = |folder: &Path, mode| {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(folder, permissions).expect("changed");
        };
        open(root.path(), 0o755);
        for folder in ["bin", "dev", "proc", "sys", "tmp", "a read-only place"] {
            fs::create_dir(root.path().join(folder)).expect("made");
        }
        open(&root.path().join("tmp"), 0o777);
        for device in ["null", "urandom"] {
            fs::write(root.path().join("dev").join(device), "").expect("made");
        }
        let host = Self { root };
        let shell = ["/bin/sh", "/bin/cat"].map(PathBuf::from);
        for program in &shell {
            let place = host.root.path().join(program.strip_prefix("/").expect("a whole path"));
            fs::copy(program, place).expect("every system has it");
        }
        for library in programs.iter().chain(&shell).flat_map(|program| glibcs(program)) {
            let place = host.root.path().join(library.strip_prefix("/").expect("a whole path"));
            fs::create_dir_all(place.parent().expect("a folder")).expect("made");
            fs::copy(library, place).expect("copied");
        }
        host
    }

    /// Runs a program of the bundle there as nobody. Its mounts vanish with it.
    fn run(&self, bundle: &Path, words: &[&str]) -> Output {
        let script = r#"set -e
            root=$1 bundle=$2 place=$3 user=$4
            shift 4
            mount -t proc proc "$root/proc"
            mount --rbind /sys "$root/sys"
            for device in null urandom; do mount --bind "/dev/$device" "$root/dev/$device"; done
            mount --bind "$bundle" "$root$place"
            mount -o remount,bind,ro "$root$place"
            cd "$root/tmp"
            exec env -i PATH=/bin "$(command -v chroot)" --userspec="$user" "$root" "$@""#;
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-c", script, "sh"]);
        unshare.arg(self.root.path()).arg(bundle).args([PLACE, NOBODY]).args(words);
        unshare.output().expect("unshare runs")
    }
}

/// The libraries of glibc that the loader gives to a program, with the loader.
fn glibcs(program: &Path) -> Vec<PathBuf> {
    let mut ldd = Command::new("ldd");
    let text = succeeded(&ldd.arg(program).output().expect("ldd runs"));
    let paths = text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from);
    let is_glibcs = |path: &PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        ["ld-", "libc.", "libm.", "libdl.", "libpthread.", "librt.", "libutil."]
            .iter()
            .any(|it| name.starts_with(it))
    };
    paths.filter(is_glibcs).collect()
}

/// Why no host can be made here, if so.
fn obstacle() -> Option<String> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", "mount -t tmpfs tmpfs /mnt && command -v chroot"]);
    match unshare.output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    }
}

#[test]
#[ignore = "nightly: builds the library from its packaged crates, and packs libtorch"]
fn nightly_a_bundle_runs_as_another_user_on_a_bare_host() {
    if let Some(why) = obstacle() {
        skip::hardware(format!("a host is made by root, who can mount and change the root: {why}"));
        return;
    }
    let outside = outside();
    let sweep = Sweep::build(&outside);
    let unpacked = &sweep.root;
    let bench = unpacked.join("benches/torch");
    assert!(bench.is_file());
    let host = Host::with_programs(&[bench, unpacked.join("lib/torch/lib/libtorch_cpu.so")]);

    let launcher = format!("{PLACE}/torch-bench-run");
    let listed = host.run(unpacked, &[&launcher, "--", "--list", FEW]);
    assert!(succeeded(&listed).lines().all(|line| line.ends_with(": benchmark")), "{listed:?}");
    let checked = host.run(unpacked, &[&launcher, "--check", "--verify"]);
    let checked = succeeded(&checked);
    assert!(checked.starts_with("this host fits: "), "{checked}");
    let results = "/tmp/results of nobody";
    let run = host.run(unpacked, &[&launcher, "--output", results, "--", "--quick", FEW]);
    println!("{}", String::from_utf8_lossy(&run.stderr));
    succeeded(&run);

    let is_one = |id: &String| !id.starts_with("operators/") && !id.contains(FAULTY);
    let planned: BTreeSet<String> = sweep.planned().into_iter().filter(is_one).collect();
    let criterion = host.root.path().join("tmp/results of nobody/criterion");
    let outcomes = sweep.outcomes(&criterion);
    assert_eq!(outcomes.keys().cloned().collect::<BTreeSet<_>>(), planned);
    assert!(outcomes.values().all(|outcome| outcome == "measured"), "{outcomes:?}");

    // A missing library is reported without a crash.
    fs::remove_dir_all(unpacked.join("lib/torch")).expect("it was there");
    let refused = host.run(unpacked, &[&launcher, "--check"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("libtorch_cpu.so") && said.contains("help: unpack the bundle again"),
        "{said}"
    );
    fs::remove_dir_all(unpacked.join("lib/system")).expect("it was there");
    let refused = host.run(unpacked, &[&launcher, "--check"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot be started on this host") && said.contains("libgcc_s"), "{said}");
}
