//! The tensors in files of safetensors: a length of 8 bytes, a JSON header, then the data. Only headers are read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::files;

/// The longest header in bytes. The format's own library reads none that is longer.
const LONGEST_HEADER: u64 = 100_000_000;

/// A tensor in a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Tensor {
    #[serde(skip)]
    pub file: PathBuf,
    /// The word of the header.
    pub dtype: String,
    pub shape: Vec<u64>,
    /// Its first byte, and the one behind its last; in the header both count from the end of the header.
    #[serde(rename = "data_offsets")]
    pub bytes: [u64; 2],
}

/// All tensors of a model, by name, from every file of the format in its folder.
pub fn tensors(folder: &Path) -> Result<BTreeMap<String, Tensor>> {
    let mut all = files::inside(folder)?;
    all.retain(|it| it.extension() == Some("safetensors".as_ref()));
    if all.is_empty() {
        return Err(Error::usage(format!("{}: it has no file *.safetensors", folder.display()))
            .remedy("name the folder of the model's weights"));
    }
    let headers = all.iter().map(|file| header(file)).collect::<Result<Vec<_>>>()?;
    Ok(headers.into_iter().flatten().collect())
}

fn header(file: &Path) -> Result<BTreeMap<String, Tensor>> {
    let broken = |why: String| {
        Error::usage(format!("{}: {why}", file.display())).remedy("download the file again")
    };
    let unreadable = |error| Error::io("read", file, &error);
    let mut open = File::open(file).map_err(unreadable)?;
    let size = open.metadata().map_err(unreadable)?.len();
    let mut length = [0; 8];
    open.read_exact(&mut length).map_err(|_| broken(format!("{size} bytes hold no header")))?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER.min(size - 8) {
        return Err(broken(format!("a header of {length} bytes in a file of {size}")));
    }
    let mut text = Vec::new();
    open.take(length).read_to_end(&mut text).map_err(unreadable)?;
    let mut entries: BTreeMap<String, Value> = serde_json::from_slice(&text)
        .map_err(|error| broken(format!("its header is no JSON object: {error}")))?;
    entries.remove("__metadata__");
    let tensor = |(name, value): (String, Value)| {
        let read = serde_json::from_value(value);
        let mut tensor: Tensor = read.map_err(|error| broken(format!("{name}: {error}")))?;
        let ([begin, end], data) = (tensor.bytes, size - 8 - length);
        if begin > end || end > data {
            return Err(broken(format!("{name}: data_offsets [{begin}, {end}] in {data} bytes")));
        }
        tensor.bytes = tensor.bytes.map(|it| 8 + length + it);
        Ok((name, Tensor { file: file.to_owned(), ..tensor }))
    };
    entries.into_iter().map(tensor).collect()
}

#[cfg(test)]
pub mod tests {
    use std::fs;

    use super::*;

    /// A file of safetensors with tensors of a dtype and a shape, whose bytes are all `byte`.
    pub fn file(tensors: &[(&str, &str, &[u64], u64)]) -> Vec<u8> {
        let (mut header, mut data) = (serde_json::Map::new(), 0);
        header.insert("__metadata__".to_owned(), serde_json::json!({ "format": "pt" }));
        for &(name, dtype, shape, width) in tensors {
            let end = data + width * shape.iter().product::<u64>();
            let entry = serde_json::json!({
                "dtype": dtype, "shape": shape, "data_offsets": [data, end]
            });
            header.insert(name.to_owned(), entry);
            data = end;
        }
        let header = Value::Object(header).to_string();
        let data = vec![0; usize::try_from(data).expect("a small file")];
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
    }

    #[test]
    fn one_file_and_several_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let none = tensors(folder.path()).expect_err("no file").to_string();
        assert!(none.contains("it has no file *.safetensors"), "{none}");
        let a = file(&[("a", "F32", &[2, 3], 4), ("b", "I64", &[1], 8)]);
        let b = file(&[("c", "BF16", &[4], 2)]);
        fs::write(at("1.safetensors"), &a).expect("written");
        fs::write(at("2.safetensors"), &b).expect("written");
        let found = tensors(folder.path()).expect("two files");
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
        let end = a.len() as u64;
        assert_eq!((found["a"].bytes, &*found["a"].shape), ([end - 32, end - 8], &[2, 3][..]));
        assert_eq!(found["b"].bytes, [end - 8, end]);
    }

    #[test]
    fn broken_headers_are_refused() {
        let whole = file(&[("a", "F32", &[2, 3], 4)]);
        let with =
            |header: &str| [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
        for (bytes, said) in [
            (whole[..7].to_vec(), "7 bytes hold no header"),
            (
                u64::MAX.to_le_bytes().to_vec(),
                "a header of 18446744073709551615 bytes in a file of 8",
            ),
            (whole[..40].to_vec(), "in a file of 40"),
            (whole[..whole.len() - 1].to_vec(), "a: data_offsets [0, 24] in 23 bytes"),
            (with("[]"), "its header is no JSON object"),
            (with(r#"{"a": {"dtype": "F32", "shape": [1]}}"#), "a: missing field `data_offsets`"),
            (
                with(r#"{"a": {"dtype": "F32", "shape": [], "data_offsets": [4, 0]}}"#),
                "a: data_offsets [4, 0] in 0 bytes",
            ),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("model.safetensors");
            fs::write(&file, bytes).expect("written");
            let error = tensors(folder.path()).expect_err(said);
            let message = error.to_string();
            assert!(message.contains(said), "{message}");
            assert!(message.contains(&file.display().to_string()), "{message}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
