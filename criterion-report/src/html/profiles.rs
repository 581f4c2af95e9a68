//! Profiles in the form that the page's script reads, with links to their files.

use std::path::{Path, PathBuf};

use plan::{ProfileFile, ProfileFileKind};
use serde::Serialize;

use super::figures::Figure;
use crate::model::Entry;
use crate::render::object::document;
use crate::render::units;
use crate::views::profile;
use crate::visible;

/// Operations of a step that have a line of their own.
const SHOWN: usize = 12;
/// Largest picture in bytes that is embedded in the page.
const LARGEST_PICTURE: u64 = 256 << 10;

/// A case's profile in words.
#[derive(Serialize)]
pub struct Panel {
    head: String,
    /// Share of the step, then texts: name, shapes, calls, time of its own, total, device, MFLOP, inputs.
    lines: Vec<(Option<Figure>, [String; 8])>,
    /// Further facts, each with its label.
    facts: Vec<(&'static str, String)>,
    files: Vec<File>,
    /// The picture of the memory timeline as a data URL.
    timeline: Option<String>,
}

document! {
    struct File = new(file: &ProfileFile, links: &Links) {
        name: &'static str = profile::noun(file),
        path: String = visible::line(&file.path).into_owned(),
        size: String = units::bytes(file.bytes),
        /// The link from the page to the file; `None` if the file does not exist.
        link: Option<String> = links.link_to(&file.path),
    }
}

impl Panel {
    /// The panel of a case with a profile.
    pub fn from_entry(entry: &Entry<'_>, links: &Links) -> Option<Self> {
        let of = entry.row.record.profile.as_ref()?;
        let line = |it: profile::Line| {
            let texts = [
                it.name,
                it.shapes,
                it.calls,
                it.self_time,
                it.total_time,
                it.device_time,
                it.mflop,
                it.bytes,
            ];
            (it.share.map(Figure), texts.map(|text| visible::line(&text).into_owned()))
        };
        let facts = [
            ("device", "device", None),
            ("memory", "memory", profile::memory(of)),
            ("counters", "hardware", profile::counters(of, entry)),
            ("missing files", "files", None),
        ];
        let said = |(name, part, text): (_, &str, Option<String>)| {
            let text = text.or_else(|| of.absent.get(part).cloned())?;
            Some((name, visible::line(&text).into_owned()))
        };
        Some(Self {
            head: profile::head(of, entry),
            lines: profile::lines(of, SHOWN).into_iter().map(line).collect(),
            facts: facts.into_iter().filter_map(said).collect(),
            files: of.files.iter().map(|file| File::new(file, links)).collect(),
            timeline: of
                .file(ProfileFileKind::MemoryTimeline)
                .and_then(|it| links.picture(&it.path)),
        })
    }
}

/// The relative path from the page to the records' folder, to which file names are relative.
#[derive(Debug, Default)]
pub struct Links(Option<(PathBuf, String)>);

impl Links {
    /// Links from a page to the records; without a page file, from the current folder. There are no links if the
    /// records are not on this disk.
    pub fn new(page: Option<&Path>, records: Option<&Path>) -> Self {
        let folder = page.and_then(Path::parent).filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        let records = records.and_then(|it| it.canonicalize().ok());
        let way = folder.ok().zip(records).map(|(folder, records)| {
            let way = way(&folder, &records);
            (records, way)
        });
        Self(way)
    }

    fn link_to(&self, path: &str) -> Option<String> {
        let (_, way) = self.0.as_ref()?;
        self.file(path).map(|_| format!("{way}/{}", profile::encoded(path)))
    }

    /// A file that lies in the records' folder.
    fn file(&self, path: &str) -> Option<PathBuf> {
        let (records, _) = self.0.as_ref()?;
        profile::file(records, path)
    }

    /// An SVG as a data URL; `None` if it is too large, then only its link is shown. As an image it cannot run scripts.
    fn picture(&self, path: &str) -> Option<String> {
        let file = self.file(path)?;
        let bytes = std::fs::metadata(&file).ok()?.len();
        let svg = std::fs::read_to_string(file).ok().filter(|_| bytes <= LARGEST_PICTURE)?;
        Some(profile::picture(&svg))
    }
}

/// The relative URL from one folder to another. It begins with `.`, so that no part of it can be taken for a scheme.
fn way(from: &Path, to: &Path) -> String {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| "..".to_owned());
    let down = to.components().skip(common);
    let down = down.map(|it| profile::encoded(&it.as_os_str().to_string_lossy()));
    [".".to_owned()].into_iter().chain(up).chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_held_unless_it_is_large() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let links = Links::new(None, Some(root.path()));
        let write = |text: &str| std::fs::write(root.path().join("x.svg"), text).expect("written");
        assert_eq!(links.picture("x.svg"), None);
        write("<svg fill=\"#fff\"/>");
        let picture = links.picture("x.svg").expect("a picture");
        assert_eq!(picture, "data:image/svg+xml,%3Csvg%20fill%3D%22%23fff%22/%3E");
        write(&" ".repeat(LARGEST_PICTURE as usize + 1));
        assert_eq!(links.picture("x.svg"), None);
    }

    #[test]
    fn links_lead_from_the_page_to_files_that_are_there() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let records = root.path().join("target/criterion-torch");
        std::fs::create_dir_all(records.join("profiles/a b")).expect("created");
        std::fs::create_dir_all(root.path().join("pages")).expect("created");
        for name in ["profiles/a b/x#1.json", "profiles/outside.json"] {
            std::fs::write(records.join(name), "{}").expect("written");
        }
        let links = |page: &str| Links::new(Some(&root.path().join(page)), Some(&records));
        let link = |page: &str, path: &str| links(page).link_to(path);
        assert_eq!(
            link("pages/report.html", "profiles/a b/x#1.json").as_deref(),
            Some("./../target/criterion-torch/profiles/a%20b/x%231.json")
        );
        assert_eq!(
            link("target/criterion-torch/report.html", "profiles/outside.json").as_deref(),
            Some("./profiles/outside.json")
        );
        assert_eq!(link("report.html", "profiles/none.json"), None);
        assert_eq!(link("report.html", "profiles/a b/../outside.json"), None);
        assert_eq!(Links::new(None, None).link_to("profiles/outside.json"), None);
    }
}
