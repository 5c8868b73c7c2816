//! Which folders are projects: the records of opening and closing, and lookup.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::slug::unique_slug;
use provost_proto::{Fact, Project, ProjectId, ProjectStatus, Stream};
use provost_store::{AppendOutcome, AppendRequest, RecordedEvent, StoreError};

use crate::event_log::EventLog;
use crate::team::project_folder;
use crate::team::project_template;
use crate::{GatewayConfig, GatewayError, NewProjectFolder, Operator, OperatorRequest};

/// How often to retry when another writer appended between our read and our append. In each
/// round some writer made progress, so this is plenty.
pub(crate) const MAX_CONFLICT_RETRIES: usize = 64;

/// The projects of the team.
#[derive(Debug)]
pub struct Projects {
    log: Arc<EventLog>,
    config: Arc<GatewayConfig>,
}

/// The result of opening a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenProjectOutcome {
    /// The project is open now.
    Opened(Project),
    /// The project was open before.
    AlreadyOpen(Project),
}

/// The result of closing a project.
pub(crate) enum CloseProjectOutcome {
    /// The project is closed now.
    Closed(Project),
    /// The project was closed before, or the request is a repeated one.
    Unchanged(Project),
}

impl Projects {
    pub(crate) fn new(log: Arc<EventLog>, config: Arc<GatewayConfig>) -> Self {
        Self { log, config }
    }

    /// The project with this id or slug, open or closed.
    pub async fn get_project(&self, name: &str) -> Result<Project, GatewayError> {
        let not_found = || GatewayError::ProjectNotFound(name.to_owned());
        if let Ok(id) = name.parse::<ProjectId>() {
            let doc = self.log.store().get_document(ViewKind::Projects, id.uuid()).await?;
            return doc.and_then(ViewDocument::into_project).ok_or_else(not_found);
        }
        self.list_projects().await?.into_iter().find(|p| p.slug == name).ok_or_else(not_found)
    }

    /// All projects, open and closed, in the order in which they were first opened.
    pub async fn list_projects(&self) -> Result<Vec<Project>, GatewayError> {
        let docs = self.log.store().list_documents(ViewKind::Projects).await?;
        Ok(docs.into_iter().filter_map(ViewDocument::into_project).collect())
    }

    /// Records that a folder is open as a project. A folder that was a project before is the
    /// same project again, with its history.
    pub(crate) async fn record_opened(
        &self,
        request: OperatorRequest<'_>,
        path: &str,
    ) -> Result<OpenProjectOutcome, GatewayError> {
        // The key is checked first: a repeated request succeeds even if the folder is gone.
        if let Some(command) = &request.command
            && let Some(events) =
                self.log.store().find_command_events(request.by.principal(), command).await?
        {
            return Ok(OpenProjectOutcome::AlreadyOpen(self.find_opened_project(&events).await?));
        }
        let (text, config) = (path.to_owned(), Arc::clone(&self.config));
        let folder = tokio::task::spawn_blocking(move || {
            project_folder::resolve_project_folder(&text, &config)
        })
        .await
        .map_err(|_| StoreError::Closed)??;
        let path = folder.to_string_lossy().into_owned();
        for _ in 0..MAX_CONFLICT_RETRIES {
            // The version is read first, so that a later change is a conflict.
            let version = self.log.store().stream_version(Stream::Sys).await?;
            let known = self.list_projects().await?;
            let before = known.iter().find(|project| project.path == path);
            if let Some(project) = before.filter(|project| project.status == ProjectStatus::Open) {
                return Ok(OpenProjectOutcome::AlreadyOpen(project.clone()));
            }
            let fact = if let Some(project) = before {
                project_opened_fact(project.id, &project.slug, &folder)
            } else {
                let is_taken = |slug: &str| known.iter().any(|project| project.slug == slug);
                let slug = unique_slug(&folder_name(&folder), is_taken);
                project_opened_fact(self.log.clock().new_id(), &slug, &folder)
            };
            let append = AppendRequest {
                expect: vec![(Stream::Sys, version)],
                command: request.command.clone(),
                ..build_system_append(request.by, fact)
            };
            match self.log.append(append).await {
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(AppendOutcome::Appended(_)) => {
                    return Ok(OpenProjectOutcome::Opened(self.find_project_at(&path).await?));
                }
                Ok(AppendOutcome::Replayed(_)) => {
                    return Ok(OpenProjectOutcome::AlreadyOpen(self.find_project_at(&path).await?));
                }
            }
        }
        Err(StoreError::Conflict { stream: Stream::Sys, expected: 0, actual: 0 }.into())
    }

    /// Records that a project is closed. Its folder and its history stay.
    pub(crate) async fn record_closed(
        &self,
        request: OperatorRequest<'_>,
        name: &str,
    ) -> Result<CloseProjectOutcome, GatewayError> {
        let store = self.log.store();
        if let Some(command) = &request.command
            && store.find_command_events(request.by.principal(), command).await?.is_some()
        {
            return Ok(CloseProjectOutcome::Unchanged(self.get_project(name).await?));
        }
        for _ in 0..MAX_CONFLICT_RETRIES {
            // The version is read first, so that a later change is a conflict.
            let version = store.stream_version(Stream::Sys).await?;
            let project = self.get_project(name).await?;
            if project.status == ProjectStatus::Closed {
                return Ok(CloseProjectOutcome::Unchanged(project));
            }
            let append = AppendRequest {
                expect: vec![(Stream::Sys, version)],
                command: request.command.clone(),
                ..build_system_append(request.by, Fact::ProjectClosed { project: project.id })
            };
            match self.log.append(append).await {
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(CloseProjectOutcome::Closed(self.get_project(name).await?)),
            }
        }
        Err(StoreError::Conflict { stream: Stream::Sys, expected: 0, actual: 0 }.into())
    }

    /// Creates a folder from a template. Fails if the folder exists.
    pub(crate) async fn create_folder(
        &self,
        folder: NewProjectFolder,
    ) -> Result<PathBuf, GatewayError> {
        let config = Arc::clone(&self.config);
        let create = move || project_template::create_project_folder(&folder, &config);
        tokio::task::spawn_blocking(create).await.map_err(|_| GatewayError::Stopping)?
    }

    /// The first folder in the home folder that was created from a template and of which no
    /// file has changed since.
    pub async fn find_unmodified_folder(
        &self,
        folder: NewProjectFolder,
    ) -> Result<Option<String>, GatewayError> {
        let config = Arc::clone(&self.config);
        let find = move || project_template::find_unmodified_folder(&folder, &config);
        let found = tokio::task::spawn_blocking(find).await.map_err(|_| GatewayError::Stopping)?;
        Ok(found.map(|path| path.to_string_lossy().into_owned()))
    }

    /// The project that these events opened, as it is now.
    async fn find_opened_project(
        &self,
        events: &[Arc<RecordedEvent>],
    ) -> Result<Project, GatewayError> {
        for event in events {
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

#[cfg(test)]
mod tests;
