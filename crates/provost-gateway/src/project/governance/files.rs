//! Reading the governance files, and detecting that they changed.
//!
//! They are read through a [`RootDir`], so that no link leads out of the project. A file has
//! no effect until it is trusted; trust is bound to its hash.

use std::path::{Path, PathBuf};
use std::time::Duration;

use provost_core::policy::{Policy, PolicyTrust, RuleLayer};
use provost_core::role::{self, Role, RoleSource};
use provost_proto::{Hash, RejectedRole, UnixMicros};
use provost_sandbox::root_dir::{FileKind, RootDir, RootDirError};

/// The rules of a project.
pub(crate) const POLICY_PATH: &str = ".provost/policy.toml";

/// The largest file of rules, in bytes.
const MAX_POLICY_FILE_BYTES: u64 = 256 * 1024;

/// The most files in a folder of roles that are read.
const MAX_ROLE_FILES: usize = 256;

/// A file that changed this shortly before it was read may change again with the same
/// timestamp: the clock of the file system is coarse.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_millis(50);

/// The roles and rules of a project, as they were read.
#[derive(Debug)]
pub(crate) struct GovernanceFiles {
    pub(crate) roles: Vec<RoleFile>,
    pub(crate) rejected: Vec<RejectedRole>,
    pub(crate) policy: Option<PolicyFile>,
    fingerprints: FingerprintSnapshot,
}

/// A role with the text it was read from.
#[derive(Debug, Clone)]
pub(crate) struct RoleFile {
    pub(crate) role: Role,
    pub(crate) text: String,
    pub(crate) hash: Hash,
}

/// Rules with the text they were read from.
#[derive(Debug, Clone)]
pub(crate) struct PolicyFile {
    pub(crate) text: String,
    pub(crate) hash: Hash,
    pub(crate) parsed: Result<Policy, Vec<String>>,
}

/// The rules of the daemon's owner.
#[derive(Debug, Clone)]
pub(crate) struct UserRules {
    pub(crate) file: PathBuf,
    pub(crate) text: String,
    pub(crate) hash: Option<Hash>,
    pub(crate) policy: Option<Policy>,
    pub(crate) errors: Vec<String>,
    fingerprints: FingerprintSnapshot,
}

/// The metadata of files when they were read.
#[derive(Debug, Clone, Default)]
struct FingerprintSnapshot {
    files: Vec<(PathBuf, Option<StatFingerprint>)>,
    /// A file is so young that a change might not show.
    ambiguous: bool,
}

/// The metadata that changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StatFingerprint {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl FingerprintSnapshot {
    fn capture(paths: impl IntoIterator<Item = PathBuf>, now: UnixMicros) -> Self {
        let files: Vec<_> = paths.into_iter().map(|path| (read_fingerprint(&path), path)).collect();
        let since = Duration::from_micros(now).saturating_sub(TIMESTAMP_GRANULARITY);
        let ambiguous = files.iter().any(|(fingerprint, _)| {
            fingerprint.is_some_and(|fingerprint| {
                let at = u64::try_from(fingerprint.changed.0).unwrap_or(0);
                Duration::from_secs(at) + Duration::from_nanos(fingerprint.changed.1) >= since
            })
        });
        let files = files.into_iter().map(|(fingerprint, path)| (path, fingerprint)).collect();
        Self { files, ambiguous }
    }

    fn is_current(&self) -> bool {
        !self.ambiguous && self.files.iter().all(|(path, then)| read_fingerprint(path) == *then)
    }
}

/// Follows links: a file behind a link changes where it is.
fn read_fingerprint(path: &Path) -> Option<StatFingerprint> {
    let stat = rustix::fs::stat(path).ok()?;
    Some(StatFingerprint {
        device: stat.st_dev,
        inode: stat.st_ino,
        size: stat.st_size,
        modified: (stat.st_mtime, stat.st_mtime_nsec),
        changed: (stat.st_ctime, stat.st_ctime_nsec),
    })
}

impl GovernanceFiles {
    /// Reads everything that governs the project in this folder.
    pub(crate) fn read(folder: &Path, now: UnixMicros) -> Self {
        let root = RootDir::open(folder).ok();
        let names: Vec<_> = root.iter().flat_map(role_files).collect();
        let folders = RoleSource::ALL.iter().map(|source| folder.join(source.folder()));
        let files = names.iter().map(|(_, file)| folder.join(file));
        // Taken before the files are read, so that a change in between is detected.
        let fingerprints = FingerprintSnapshot::capture(
            folders.chain(files).chain([folder.join(POLICY_PATH)]),
            now,
        );
        let (mut found, mut rejected) = (Vec::new(), Vec::new());
        for (source, file) in names {
            let text =
                root.as_ref().map(|root| read_text(root, &file, role::MAX_ROLE_FILE_BYTES as u64));
            match text {
                Some(Ok(Some(text))) => found.push((source, file, text)),
                Some(Ok(None)) | None => {}
                Some(Err(why)) => {
                    rejected.push(RejectedRole { why: format!("{file}: {why}"), file });
                }
            }
        }
        let (roles, errors) = role::collect_roles(found.clone());
        rejected.extend(
            errors
                .into_iter()
                .map(|error| RejectedRole { file: error.file.clone(), why: error.to_string() }),
        );
        let roles = roles.into_iter().filter_map(|role| {
            let (_, _, text) = found.iter().find(|(_, file, _)| *file == role.file)?;
            Some(RoleFile { hash: Role::hash(text.as_bytes()), text: text.clone(), role })
        });
        let policy = root.as_ref().and_then(read_policy);
        Self { roles: roles.collect(), rejected, policy, fingerprints }
    }

    /// Whether no file has changed since it was read.
    pub(crate) fn is_fresh(&self) -> bool {
        self.fingerprints.is_current()
    }

    /// The role with this name.
    pub(crate) fn find_role(&self, name: &str) -> Option<&RoleFile> {
        self.roles.iter().find(|file| file.role.name == name)
    }
}

/// The files in the folders of roles.
fn role_files(root: &RootDir) -> Vec<(RoleSource, String)> {
    let mut found = Vec::new();
    for source in RoleSource::ALL {
        let folder = source.folder();
        let Ok(listing) = root.list(Path::new(folder), MAX_ROLE_FILES) else { continue };
        for entry in listing.entries {
            let Some(name) = entry.name.to_str() else { continue };
            if Path::new(name).extension() == Some("md".as_ref())
                && entry.stat.kind != FileKind::Directory
            {
                found.push((source, format!("{folder}/{name}")));
            }
        }
    }
    found.sort();
    found
}

/// The text of a file; `None` if it does not exist.
fn read_text(root: &RootDir, file: &str, limit: u64) -> Result<Option<String>, String> {
    match root.read(Path::new(file), limit) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".into()),
        Err(RootDirError::NotFound) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn read_policy(root: &RootDir) -> Option<PolicyFile> {
    match read_text(root, POLICY_PATH, MAX_POLICY_FILE_BYTES) {
        Ok(None) => None,
        Ok(Some(text)) => Some(PolicyFile::new(RuleLayer::Project, POLICY_PATH, text)),
        Err(why) => Some(PolicyFile {
            text: String::new(),
            hash: Hash::ZERO,
            parsed: Err(vec![format!("{POLICY_PATH}: {why}")]),
        }),
    }
}

impl PolicyFile {
    pub(crate) fn new(layer: RuleLayer, file: &str, text: String) -> Self {
        let parsed = Policy::parse(layer, file, &text)
            .map_err(|errors| errors.to_string().lines().map(str::to_owned).collect());
        Self { hash: Role::hash(text.as_bytes()), text, parsed }
    }
}

impl UserRules {
    /// Reads the owner's rules. A file that cannot be read is an error, not an empty file.
    pub(crate) fn read(file: &Path, now: UnixMicros) -> Self {
        let mut fingerprints = FingerprintSnapshot::capture([file.to_owned()], now);
        // A missing file and a dangling link have the same fingerprint.
        let dangling = fingerprints.files.iter().all(|(_, fingerprint)| fingerprint.is_none())
            && std::fs::symlink_metadata(file).is_ok();
        fingerprints.ambiguous |= dangling;
        let name = file.display().to_string();
        let none = |errors| Self {
            file: file.to_owned(),
            text: String::new(),
            hash: None,
            policy: None,
            errors,
            fingerprints: fingerprints.clone(),
        };
        match std::fs::read_to_string(file) {
            // A dangling link says that there should be rules.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !dangling => {
                none(Vec::new())
            }
            Err(error) => none(vec![format!("{name}: {error}")]),
            Ok(text) => {
                let read = PolicyFile::new(RuleLayer::User, &name, text);
                let (policy, errors) = match read.parsed {
                    Ok(policy) => (Some(policy), Vec::new()),
                    Err(errors) => (None, errors),
                };
                Self { text: read.text, hash: Some(read.hash), policy, errors, ..none(Vec::new()) }
            }
        }
    }

    /// Whether the file has not changed since it was read.
    pub(crate) fn is_fresh(&self) -> bool {
        self.fingerprints.is_current()
    }
}

pub(crate) fn trust_from_flag(trusted: bool) -> PolicyTrust {
    if trusted { PolicyTrust::Trusted } else { PolicyTrust::Untrusted }
}
