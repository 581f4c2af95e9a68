//! The locked files that `setup` has pip install: whole, and of one mind.

use std::fs;
use std::path::{Path, PathBuf};

use libtorch::{TORCHAO, TRITON, VERSION};

/// A requirement: `torch==2.11.0 ; sys_platform == 'linux' --hash=sha256:…`.
struct Line {
    name: String,
    version: String,
    marker: String,
    hashes: Vec<String>,
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("requirements").join(name)
}

fn read(name: &str) -> String {
    let path = path(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lines(name: &str) -> Vec<Line> {
    let text = read(name).replace("\\\n", " ");
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| parse(line).unwrap_or_else(|| panic!("{name}: {line}"))).collect()
}

fn parse(line: &str) -> Option<Line> {
    let mut parts = line.split(" --hash=sha256:").map(|part| part.trim().to_owned());
    let wanted = parts.next()?;
    let (wanted, marker) = wanted.split_once(" ; ").unwrap_or((&wanted, ""));
    let (name, version) = wanted.split_once("==")?;
    let marker = marker.to_owned();
    Some(Line { name: name.into(), version: version.into(), marker, hashes: parts.collect() })
}

const FILES: [&str; 3] = ["cpu.txt", "cuda.txt", "python.txt"];

#[test]
fn every_wheel_of_every_platform_has_a_hash() {
    for file in FILES {
        for Line { name, hashes, .. } in lines(file) {
            // Linux on x86_64 and aarch64, macOS on arm64; Python 3.10 to 3.14.
            let fewest = match &*name {
                "torch" | "markupsafe" => 3 * 5,
                "triton" => 2 * 5,
                "numpy" => 3,
                "cuda-bindings" => 2,
                name if name.starts_with("nvidia-") => 2,
                // One wheel for all.
                _ => 1,
            };
            assert!(hashes.len() >= fewest, "{file}: {name}: {} of {fewest}", hashes.len());
            for hash in hashes {
                let hexadecimal = hash.bytes().all(|byte| byte.is_ascii_hexdigit());
                assert!(hash.len() == 64 && hexadecimal, "{file}: {name}: {hash}");
            }
        }
    }
}

#[test]
fn the_files_agree_with_each_other_and_with_the_code() {
    let [cpu, cuda, python] = FILES.map(lines);
    for (few, many) in [(&cpu, &cuda), (&cuda, &python)] {
        for it in few {
            let same = |other: &&Line| (&other.name, &other.version) == (&it.name, &it.version);
            let other = many.iter().find(same).unwrap_or_else(|| panic!("{}", it.name));
            assert_eq!(other.hashes, it.hashes, "{}", it.name);
        }
    }
    for (file, name, version) in
        [(&cpu, "torch", VERSION), (&python, "torchao", TORCHAO), (&python, "triton", TRITON)]
    {
        assert!(file.iter().any(|it| it.name == name && it.version == version), "{name} {version}");
    }
}

#[test]
fn libtorchs_wheels_do_not_depend_on_the_python_that_fetches_them() {
    for file in ["cpu.txt", "cuda.txt"] {
        for Line { name, marker, .. } in lines(file) {
            assert!(
                ["", "sys_platform == 'linux'"].contains(&&*marker),
                "{file}: {name}: {marker}"
            );
        }
    }
}

#[test]
fn every_file_says_how_it_is_made_and_names_no_index() {
    let mut there: Vec<_> = fs::read_dir(path(""))
        .expect("list the files")
        .map(|entry| entry.expect("list the files").file_name().into_string().expect("a name"))
        .filter(|name| name.ends_with(".txt"))
        .collect();
    there.sort();
    assert_eq!(there, FILES);
    for file in FILES {
        let text = read(file);
        let input = file.replace(".txt", ".in");
        assert!(path(&input).exists(), "{input} is missing");
        let command = text.lines().nth(1).expect("a second line");
        assert!(command.starts_with("#    uv pip compile "), "{file}: {command}");
        assert!(command.ends_with(&format!(" {input} -o {file}")), "{file}: {command}");
        assert!(!text.contains("://"), "{file} names a host");
    }
}
