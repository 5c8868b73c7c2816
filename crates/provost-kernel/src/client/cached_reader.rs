//! Reads of files that are in memory, in the daemon's own process.
//!
//! Most reads of agents are of small files that Linux has in its cache. Sending such a read to
//! the kernel process and waiting for the response takes several times as long as the read
//! itself. Such a read cannot block: what is not in memory, crosses a mount point or a link, is
//! large, contains a secret or fails in any way is left to the kernel process, which also knows
//! the reason.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use provost_core::action::{Action, BytesEncoding, FileAction, FileRange, ReadFile};
use provost_core::permit::Permit;
use provost_core::redact::Redactor;
use provost_proto::RawJson;
use provost_proto::kernel::Preconditions;
use provost_sandbox::root_dir::{DirIdentity, RootDir};

use crate::files::{ReadFileResult, whole_file_result};

/// The largest file that is read: copying, hashing and searching more would keep other requests
/// of the daemon waiting.
const MAX_CACHED_READ_BYTES: u64 = 64 * 1024;

/// Reads files of one project that are in memory.
#[derive(Debug)]
pub struct CachedReader {
    project: PathBuf,
    redactor: Arc<Redactor>,
    /// The folder that the kernel process has open, once a read there confirmed it.
    confirmed: OnceLock<DirIdentity>,
}

/// The folder at the project's path before a request to the kernel process.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnconfirmedProject(Option<DirIdentity>);

impl CachedReader {
    /// A reader of the project at this path, for a kernel that redacts the same secrets.
    pub fn new(project: PathBuf, redactor: Arc<Redactor>) -> Self {
        Self { project, redactor, confirmed: OnceLock::new() }
    }

    /// Executes a read, or returns the permit for the kernel process.
    pub(super) fn try_execute(&self, permit: Permit) -> Result<RawJson, Box<Permit>> {
        let Some(read) = plain_read(permit.action(), permit.preconditions()) else {
            return Err(Box::new(permit));
        };
        match self.read(read).and_then(|result| RawJson::new(&result).ok()) {
            Some(result) => {
                drop(permit.consume());
                Ok(result)
            }
            None => Err(Box::new(permit)),
        }
    }

    /// Notes which folder is the project's, before a file action in the kernel process.
    pub(super) fn begin_kernel_read(&self, permit: &Permit) -> UnconfirmedProject {
        let is_wanted =
            self.confirmed.get().is_none() && matches!(permit.action(), Action::File(_));
        UnconfirmedProject(is_wanted.then(|| self.current_identity()).flatten())
    }

    /// The kernel process executed a file action, so the project's path led to the folder that it
    /// has open: if it is the same before and after, it is that one.
    pub(super) fn confirm_project(&self, before: UnconfirmedProject) {
        if let Some(identity) = before.0
            && self.current_identity() == Some(identity)
        {
            self.confirmed.get_or_init(|| identity);
        }
    }

    fn current_identity(&self) -> Option<DirIdentity> {
        RootDir::open_cached(&self.project)?.identity()
    }

    fn read(&self, read: &ReadFile) -> Option<ReadFileResult> {
        let confirmed = self.confirmed.get()?;
        let root = RootDir::open_cached(&self.project)?;
        if root.identity()? != *confirmed {
            return None;
        }
        let bytes = root.read_cached(read.path.as_ref(), MAX_CACHED_READ_BYTES)?;
        if self.redactor.may_contain_secret(&bytes) {
            return None;
        }
        whole_file_result(bytes, read.encoding).ok()
    }
}

/// A read of a whole text file whose decision saw no links.
fn plain_read<'a>(
    action: &'a Action,
    preconditions: Option<&Preconditions>,
) -> Option<&'a ReadFile> {
    let Action::File(FileAction::ReadFile(read)) = action else { return None };
    let is_plain = read.encoding == BytesEncoding::Utf8
        && matches!(read.range(), FileRange::Whole)
        && preconditions.is_none_or(|preconditions| *preconditions == Preconditions::default());
    is_plain.then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use provost_core::redact::Secrets;
    use provost_proto::kernel::{KnownSecret, ObservedLink};
    use serde_json::{Value, json};
    use std::fs;
    use std::path::Path;

    const SECRET: &str = "s3cr3t-Value-42";

    fn parse_read(params: &Value) -> Action {
        Action::parse("fs.readFile", params.clone()).unwrap()
    }

    fn reader(project: &Path) -> CachedReader {
        let secret = KnownSecret { name: "API_KEY".to_owned(), value: SECRET.to_owned() };
        let redactor = Redactor::new(&Secrets::new(vec![secret])).unwrap();
        CachedReader::new(project.to_owned(), Arc::new(redactor))
    }

    fn read(reader: &CachedReader, params: &Value) -> Option<Value> {
        let action = parse_read(params);
        let result = reader.read(plain_read(&action, None)?)?;
        Some(serde_json::to_value(result).unwrap())
    }

    /// On a disk: not all file systems in memory know `RWF_NOWAIT`.
    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path();
        fs::create_dir(path.join("src")).unwrap();
        fs::write(path.join("src/text"), "ä plain text\n").unwrap();
        fs::write(path.join("secret"), format!("key {SECRET}")).unwrap();
        fs::write(path.join("binary"), b"\xff\x00").unwrap();
        fs::write(path.join("large"), "x".repeat(64 * 1024 + 1)).unwrap();
        std::os::unix::fs::symlink("src/text", path.join("link")).unwrap();
        folder
    }

    #[test]
    fn a_plain_read_has_the_result_of_the_kernel_and_all_else_is_left_to_it() {
        let folder = project();
        let reader = reader(folder.path());
        reader.confirm_project(UnconfirmedProject(reader.current_identity()));
        let params = json!({ "path": "src/text" });
        let Action::File(action) = parse_read(&params) else { panic!("no file action") };
        let root = RootDir::open(folder.path()).unwrap();
        let expected = crate::files::execute_file_action(&root, &action, &|| false).unwrap();
        assert_eq!(read(&reader, &params), Some(expected));
        for params in [
            json!({ "path": "src/text", "encoding": "base64" }),
            json!({ "path": "src/text", "offset": 1, "length": 2 }),
            json!({ "path": "src/text", "startLine": 1 }),
            json!({ "path": "secret" }),
            json!({ "path": "binary" }),
            json!({ "path": "large" }),
            json!({ "path": "link" }),
            json!({ "path": "src" }),
            json!({ "path": "missing" }),
        ] {
            assert_eq!(read(&reader, &params), None, "{params}");
        }
    }

    #[test]
    fn a_read_that_depends_on_a_link_is_left_to_the_kernel() {
        let link = ObservedLink { path: "src/text".to_owned(), target: "../other".to_owned() };
        let observed = Preconditions { links: vec![link], ..Preconditions::default() };
        let action = parse_read(&json!({ "path": "src/text" }));
        assert!(plain_read(&action, Some(&observed)).is_none());
        assert!(plain_read(&action, Some(&Preconditions::default())).is_some());
    }

    #[test]
    fn nothing_is_read_from_a_folder_that_the_kernel_has_not_confirmed() {
        let folder = project();
        let project = folder.path().join("src");
        let reader = reader(&project);
        let params = json!({ "path": "text" });
        assert_eq!(read(&reader, &params), None, "nothing is confirmed yet");
        let before = UnconfirmedProject(reader.current_identity());
        fs::rename(&project, folder.path().join("moved")).unwrap();
        fs::create_dir(&project).unwrap();
        fs::write(project.join("text"), "of another folder").unwrap();
        reader.confirm_project(before);
        assert_eq!(read(&reader, &params), None, "it was replaced during the request");
        reader.confirm_project(UnconfirmedProject(reader.current_identity()));
        assert_eq!(read(&reader, &params).unwrap()["content"], "of another folder");
        fs::rename(&project, folder.path().join("moved again")).unwrap();
        fs::create_dir(&project).unwrap();
        fs::write(project.join("text"), "swapped in").unwrap();
        assert_eq!(read(&reader, &params), None, "it was replaced since");
    }
}
