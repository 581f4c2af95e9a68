use std::ffi::OsStr;

use super::*;

/// Names the executable of the bench target to the process that is to say its folder.
const PROGRAM: &str = "RESULTS_TEST_PROGRAM";
const SAID: &str = "folder ";

/// The program that cargo starts: this test program, whose code prints the folder.
const BENCH: &str = r#"
fn main() {
    let program = std::env::current_exe().expect("it has a path");
    let mut says = std::process::Command::new(std::env::var_os("RESULTS_TEST").expect("it is set"));
    says.args(["--exact", "results::tests::the_folder_is_cargos", "--nocapture"]);
    let status = says.env("RESULTS_TEST_PROGRAM", program).status().expect("it starts");
    assert!(status.success());
}
"#;

/// A command without the variables by which this test itself was told where to build.
fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_remove(HOME).env_remove(PROGRAM);
    for name in TARGET {
        command.env_remove(name);
    }
    command.env("RESULTS_TEST", env::current_exe().expect("it has a path"));
    command
}

fn printed_folder(command: &mut Command) -> PathBuf {
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let folder = text.lines().find_map(|line| Some(line.split_once(SAID)?.1.to_owned()));
    folder.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr))).into()
}

#[test]
fn the_folder_is_cargos() {
    if let Some(program) = env::var_os(PROGRAM) {
        let folder = match program.is_empty() {
            true => of_tool(&env::current_dir().expect("it has one")).0,
            false => of_bench_target(Path::new(&program)).expect("it has a folder"),
        };
        println!("\n{SAID}{}", folder.display());
        return;
    }
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let root = scratch.path().canonicalize().expect("it exists");
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    let member = root.join("member");
    write("Cargo.toml", "[workspace]\nmembers = [\"member\"]\nresolver = \"2\"\n");
    write(
        "member/Cargo.toml",
        "[package]\nname = \"member\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
         [[bench]]\nname = \"b\"\nharness = false\n",
    );
    write("member/src/lib.rs", "");
    write("member/benches/b.rs", BENCH);
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let sub = member.join("src");
    let build = [("CARGO_BUILD_BUILD_DIR", "../built")];
    for (here, options, variables, expected, is_tools) in [
        (&member, "", &[][..], "target/criterion", true),
        (&sub, "", &[("CARGO_TARGET_DIR", "../made")], "member/made/criterion", true),
        (&sub, "--target-dir ../given", &[], "member/given/criterion", false),
        (&member, "", &build, "target/criterion", true),
        (&member, "--target-dir given", &build, "member/given/criterion", false),
        (&member, "--config build.target-dir='said'", &build, "member/said/criterion", false),
        (&sub, "", &[(HOME, "mine")], "member/src/mine", true),
        (&sub, "", &[(HOME, "../out/..")], "member", true),
        (&sub, "", &[(HOME, ".")], "member/src", true),
        (&sub, "", &[(HOME, ""), ("CARGO_TARGET_DIR", "made")], "member/src/made/criterion", true),
    ] {
        let what = format!("in {} {options} {variables:?}", here.display());
        let mut bench = command(&cargo, here);
        bench.args(["bench", "--quiet", "--offline", "--profile", "dev"]);
        bench.args(options.split_whitespace()).envs(variables.iter().copied());
        assert_eq!(printed_folder(&mut bench), root.join(expected), "{what}");
        let mut tool = command(env::current_exe().expect("it has a path"), here);
        tool.args(["--exact", "results::tests::the_folder_is_cargos", "--nocapture"]);
        tool.env(PROGRAM, "").envs(variables.iter().copied());
        assert_eq!(printed_folder(&mut tool) == root.join(expected), is_tools, "{what}");
    }
}

#[test]
fn records_lie_beside_criterions_folder() {
    let here = env::current_dir().expect("it has one");
    let above = here.parent().expect("it lies in a folder");
    for (criterion, expected) in [
        ("target/criterion", Path::new("target/criterion-torch")),
        ("/ci/results/", Path::new("/ci/criterion-torch")),
        ("results", Path::new("criterion-torch")),
        (".", &above.join("criterion-torch")),
        ("src/../..", &above.with_file_name("criterion-torch")),
        ("none/..", &above.join("criterion-torch")),
    ] {
        assert_eq!(records(Path::new(criterion)), expected, "{criterion}");
    }
}

#[test]
fn options_have_their_values_joined_or_apart() {
    let words =
        "cargo bench --target-dir a --config=b=1 --configs c --config d=2 -- --target-dir e";
    let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
    let found = |name| values(&words, name).collect::<Vec<_>>();
    assert_eq!(
        (found("--target-dir"), found("--config")),
        (vec!["a".into()], vec!["b=1".into(), "d=2".into()])
    );
}
