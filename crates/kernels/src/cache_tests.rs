use std::path::PathBuf;

use super::*;

const CUBIN: &[u8] = b"\x7fELF and the rest of a cubin";

fn never_made() -> Result<Vec<u8>, Refusal> {
    panic!("it is there")
}

fn is_cubin(content: &[u8]) -> bool {
    content.starts_with(ELF)
}

fn no_note(note: &str) {
    panic!("{note}")
}

/// A folder, and a cubin in it.
fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels/a.cu-sm_90-0.cubin");
    assert_eq!(cached(&path, is_cubin, || Ok(CUBIN.to_vec()), no_note).unwrap(), CUBIN);
    (folder, path)
}

#[test]
fn what_was_made_once_is_read() {
    let (_folder, path) = written();
    assert_eq!(cached(&path, is_cubin, never_made, no_note).unwrap(), CUBIN);
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

/// The file that says of itself what is true, of another content.
fn sealed(content: &[u8]) -> Vec<u8> {
    let mut file = (content.len() as u64).to_le_bytes().to_vec();
    file.extend(plan::fnv1a(content).to_le_bytes());
    file.extend(content);
    file
}

#[test]
fn a_file_that_is_not_as_it_was_written_is_made_again() {
    let (_folder, path) = written();
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole, sealed(CUBIN));
    let truncated = (0..whole.len()).map(|length| whole[..length].to_vec());
    let flipped = (0..whole.len()).map(|at| {
        let mut file = whole.clone();
        file[at] ^= 1;
        file
    });
    let longer = [whole.as_slice(), b"0"].concat();
    let others = [longer, CUBIN.to_vec(), sealed(b""), sealed(b"MZ and the rest")];
    for file in truncated.chain(flipped).chain(others) {
        fs::write(&path, &file).unwrap();
        let mut made = false;
        let make = || {
            made = true;
            Ok(CUBIN.to_vec())
        };
        assert_eq!(cached(&path, is_cubin, make, no_note).unwrap(), CUBIN);
        assert!(made, "{file:?}");
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn a_failed_compilation_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels/a.cu-sm_90-0.cubin");
    let refusal = Refusal::Failed("syntax".to_owned());
    assert_eq!(cached(&path, is_cubin, || Err(refusal.clone()), no_note), Err(refusal));
    assert!(!path.exists());
}

#[test]
fn where_nothing_can_be_written_the_kernel_is_used_and_the_file_noted() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("kernels");
    fs::write(&in_the_way, "").unwrap();
    let beneath = in_the_way.join("a.cubin");
    let other = tempfile::tempdir().unwrap();
    let taken = other.path().join("a.cubin");
    fs::create_dir(&taken).unwrap();
    for path in [beneath, taken] {
        let mut noted = String::new();
        let made = cached(&path, is_cubin, || Ok(CUBIN.to_vec()), |note| noted.push_str(note));
        assert_eq!(made.unwrap(), CUBIN);
        assert!(noted.starts_with(&format!("cannot write {}: ", path.display())), "{noted}");
    }
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1, "nothing partial is left");
}
