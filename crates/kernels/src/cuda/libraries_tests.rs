use super::*;
use std::fs;
use std::process::Command;

fn file(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    path
}

#[test]
fn the_library_is_found_in_every_layout() {
    for layout in ["", "nvidia/cu13/lib/", "nvidia/cuda_nvrtc/lib/"] {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(library_under(root.path()), None);
        file(root.path(), &format!("{layout}libnvrtc.alt.so.13"));
        file(root.path(), &format!("{layout}libnvrtc-builtins.so.13.0"));
        assert_eq!(library_under(root.path()), None);
        let old = file(root.path(), &format!("{layout}libnvrtc.so.12"));
        assert_eq!(library_under(root.path()), Some(old));
        let new = file(root.path(), &format!("{layout}libnvrtc.so.13"));
        assert_eq!(library_under(root.path()), Some(new));
    }
}

#[test]
fn the_packages_beside_libtorch_are_searched() {
    let packages = tempfile::tempdir().unwrap();
    let lib = packages.path().join("torch/lib");
    fs::create_dir_all(&lib).unwrap();
    assert_eq!(nvrtc_near(&lib), None);
    let package = file(packages.path(), "nvidia/cu13/lib/libnvrtc.so.13");
    assert_eq!(nvrtc_near(&lib), Some(package));
    let own = file(&lib, "libnvrtc.so.13");
    assert_eq!(nvrtc_near(&lib), Some(own));
}

#[test]
fn libtorchs_own_folder_is_known() {
    let lib = libtorch_folder().expect("libtorch is loaded");
    assert!(lib.join("libtorch_cpu.so").exists(), "{}", lib.display());
}

#[test]
fn a_chosen_folder_without_it_is_skipped_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = find_nvrtc(Some(folder.path().into())).expect_err("it is empty");
    let Refusal::Skipped(text) = refusal else { panic!("{refusal}") };
    let expected = format!(
        "CRITERION_TORCH_NVRTC is {}, which holds neither libnvrtc.so.13 nor libnvrtc.so.12",
        folder.path().display()
    );
    assert_eq!(text, expected);
}

#[test]
fn a_file_that_is_no_library_is_skipped_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let library = file(folder.path(), "libnvrtc.so.13");
    let refusal = find_nvrtc(Some(folder.path().into())).expect_err("it is empty");
    let Refusal::Skipped(text) = refusal else { panic!("{refusal}") };
    assert!(text.starts_with(&format!("cannot load {}: ", library.display())), "{text}");
}

#[test]
fn what_is_missing_is_skipped_with_its_remedy() {
    let not_found = not_found(driver_major());
    assert!(not_found.contains(VARIABLE), "{not_found}");
    match nvrtc() {
        Ok(found) => println!("NVRTC is there: {found:?}"),
        Err(Refusal::Skipped(text)) => {
            assert!(text == not_found || text.starts_with(VARIABLE), "{text}");
        }
        Err(other) => panic!("{other}"),
    }
    match driver() {
        Ok(()) => println!("the driver is there"),
        Err(Refusal::Skipped(text)) => {
            assert!(text.contains("driver") && text.contains("libcuda.so"), "{text}");
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_package_is_of_the_drivers_major_version() {
    for (driver, package) in [
        (Some(12), "nvidia-cuda-nvrtc-cu12==12."),
        (Some(13), "nvidia-cuda-nvrtc==13."),
        (None, "nvidia-cuda-nvrtc==13."),
    ] {
        let text = not_found(driver);
        assert!(text.contains(&format!("--target DIR {package}")), "{text}");
    }
}

/// A driver of CUDA 12.8 whose `cuInit` returns `code`.
fn fake_driver(folder: &Path, name: &str, code: i32) -> String {
    let source = folder.join("driver.c");
    let text = "int cuInit(unsigned flags) { return CODE; }
        int cuDriverGetVersion(int* version) { *version = 12080; return 0; }
        int cuGetErrorString(int error, const char** text) { *text = \"a stub\"; return 0; }";
    fs::write(&source, text).unwrap();
    let library = folder.join(name);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", &format!("-DCODE={code}"), "-o"]).arg(&library).arg(source);
    assert!(command.status().expect("the shim needs a compiler too").success());
    library.display().to_string()
}

/// Set where the test below runs in a process of its own, with another loader's path.
const CHILD: &str = "LIBRARIES_TESTS_CHILD";

/// Both libraries stay loaded for good, so each case is a process.
#[test]
fn the_driver_is_the_one_of_its_own_name() {
    if std::env::var_os(CHILD).is_some() {
        println!("{:?} {:?}", driver(), driver_major());
        return;
    }
    let said = |folder: &Path| {
        let before = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["the_driver_is_the_one_of_its_own_name", "--nocapture"])
            .env("LD_LIBRARY_PATH", format!("{}:{before}", folder.display()))
            .env(CHILD, "1")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (works, is_stub) = (0, 34);
    let folder = tempfile::tempdir().unwrap();
    let own = fake_driver(folder.path(), "libcuda.so.1", works);
    let text = said(folder.path());
    assert!(text.contains("Ok(()) Some(12)"), "{text}");

    let other = fake_driver(folder.path(), "libcuda.so", is_stub);
    let text = said(folder.path());
    let reason =
        format!("the CUDA driver is {own}, but the loader's path has another one, {other}");
    assert!(text.contains(&reason) && text.contains("LD_LIBRARY_PATH"), "{text}");

    let folder = tempfile::tempdir().unwrap();
    let own = fake_driver(folder.path(), "libcuda.so.1", is_stub);
    let text = said(folder.path());
    assert!(text.contains(&format!("the CUDA driver, {own}, does not start: ")), "{text}");
}
