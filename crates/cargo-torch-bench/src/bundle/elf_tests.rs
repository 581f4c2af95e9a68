use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::*;

/// A library made by the compiler with which Rust links.
pub fn library(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let source = folder.join(format!("{name}.c"));
    fs::create_dir_all(folder).expect("a folder");
    fs::write(&source, "int answer(void) { return 42; }\n").expect("a source");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&path).arg(&source).args(["-Wl,--no-as-needed"]);
    let status = cc.arg(format!("-L{}", folder.display())).args(arguments).status();
    assert!(status.expect("cc runs").success(), "{arguments:?}");
    fs::remove_file(source).expect("it was there");
    path
}

#[test]
fn a_program_says_what_it_needs() {
    let program = std::env::current_exe().expect("a path");
    let elf = Elf::read(&program).expect("readable").expect("an ELF file");
    assert!(elf.needed.iter().any(|name| name.starts_with("libc.so")), "{elf:?}");
    let glibc = elf.versions.iter().filter(|name| name.starts_with("GLIBC_2."));
    assert!(glibc.count() > 3, "{elf:?}");
}

#[test]
fn what_is_no_elf_file_has_no_needs_and_half_a_one_is_an_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        path
    };
    assert_eq!(Elf::read(&put("script", b"#!/bin/sh\n")), Ok(None));
    assert_eq!(Elf::read(&put("empty", b"")), Ok(None));
    let whole = library(folder.path(), "liba.so", &[]);
    let half = fs::read(whole).expect("readable");
    let half = put("half", &half[..half.len() / 2]);
    let error = Elf::read(&half).expect_err("it is cut off");
    assert!(error.what().contains("half is not a whole program"), "{error}");
}

#[test]
fn an_rpath_yields_to_the_library_path() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    library(folder.path(), "liba.so", &[]);
    let with = |dtags: &str| {
        let arguments = ["-la", "-Wl,-rpath,/build/host", dtags];
        let path = library(folder.path(), "libb.so", &arguments);
        let elf = Elf::read(&path).expect("readable").expect("an ELF file");
        assert_eq!(elf.run_path, ["/build/host"]);
        assert!(elf.needed.iter().any(|name| name == "liba.so"), "{elf:?}");
        path
    };
    let path = with("-Wl,--disable-new-dtags");
    let bytes = yielding_to_library_path(&path).expect("whole").expect("it has an rpath");
    assert_eq!(rpath(&bytes), Ok(None));
    fs::write(&path, &bytes).expect("written");
    let elf = Elf::read(&path).expect("readable").expect("an ELF file");
    assert_eq!(elf.run_path, ["/build/host"], "now of a runpath");

    let path = with("-Wl,--enable-new-dtags");
    assert!(yielding_to_library_path(&path).expect("whole").is_none(), "a runpath is left alone");
}
