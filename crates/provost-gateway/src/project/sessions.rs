//! What sessions with models need of the authority: to act in their role, to write
//! what is said, and to know what they are told.
//!
//! A session is a principal of its own, `session:<id>`, of the class of agents: it
//! asks and never decides, whoever speaks in it.

pub(crate) mod owners;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::session::instructions::{
    GUIDE_FILE_NAMES, GuideFile, MAX_GUIDE_BYTES, ancestor_folders,
};
use provost_core::skill::SkillSet;
use provost_proto::kernel::ErrorInfo;
use provost_proto::session::{SessionStatus, SessionView};
use provost_proto::{
    Actor, Code, Fact, Principal, Project, ProjectId, ProjectMode, SessionId, Stream, TokenClass,
};
use provost_sandbox::root_dir::{FileKind, RootDir};
use provost_store::{AppendOutcome, AppendRequest, Durability, Idempotency, NewEvent};

use crate::project::decisions::is_trusted;
use crate::{Caller, Gateway, GatewayError};

/// How many folders are looked into for a guide.
const MAX_GUIDE_FOLDERS: usize = 200;

/// What is said in a session, and who says it.
#[derive(Debug)]
pub struct SessionAppend {
    /// On whose authority.
    pub principal: Principal,
    /// What acts.
    pub actor: Actor,
    /// The client's key.
    pub command: Option<Idempotency>,
    /// How sure it must be.
    pub durability: Durability,
    /// What.
    pub facts: Vec<Fact>,
}

/// A role that a session may act in.
#[derive(Debug, Clone)]
pub struct SessionRole {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The model it asks for.
    pub model: Option<String>,
    /// What it may ask for.
    pub skills: SkillSet,
    /// What its file tells the model.
    pub instructions: String,
}

/// The principal of a session.
pub fn session_principal(session: SessionId) -> Principal {
    format!("session:{}", session.uuid())
}

impl Gateway {
    /// The agent that acts in a session. It may ask in its role and project.
    pub fn create_session_caller(
        &self,
        session: SessionId,
        project: ProjectId,
        role: &str,
    ) -> Result<Caller, GatewayError> {
        let principal = session_principal(session);
        self.sessions.claim_session(session, &principal)?;
        let actor = Actor::Agent(role.to_owned());
        let role = Some(role.to_owned());
        Ok(Caller::new(principal, actor, TokenClass::Agent, Some(project), role))
    }

    /// Writes what happened in a session, and at once what that means for those above it.
    pub async fn append_session_events(
        &self,
        session: SessionId,
        append: SessionAppend,
    ) -> Result<AppendOutcome, GatewayError> {
        let SessionAppend { principal, actor, command, durability, facts } = append;
        let stream = |fact: &Fact| {
            Stream::Session(if let Fact::TaskUsed(used) = fact { used.session } else { session })
        };
        let event = |fact| NewEvent { stream: stream(&fact), fact, cause: None };
        let events = facts.into_iter().map(event).collect();
        let (expect, unchanged) = (Vec::new(), Vec::new());
        let append =
            AppendRequest { principal, actor, command, expect, unchanged, durability, events };
        Ok(self.append_redacted(append).await?)
    }

    /// A session, as it is now.
    pub async fn find_session(&self, id: SessionId) -> Result<Option<SessionView>, GatewayError> {
        let doc = self.store.get_document(ViewKind::Sessions, id.uuid()).await?;
        Ok(doc.and_then(ViewDocument::into_session))
    }

    /// Whether the session that this principal is still may ask.
    pub(crate) async fn is_session_active(&self, principal: &str) -> Result<bool, GatewayError> {
        let Some(id) = principal.strip_prefix("session:").and_then(|id| id.parse().ok()) else {
            return Ok(false);
        };
        let session = self.find_session(id).await?;
        Ok(session.is_some_and(|session| session.status != SessionStatus::Closed))
    }

    /// The mode of a project.
    pub fn current_mode(&self, project: ProjectId) -> ProjectMode {
        let governance = self.governance.find_by_id(project);
        governance.map_or(ProjectMode::Sandbox, |governance| governance.mode(self.clock.now()))
    }

    /// The roles of a project that a person trusted, as they are now.
    pub async fn list_session_roles(
        &self,
        project: &Project,
    ) -> Result<Vec<SessionRole>, GatewayError> {
        let governance = self.load_governance(project.id).await?;
        let files = governance.files.iter().flat_map(|files| &files.roles);
        let trusted = files.filter(|file| is_trusted(&governance, file));
        Ok(trusted
            .map(|file| SessionRole {
                name: file.role.name.clone(),
                description: file.role.description.clone(),
                model: file.role.model.clone(),
                skills: file.role.skills.clone(),
                instructions: file.role.instructions.clone(),
            })
            .collect())
    }

    /// One of them. What is not trusted tells no model anything.
    pub async fn find_session_role(
        &self,
        project: &Project,
        role: &str,
    ) -> Result<SessionRole, GatewayError> {
        let parts = self.list_session_roles(project).await?;
        if let Some(part) = parts.into_iter().find(|part| part.name == role) {
            return Ok(part);
        }
        let roles = self.list_roles(project).await?;
        let message = if roles.roles.iter().any(|known| known.name == role) {
            format!("the role `{role}` is not trusted as it is; `provost roles trust` shows it")
        } else {
            format!("there is no role `{role}` in this project; `provost roles` lists them")
        };
        Err(GatewayError::Fault(ErrorInfo { code: Code::SkillDenied, message, details: None }))
    }

    /// The files that say how to work in this project: that of the project, those of
    /// the folders in it, and those on the way to what was touched.
    pub async fn load_guides(
        &self,
        project: &Project,
        touched: &[String],
    ) -> Result<Vec<GuideFile>, GatewayError> {
        let (folder, on_the_way) = (PathBuf::from(&project.path), ancestor_folders(touched));
        let read = tokio::task::spawn_blocking(move || read_guides(&folder, on_the_way)).await;
        let mut guides = read.map_err(|_| GatewayError::Stopping)?;
        for guide in &mut guides {
            self.redactor.redact_string(&mut guide.text);
        }
        Ok(guides)
    }
}

fn read_guides(folder: &Path, on_the_way: BTreeSet<String>) -> Vec<GuideFile> {
    let Ok(root) = RootDir::open(folder) else { return Vec::new() };
    let mut folders = on_the_way;
    folders.insert(String::new());
    if let Ok(listing) = root.list(Path::new("."), MAX_GUIDE_FOLDERS) {
        let inner =
            listing.entries.into_iter().filter(|entry| entry.stat.kind == FileKind::Directory);
        let names = inner.filter_map(|entry| entry.name.into_string().ok());
        folders.extend(names.filter(|name| !name.starts_with('.')).map(|name| format!("{name}/")));
    }
    folders.iter().filter_map(|folder| read_folder_guide(&root, folder)).collect()
}

/// The first guide in a folder. One that is not text, or too long, is none.
fn read_folder_guide(root: &RootDir, folder: &str) -> Option<GuideFile> {
    GUIDE_FILE_NAMES.iter().find_map(|name| {
        let file = format!("{folder}{name}");
        let bytes = root.read(Path::new(&file), MAX_GUIDE_BYTES as u64).ok()?;
        Some(GuideFile { text: String::from_utf8(bytes).ok()?, file })
    })
}
