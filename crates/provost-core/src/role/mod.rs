//! Roles: the instructions of an agent, and the actions that it may request.
//!
//! A role is a Markdown file with YAML frontmatter. The default is to deny: a file with an error
//! is not a role, a role without `skills` has none, a name that two files claim belongs to
//! neither, and no name is privileged. The gateway decides which roles are trusted; this module
//! computes the hashes that trust is bound to.

mod claude_import;
mod collect;
mod error;
mod frontmatter;
mod model;
mod native_role;

pub use collect::collect_roles;
pub use error::{RoleError, RoleFault};
pub use model::set_model;

use provost_proto::Hash;

use crate::skill::SkillSet;

/// The largest role file, in bytes.
pub const MAX_ROLE_FILE_BYTES: usize = 256 * 1024;

/// The longest name of a role, in bytes.
const NAME: usize = 63;

/// The folder of a role's file, which also determines its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoleSource {
    /// `.provost/roles/`
    Provost,
    /// `.agent/rules/roles/`
    Agent,
    /// `.claude/agents/`, imported.
    Claude,
}

/// A role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// The model it uses, if the file names one.
    pub model: Option<String>,
    /// The actions that it may request.
    pub skills: SkillSet,
    /// The instructions for the agent: the text after the frontmatter.
    pub instructions: String,
    /// The kind of folder it comes from.
    pub source: RoleSource,
    /// The file it comes from.
    pub file: String,
    /// Notes for people: which parts of an imported file have no effect.
    pub notes: Vec<String>,
}

impl RoleSource {
    /// All sources.
    pub const ALL: [Self; 3] = [Self::Provost, Self::Agent, Self::Claude];

    /// The folder, relative to the project.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Provost => ".provost/roles",
            Self::Agent => ".agent/rules/roles",
            Self::Claude => ".claude/agents",
        }
    }
}

impl Role {
    /// Parses a role; `file` is its path, for errors and for the name that it must have.
    pub fn parse(file: &str, text: &str, source: RoleSource) -> Result<Self, RoleError> {
        let at = error::RoleErrorBuilder::new(file);
        if text.len() > MAX_ROLE_FILE_BYTES {
            return Err(at.at_start(RoleFault::FileTooLarge { bytes: text.len() }));
        }
        let parts = frontmatter::split(text).map_err(|(line, fault)| at.at_line(line, fault))?;
        let mut role = match source {
            RoleSource::Provost | RoleSource::Agent => {
                native_role::parse_native_role(&at, parts.yaml, source)?
            }
            RoleSource::Claude => claude_import::parse_claude_agent(&at, parts.yaml)?,
        };
        let body = parts.body.trim_start_matches(['\r', '\n']).trim_end();
        body.clone_into(&mut role.instructions);
        Ok(role)
    }

    /// BLAKE3 of the file's exact bytes, which an operator trusts.
    pub fn hash(text: &[u8]) -> Hash {
        Hash::new(*blake3::hash(text).as_bytes())
    }
}

/// One hash of all role files of a project, independent of their order.
pub fn trust_digest(files: &[(String, Hash)]) -> Hash {
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort();
    let mut hasher = blake3::Hasher::new_derive_key("provost 2026 the role files of a project");
    for (path, hash) in sorted {
        // The length separates a path from the next one.
        hasher.update(&(path.len() as u64).to_le_bytes());
        hasher.update(path.as_bytes());
        hasher.update(hash.as_bytes());
    }
    Hash::new(*hasher.finalize().as_bytes())
}

/// Whether a text is a valid role name: `[a-z0-9][a-z0-9-]{0,62}`.
pub fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= NAME
        && text.bytes().next().is_some_and(letter)
        && text.bytes().all(|byte| letter(byte) || byte == b'-')
}

/// The file name without folder and `.md`.
fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".md").unwrap_or(name)
}
