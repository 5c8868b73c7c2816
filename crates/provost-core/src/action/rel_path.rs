//! A normalized path inside the project.
//!
//! The sandbox keeps every path inside the project anyway. This type ensures that rules, hashes
//! and people see one spelling of each path, and that a path that tries to leave is refused
//! before anything uses it.

use std::fmt;
use std::str::FromStr;

use provost_proto::limits;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use unicode_normalization::UnicodeNormalization as _;

use super::text::{self, BadText, LineBreaks};

/// The longest name in a path, in bytes, of all common file systems.
const NAME: usize = 255;

/// A path relative to the project: names separated by single slashes, or `.` for the project
/// folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

/// Why a text is not a valid path inside the project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// The path is too long.
    #[error("a path has at most {} bytes", limits::MAX_PATH_BYTES)]
    TooLong,
    /// A name in it is too long for file systems.
    #[error("a name in a path has at most {NAME} bytes")]
    NameTooLong,
    /// The path is absolute.
    #[error("the path is absolute; paths are relative to the project")]
    Absolute,
    /// The path begins with `~`, which is not expanded.
    #[error("`~` is not expanded; paths are relative to the project")]
    Home,
    /// The path contains `..`.
    #[error("the path contains `..`; name the place itself")]
    Parent,
    /// The path contains a backslash, a separator on other systems.
    #[error("the path contains a backslash; names are separated by `/`")]
    Backslash,
    /// A character that looks like a dot or a slash.
    #[error("the path contains {}, which looks like a dot or a slash and is none", .0.escape_unicode())]
    Confusable(char),
    /// Invisible characters, or not normalized.
    #[error("the path {0}")]
    Text(#[from] BadText),
    /// The project folder, where something in it is required.
    #[error("the path names the project itself; name something in it")]
    Root,
}

impl RelPath {
    /// Normalizes a path: `a//b/./c/` is `a/b/c`, the empty path is the project.
    pub fn new(path: &str) -> Result<Self, BadPath> {
        if path.len() > limits::MAX_PATH_BYTES {
            return Err(BadPath::TooLong);
        }
        if path.starts_with('/') {
            return Err(BadPath::Absolute);
        }
        text::check_visible(path, LineBreaks::Forbidden)?;
        let names: Vec<_> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.first() == Some(&"~") {
            return Err(BadPath::Home);
        }
        names.iter().try_for_each(|name| check_name(name))?;
        Ok(if names.is_empty() { Self::root() } else { Self(names.join("/")) })
    }

    /// The project folder.
    pub fn root() -> Self {
        Self(".".to_owned())
    }

    /// The path, `.` for the project folder.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the project folder.
    pub fn is_root(&self) -> bool {
        self.0 == "."
    }

    /// The names from the project folder down; none for the project folder.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| *name != ".")
    }

    /// The last name; `None` for the project folder.
    pub fn name(&self) -> Option<&str> {
        self.components().next_back()
    }

    /// The parent folder; `None` for the project folder.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let above = self.0.rsplit_once('/').map(|(above, _)| Self(above.to_owned()));
        Some(above.unwrap_or_else(Self::root))
    }

    /// Whether this is `above` or below it.
    pub fn is_beneath(&self, above: &Self) -> bool {
        above.is_root()
            || self.0.strip_prefix(&above.0).is_some_and(|rest| {
                let mut rest = rest.chars();
                matches!(rest.next(), None | Some('/'))
            })
    }

    /// The path for display: quoted unless it is plain.
    pub fn display_quoted(&self) -> String {
        let plain = |c: char| c.is_alphanumeric() || "._/-+@".contains(c);
        let is_plain = self.0.chars().all(plain) && text::escape_name(&self.0) == self.0;
        if is_plain { self.0.clone() } else { text::quoted_name(&self.0) }
    }
}

fn check_name(name: &str) -> Result<(), BadPath> {
    match name {
        ".." => return Err(BadPath::Parent),
        _ if name.contains('\\') => return Err(BadPath::Backslash),
        _ if name.len() > NAME => return Err(BadPath::NameTooLong),
        _ if name.is_ascii() => return Ok(()),
        _ => {}
    }
    let slash = |c: &char| std::iter::once(*c).nfkc().any(|plain| matches!(plain, '/' | '\\'));
    if let Some(c) = name.chars().find(|c| !c.is_ascii() && slash(c)) {
        return Err(BadPath::Confusable(c));
    }
    let dots: String = name.nfkc().collect();
    match name.chars().find(|c| !c.is_ascii()) {
        Some(c) if matches!(&*dots, "." | "..") => Err(BadPath::Confusable(c)),
        _ => Ok(()),
    }
}

impl From<RelPath> for String {
    fn from(path: RelPath) -> Self {
        path.0
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Default for RelPath {
    fn default() -> Self {
        Self::root()
    }
}

impl AsRef<std::path::Path> for RelPath {
    fn as_ref(&self) -> &std::path::Path {
        std::path::Path::new(&self.0)
    }
}

impl FromStr for RelPath {
    type Err = BadPath;

    fn from_str(path: &str) -> Result<Self, BadPath> {
        Self::new(path)
    }
}

impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = String::deserialize(deserializer)?;
        Self::new(&path).map_err(de::Error::custom)
    }
}

/// Deserializes a path that is not the project folder.
pub(super) fn deserialize_non_root<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<RelPath, D::Error> {
    let path = RelPath::deserialize(deserializer)?;
    if path.is_root() { Err(de::Error::custom(BadPath::Root)) } else { Ok(path) }
}
