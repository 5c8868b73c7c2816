//! Projects: opening, closing, finding.

use std::path::Path;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::slug::unique_slug;
use provost_proto::{Fact, Project, ProjectId, ProjectStatus, Stream};
use provost_store::{AppendOutcome, AppendRequest, Idempotency, RecordedEvent, StoreError};

use crate::team::project_folder;
use crate::{Gateway, GatewayError, Operator};

/// How often to look again when someone else wrote between our look and our
/// append. Each round someone got further, so this is plenty.
pub(crate) const MAX_CONFLICT_RETRIES: usize = 64;

/// Who asks for a change, and the idempotency key they gave.
#[derive(Debug)]
pub struct OperatorRequest<'a> {
    /// Who.
    pub by: &'a Operator,
    /// Their key.
    pub command: Option<Idempotency>,
}

/// What opening came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenProjectOutcome {
    /// It is open now.
    Opened(Project),
    /// It had been open.
    AlreadyOpen(Project),
}

impl Gateway {
    /// Opens a folder as a project. A folder that was a project before is the
    /// same project again, with its history.
    pub async fn open_project(
        &self,
        request: OperatorRequest<'_>,
        path: &str,
    ) -> Result<OpenProjectOutcome, GatewayError> {
        // The key first: what was done stays done, even if the folder is gone since.
        if let Some(command) = &request.command
            && let Some(done) =
                self.store.find_command_events(request.by.principal(), command).await?
        {
            return Ok(OpenProjectOutcome::AlreadyOpen(self.find_opened_project(&done).await?));
        }
        let (text, config) = (path.to_owned(), self.config.clone());
        let folder = tokio::task::spawn_blocking(move || {
            project_folder::resolve_project_folder(&text, &config)
        })
        .await
        .map_err(|_| StoreError::Closed)??;
        let path = folder.to_string_lossy().into_owned();
        for _ in 0..MAX_CONFLICT_RETRIES {
            // First the version, then the look: what changes after is a conflict.
            let version = self.store.stream_version(Stream::Sys).await?;
            let known = self.list_projects().await?;
            let before = known.iter().find(|project| project.path == path);
            if let Some(project) = before.filter(|project| project.status == ProjectStatus::Open) {
                return Ok(OpenProjectOutcome::AlreadyOpen(project.clone()));
            }
            let fact = if let Some(project) = before {
                project_opened_fact(project.id, &project.slug, &folder)
            } else {
                let taken = |slug: &str| known.iter().any(|project| project.slug == slug);
                project_opened_fact(
                    self.clock.new_id(),
                    &unique_slug(&folder_name(&folder), taken),
                    &folder,
                )
            };
            let append = AppendRequest {
                expect: vec![(Stream::Sys, version)],
                command: request.command.clone(),
                ..build_system_append(request.by, fact)
            };
            match self.append_redacted(append).await {
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(AppendOutcome::Appended(_)) => {
                    let project = self.find_project_at(&path).await?;
                    self.reload_project_governance(project.id).await?;
                    return Ok(OpenProjectOutcome::Opened(project));
                }
                Ok(AppendOutcome::Replayed(_)) => {
                    return Ok(OpenProjectOutcome::AlreadyOpen(self.find_project_at(&path).await?));
                }
            }
        }
        Err(StoreError::Conflict { stream: Stream::Sys, expected: 0, actual: 0 }.into())
    }

    /// The project that these events opened, as it is now.
    async fn find_opened_project(
        &self,
        done: &[Arc<RecordedEvent>],
    ) -> Result<Project, GatewayError> {
        for event in done {
            if let Some(Fact::ProjectOpened { project, .. }) = event.decode_event()?.fact() {
                return self.get_project(&project.uuid().to_string()).await;
            }
        }
        Err(GatewayError::ProjectNotFound("of the first request".to_owned()))
    }

    /// The project in this folder, open or closed.
    async fn find_project_at(&self, path: &str) -> Result<Project, GatewayError> {
        let found = self.list_projects().await?.into_iter().find(|project| project.path == path);
        found.ok_or_else(|| GatewayError::ProjectNotFound(path.to_owned()))
    }

    /// Closes a project. Its folder and its history stay.
    pub async fn close_project(
        &self,
        request: OperatorRequest<'_>,
        name: &str,
    ) -> Result<Project, GatewayError> {
        if let Some(command) = &request.command
            && self.store.find_command_events(request.by.principal(), command).await?.is_some()
        {
            return self.get_project(name).await;
        }
        for _ in 0..MAX_CONFLICT_RETRIES {
            // First the version, then the look: what changes after is a conflict.
            let version = self.store.stream_version(Stream::Sys).await?;
            let project = self.get_project(name).await?;
            if project.status == ProjectStatus::Closed {
                return Ok(project);
            }
            let append = AppendRequest {
                expect: vec![(Stream::Sys, version)],
                command: request.command.clone(),
                ..build_system_append(request.by, Fact::ProjectClosed { project: project.id })
            };
            match self.append_redacted(append).await {
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    let closed = self.get_project(name).await?;
                    self.reload_project_governance(project.id).await?;
                    self.withdraw_project_approvals(project.id).await?;
                    self.stop_kernel(project.id).await;
                    return Ok(closed);
                }
            }
        }
        Err(StoreError::Conflict { stream: Stream::Sys, expected: 0, actual: 0 }.into())
    }

    /// Takes a project as the log has it into the copy that decisions are made on.
    async fn reload_project_governance(&self, id: ProjectId) -> Result<(), GatewayError> {
        // With the turn in hand, so that what is older never comes after what is newer.
        let _guard = self.lock_governance().await?;
        if let Some(doc) = self.store.get_document(ViewKind::Projects, id.uuid()).await? {
            self.governance.apply_document(doc);
        }
        Ok(())
    }

    /// The project with this id or slug, open or closed.
    pub async fn get_project(&self, name: &str) -> Result<Project, GatewayError> {
        let not_found = || GatewayError::ProjectNotFound(name.to_owned());
        if let Ok(id) = name.parse::<ProjectId>() {
            let doc = self.store.get_document(ViewKind::Projects, id.uuid()).await?;
            return doc.and_then(ViewDocument::into_project).ok_or_else(not_found);
        }
        self.list_projects().await?.into_iter().find(|p| p.slug == name).ok_or_else(not_found)
    }

    /// All projects, open and closed, the first opened first.
    pub async fn list_projects(&self) -> Result<Vec<Project>, GatewayError> {
        let docs = self.store.list_documents(ViewKind::Projects).await?;
        Ok(docs.into_iter().filter_map(ViewDocument::into_project).collect())
    }
}

fn build_system_append(by: &Operator, fact: Fact) -> AppendRequest {
    AppendRequest::single_event(by.principal(), by.actor().clone(), Stream::Sys, fact)
}

fn project_opened_fact(project: ProjectId, slug: &str, folder: &Path) -> Fact {
    Fact::ProjectOpened {
        project,
        name: folder_name(folder),
        slug: slug.to_owned(),
        path: folder.to_string_lossy().into_owned(),
    }
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
