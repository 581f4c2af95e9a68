use super::*;
use crate::kernels::cuda::compile::source;

const SOURCE: Source = source!("gemlite.cu");
const HOPPER: Capability = Capability { major: 9, minor: 0 };

#[test]
fn the_name_follows_everything_that_decides_the_content() {
    let here = Path::new("/cache");
    let path = |source: &Source, capability, version| path(here, source, capability, version);
    let first = path(&SOURCE, HOPPER, (13, 0));
    let name = first.strip_prefix("/cache/kernels").unwrap().to_str().unwrap();
    assert!(name.starts_with("gemlite.cu-sm_90-") && name.ends_with(".cubin"), "{name}");
    assert_eq!(first, path(&SOURCE, HOPPER, (13, 0)));

    let edited = Source { text: "// another", ..SOURCE };
    let others = [
        path(&edited, HOPPER, (13, 0)),
        path(&SOURCE, Capability { major: 10, minor: 0 }, (13, 0)),
        path(&SOURCE, HOPPER, (13, 1)),
        path(&SOURCE, HOPPER, (12, 0)),
    ];
    assert!(!others.contains(&first));
}

#[test]
fn what_was_made_once_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels/a.cu-sm_90-0.cubin");
    let made = cached(&path, || Ok(b"cubin".to_vec())).unwrap();
    assert_eq!(made, b"cubin");
    let read = cached(&path, || panic!("it is there")).unwrap();
    assert_eq!(read, b"cubin");
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn a_failed_compilation_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels/a.cu-sm_90-0.cubin");
    let refusal = Refusal::Failed("syntax".to_owned());
    assert_eq!(cached(&path, || Err(refusal.clone())), Err(refusal));
    assert!(!path.exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernels");
    fs::write(&file, "in the way").unwrap();
    let refusal = cached(&file.join("a.cubin"), || Ok(Vec::new())).expect_err("a file is there");
    let Refusal::Skipped(text) = refusal else { panic!("{refusal}") };
    assert!(text.contains(file.to_str().unwrap()) && text.ends_with(REMEDY), "{text}");
}
