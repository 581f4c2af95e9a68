//! The facts that the dynamic loader takes from a program or library.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader64, SHT_DYNAMIC};
use object::read::elf::{Dyn as _, FileHeader as _, SectionHeader as _};
use object::{Endianness, ReadCache, ReadRef};

use crate::error::{Error, Result};

/// Requirements of a program or library towards the loader.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Elf {
    /// Names of libraries.
    pub needed: Vec<String>,
    /// The folders that it names itself.
    pub run_path: Vec<String>,
    /// Versions of symbols, such as `GLIBC_2.34`.
    pub versions: BTreeSet<String>,
}

impl Elf {
    /// Reads the headers of a file; none if it is not a 64-bit ELF file, as a script is not.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let unreadable = |error: &std::io::Error| Error::io("read", path, error);
        let file = File::open(path).map_err(|error| unreadable(&error))?;
        let cache = ReadCache::new(file);
        if cache.read_bytes_at(0, 5) != Ok(b"\x7fELF\x02".as_slice()) {
            return Ok(None);
        }
        Self::parse(&cache).map(Some).map_err(|error| damaged(path, &error))
    }

    fn parse<'d, R: ReadRef<'d>>(data: R) -> object::Result<Self> {
        let header = FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, data)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut elf = Self::default();
        let dynamic = sections.dynamic_table(endian, data)?;
        for entry in dynamic.iter() {
            match entry.tag {
                DT_NEEDED => elf.needed.push(text(dynamic.string(entry)?)),
                DT_RPATH | DT_RUNPATH => {
                    let folders = text(dynamic.string(entry)?);
                    elf.run_path.extend(folders.split(':').map(str::to_owned));
                }
                _ => {}
            }
        }
        if let Some((mut needs, link)) = sections.gnu_verneed(endian, data)? {
            let strings = sections.strings(endian, data, link)?;
            while let Some((_, mut versions)) = needs.next()? {
                while let Some(version) = versions.next()? {
                    elf.versions.insert(text(version.name(endian, strings)?));
                }
            }
        }
        Ok(elf)
    }
}

/// A program with a DT_RUNPATH in the place of its DT_RPATH; none if it has no DT_RPATH. The folder that it names is the
/// build host's libtorch. The loader searches DT_RPATH before LD_LIBRARY_PATH, by which the runner names the bundle's
/// libtorch, and DT_RUNPATH after it.
pub fn yielding_to_library_path(path: &Path) -> Result<Option<Vec<u8>>> {
    let mut program = fs::read(path).map_err(|error| Error::io("read", path, &error))?;
    let place = rpath(&program).map_err(|error| damaged(path, &error))?;
    Ok(place.map(|(offset, tag)| {
        program[offset..offset + tag.len()].copy_from_slice(&tag);
        program
    }))
}

/// The place of the tag of a DT_RPATH, and the bytes of the other tag.
fn rpath(program: &[u8]) -> object::Result<Option<(usize, [u8; 8])>> {
    let header = FileHeader64::<Endianness>::parse(program)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, program)?;
    let Some(section) = sections.iter().find(|it| it.sh_type(endian) == SHT_DYNAMIC) else {
        return Ok(None);
    };
    let Some((entries, _)) = section.dynamic(endian, program)? else { return Ok(None) };
    let index = entries.iter().position(|entry| entry.tag(endian) == DT_RPATH);
    let tag = match endian {
        Endianness::Little => DT_RUNPATH.to_le_bytes(),
        Endianness::Big => DT_RUNPATH.to_be_bytes(),
    };
    let start = section.sh_offset(endian) as usize;
    Ok(index.map(|index| (start + index * size_of_val(&entries[0]), tag)))
}

fn damaged(path: &Path, error: &object::Error) -> Error {
    Error::new(format!("{} is not a whole program or library: {error}", path.display()))
        .remedy("build it again")
}

#[cfg(test)]
#[path = "elf_tests.rs"]
pub mod tests;
