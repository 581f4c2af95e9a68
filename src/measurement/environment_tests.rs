use std::process::Command;

use super::*;

#[test]
fn a_branch_has_a_name_and_a_commit_alone_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let status = Command::new("git")
            .current_dir(folder.path())
            .args(["-c", "user.name=n", "-c", "user.email=n@example.org"])
            .args(args)
            .status();
        assert!(status.unwrap().success(), "{args:?}");
    };
    assert_eq!(Git::new(folder.path()), Git::default(), "outside a repository");
    git(&["init", "-q", "-b", "faster"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let said = Git::new(folder.path());
    let Git { revision, branch, refusal: None } = said else { panic!("{said:?}") };
    assert_eq!((revision.as_ref().map(String::len), branch.as_deref()), (Some(12), Some("faster")));
    git(&["checkout", "-q", "--detach"]);
    assert_eq!(Git::new(folder.path()), Git { revision, ..Git::default() });
}

#[test]
fn what_git_refuses_has_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let status = Command::new("git").current_dir(folder.path()).args(args).status();
        assert!(status.unwrap().success(), "{args:?}");
    };
    git(&["init", "-q"]);
    let Git { revision, refusal, .. } = Git::new(folder.path());
    assert_eq!(revision, None);
    let reason = refusal.expect("there is no commit yet");
    assert!(reason.contains("HEAD") || reason.contains("single revision"), "{reason}");
    // SAFETY: geteuid takes nothing and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        std::os::unix::fs::chown(folder.path(), Some(12345), Some(12345)).unwrap();
        let reason = Git::new(folder.path()).refusal.expect("another user's");
        assert!(reason.contains("dubious ownership") && !reason.contains('\n'), "{reason}");
        assert!(reason.contains("git config --global --add safe.directory"), "{reason}");
    }
}

#[test]
fn versions_are_found_in_libtorchs_own_words() {
    let x86 = "PyTorch built with:\n  - GCC 13.3\n  - Intel(R) oneAPI Math Kernel Library Version \
               2024.2-Product Build 20240605 for Intel(R) 64 architecture applications\n  \
               - Intel(R) MKL-DNN v3.10.2 (Git Hash f1d471933dc852f956fd05389f9313c7148783d5)\n";
    assert_eq!(mkl(x86).as_deref(), Some("2024.2"));
    assert_eq!(onednn(x86).as_deref(), Some("3.10.2"));
    let older = "  - Intel(R) Math Kernel Library Version 2020.0.0 Product Build 20191122 for\n";
    assert_eq!(mkl(older).as_deref(), Some("2020.0.0"));
    let arm = "PyTorch built with:\n  - GCC 11.2\n  - OpenMP 201511 (a.k.a. OpenMP 4.5)\n";
    assert_eq!((mkl(arm), onednn(arm)), (None, None));
}

#[test]
fn libtorch_tells_its_circumstances() {
    let configuration = runtime::facts().unwrap().configuration;
    let numerics = numerics::read().unwrap();
    println!("{:?} {:?} {numerics:?}", mkl(&configuration), onednn(&configuration));
    assert_eq!(mkl(&configuration).is_some(), configuration.contains("Math Kernel Library"));
    assert_eq!(onednn(&configuration).is_some(), configuration.contains("MKL-DNN v"));
}
