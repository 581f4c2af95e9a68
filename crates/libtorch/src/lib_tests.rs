use super::*;

const HEADER: &str = "#pragma once\n/// major version\n#define TORCH_VERSION_MAJOR 2\n\n\
    #define TORCH_VERSION_MINOR 11\n#define TORCH_VERSION_PATCH 0\n\
    #define TORCH_VERSION \\\n  \"2.11.0\"\n";

#[test]
fn every_form_of_a_version_is_read() {
    let python = "from typing import Optional\n__all__ = ['__version__']\n\
        __version__ = '2.11.0+cu130'\ndebug = False\n";
    assert_eq!(from_build_version("2.11.0+cpu\n"), Some("2.11.0+cpu".into()));
    assert_eq!(from_build_version("\n"), None);
    assert_eq!(from_python(python), Some("2.11.0+cu130".into()));
    assert_eq!(from_python("__all__ = ['__version__']"), None);
    assert_eq!(from_header(HEADER), Some("2.11.0".into()));
    assert_eq!(from_header("#define TORCH_VERSION_MAJOR 2"), None);
}

#[test]
fn the_build_suffix_does_not_count_and_a_pre_release_is_not_the_release() {
    for (version, same) in
        [("2.11.0", true), ("2.11.0+cpu", true), ("2.11.0a0+git", false), ("2.10.0", false)]
    {
        assert_eq!(release(version) == VERSION, same, "{version}");
    }
}

#[test]
fn a_library_that_was_cut_is_noticed() {
    let site = tempfile::tempdir().expect("a temporary folder");
    let root = site.path().join("torch");
    let put = |file: &str, bytes: &[u8]| {
        let path = site.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, bytes).expect("written");
    };
    let cpu = format!("torch/{}", cpu_library());
    put("torch/version.py", b"__version__ = '2.11.0'");
    put("torch/lib/libc10.so", b"elf");
    put(&format!("torch/{TORCH_HEADER}"), b"// header");
    // The largest library's own header: 2 sections of 64 bytes from byte 128 on.
    let mut elf = vec![0; 256];
    elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
    (elf[0x28], elf[0x3a], elf[0x3c]) = (128, 64, 2);
    put(&cpu, &elf);
    Libtorch::inspect(&root).expect("whole");
    put(&cpu, &elf[..255]);
    let refusal = || Libtorch::inspect(&root).expect_err("it was cut");
    assert!(refusal().contains("has 255 bytes, and 256 by its own header"), "{}", refusal());
    // The wheel's list knows the others, too.
    put(&cpu, &elf);
    let record = format!(
        "torch/__init__.py,sha256=x,1\n{cpu},sha256=x,256\ntorch/lib/libc10.so,sha256=x,4\n\
         torch/lib/libtorch_cuda.so,sha256=x,9\ntorch-2.11.0.dist-info/RECORD,,\n"
    );
    put("torch-2.11.0.dist-info/RECORD", record.as_bytes());
    assert!(refusal().ends_with("lib/libc10.so has 3 bytes, and 4 in its wheel"), "{}", refusal());
    put("torch/lib/libc10.so", b"elf!");
    Libtorch::inspect(&root).expect("without the libraries of CUDA it is the CPU's");
    fs::remove_file(root.join("lib/libc10.so")).expect("it was there");
    assert!(refusal().contains("lib/libc10.so: "), "{}", refusal());
}

#[test]
fn a_folder_is_refused_until_it_is_whole() {
    let root = std::env::temp_dir().join(format!("xtask-libtorch-{}", std::process::id()));
    let put = |file: &str, text: &str| {
        let path = root.join(file);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .expect("make a scratch folder");
        fs::write(path, text).expect("write a scratch file");
    };
    let refusal = || Libtorch::inspect(&root).expect_err("not whole yet").replace('\\', "/");

    assert!(refusal().ends_with("is not a folder"));
    put("lib/libc10.so", "elf");
    assert!(refusal().contains("none of build-version, version.py, include/"), "{}", refusal());
    put("include/torch/headeronly/version.h", HEADER);
    assert!(refusal().ends_with(&format!("{} is missing", cpu_library())), "{}", refusal());
    put(cpu_library(), "elf");
    put(TORCH_HEADER, "");
    assert!(refusal().ends_with("torch.h is missing"), "{}", refusal());
    put(TORCH_HEADER, "// header");
    let found = Libtorch::inspect(&root).expect("whole now");
    assert_eq!((found.version.as_str(), found.has_cuda), ("2.11.0", false));
    put(CUDA_LIBRARY, "elf");
    put("build-version", "2.10.0+cpu");
    assert!(refusal().ends_with("wanted 2.11.0, found 2.10.0+cpu"), "{}", refusal());
    fs::remove_dir_all(&root).expect("remove the scratch folder");
}
