//! The file that marks an installation as whole. It is the last thing written into one.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::files;
use crate::flavour::Flavour;

const FILE: &str = "criterion-torch.manifest";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The version that the wheel states, with its build suffix.
    pub version: String,
    pub flavour: Flavour,
    /// On disk. Counting takes a while, so it is done once.
    pub bytes: u64,
}

impl Manifest {
    pub fn write(&self, place: &Path) -> Result<()> {
        let Self { version, flavour, bytes } = self;
        let path = place.join(FILE);
        fs::write(&path, format!("version={version}\nflavour={flavour}\nbytes={bytes}\n"))
            .map_err(|error| Error::io("write", &path, &error))
    }

    pub fn read(place: &Path) -> Result<Self> {
        let path = place.join(FILE);
        Self::parse(&files::read(&path)?)
            .ok_or_else(|| Error::new(format!("{} is not a manifest", path.display())))
    }

    fn parse(text: &str) -> Option<Self> {
        let value =
            |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let flavour = value("flavour")?;
        Some(Self {
            version: value("version")?.to_owned(),
            flavour: Flavour::ALL.into_iter().find(|known| known.as_str() == flavour)?,
            bytes: value("bytes")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let place = std::env::temp_dir().join(format!("xtask-manifest-{}", std::process::id()));
        fs::create_dir_all(&place).expect("make a scratch folder");
        assert!(Manifest::read(&place).is_err());
        for flavour in Flavour::ALL {
            let manifest = Manifest { version: "2.11.0+cu130".into(), flavour, bytes: 731_000_000 };
            manifest.write(&place).expect("write the manifest");
            assert_eq!(Manifest::read(&place), Ok(manifest));
        }
        fs::remove_dir_all(&place).expect("remove the scratch folder");
    }

    #[test]
    fn a_cut_off_manifest_is_none() {
        let whole = "version=2.11.0\nflavour=cpu\nbytes=1\n";
        assert!(Manifest::parse(whole).is_some());
        for cut in ["", "version=2.11.0\n", "version=2.11.0\nflavour=cpu\nbytes=", "flavour=rocm"] {
            assert_eq!(Manifest::parse(cut), None, "{cut:?}");
        }
    }
}
