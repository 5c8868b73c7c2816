//! Projects: opening, closing, finding.

use std::path::Path;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::slug::unique_slug;
use provost_proto::{Fact, Project, ProjectId, ProjectStatus, Stream};
use provost_store::{AppendOutcome, AppendRequest, Idempotency, RecordedEvent, StoreError};

use crate::{Gateway, GatewayError, Operator, paths};

/// How often to look again when someone else wrote between our look and our
/// append. Each round someone got further, so this is plenty.
pub(crate) const ROUNDS: usize = 64;

/// Who asks for a change, and the idempotency key they gave.
#[derive(Debug)]
pub struct Request<'a> {
    /// Who.
    pub by: &'a Operator,
    /// Their key.
    pub command: Option<Idempotency>,
}

/// What opening came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// It is open now.
    Fresh(Project),
    /// It had been open.
    Already(Project),
}

impl Gateway {
    /// Opens a folder as a project. A folder that was a project before is the
    /// same project again, with its history.
    pub async fn open_project(
        &self,
        request: Request<'_>,
        path: &str,
    ) -> Result<Opened, GatewayError> {
        // The key first: what was done stays done, even if the folder is gone since.
        if let Some(command) = &request.command
            && let Some(done) =
                self.store.find_command_events(request.by.principal(), command).await?
        {
            return Ok(Opened::Already(self.opened_by(&done).await?));
        }
        let (text, places) = (path.to_owned(), self.places.clone());
        let folder = tokio::task::spawn_blocking(move || paths::project_folder(&text, &places))
            .await
            .map_err(|_| StoreError::Closed)??;
        let path = folder.to_string_lossy().into_owned();
        for _ in 0..ROUNDS {
            // First the version, then the look: what changes after is a conflict.
            let version = self.store.stream_version(Stream::Sys).await?;
            let known = self.all_projects().await?;
            let before = known.iter().find(|project| project.path == path);
            if let Some(project) = before.filter(|project| project.status == ProjectStatus::Open) {
                return Ok(Opened::Already(project.clone()));
            }
            let fact = if let Some(project) = before {
                opened(project.id, &project.slug, &folder)
            } else {
                let taken = |slug: &str| known.iter().any(|project| project.slug == slug);
                opened(self.clock.new_id(), &unique_slug(&folder_name(&folder), taken), &folder)
            };
            let append = AppendRequest {
                expect: vec![(Stream::Sys, version)],
                command: request.command.clone(),
                ..change(request.by, fact)
            };
            match self.append(append).await {
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(AppendOutcome::Appended(_)) => {
                    let project = self.project_at(&path).await?;
                    self.take_over(project.id).await?;
                    return Ok(Opened::Fresh(project));
                }
                Ok(AppendOutcome::Replayed(_)) => {
                    return Ok(Opened::Already(self.project_at(&path).await?));
                }
            }
        }
        Err(StoreError::Conflict { stream: Stream::Sys, expected: 0, actual: 0 }.into())
    }

    /// The project that these events opened, as it is now.
    async fn opened_by(&self, done: &[Arc<RecordedEvent>]) -> Result<Project, GatewayError> {
        for event in done {
            if let Some(Fact::ProjectOpened { project, .. }) = event.decode_event()?.fact() {
                return self.project(&project.uuid().to_string()).await;
            }
        }
        Err(GatewayError::ProjectNotFound("of the first request".to_owned()))
    }

    /// The project in this folder, open or closed.
    async fn project_at(&self, path: &str) -> Result<Project, GatewayError> {
        let found = self.all_projects().await?.into_iter().find(|project| project.path == path);
        found.ok_or_else(|| GatewayError::ProjectNotFound(path.to_owned()))
    }

    /// Closes a project. Its folder and its history stay.
    pub async fn close_project(
        &self,
        request: Request<'_>,
        name: &str,
    ) -> Result<Project, GatewayError> {
        if let Some(command) = &request.command
            && self.store.find_command_events(request.by.principal(), command).await?.is_some()
        {
            return self.project(name).await;
        }
        for _ in 0..ROUNDS {
            // First the version, then the look: what changes after is a conflict.
            let version = self.store.stream_version(Stream::Sys).await?;
            let project = self.project(name).await?;
            if project.status == ProjectStatus::Closed {
                return Ok(project);
            }
            let append = AppendRequest {
                expect: vec![(Stream::Sys, version)],
                command: request.command.clone(),
                ..change(request.by, Fact::ProjectClosed { project: project.id })
            };
            match self.append(append).await {
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    let closed = self.project(name).await?;
                    self.take_over(project.id).await?;
                    self.withdraw_all(project.id).await?;
                    self.stop_kernel(project.id).await;
                    return Ok(closed);
                }
            }
        }
        Err(StoreError::Conflict { stream: Stream::Sys, expected: 0, actual: 0 }.into())
    }

    /// Takes a project as the log has it into the copy that decisions are made on.
    async fn take_over(&self, id: ProjectId) -> Result<(), GatewayError> {
        // With the turn in hand, so that what is older never comes after what is newer.
        let _turn = self.turn().await?;
        if let Some(doc) = self.store.get_document(ViewKind::Projects, id.uuid()).await? {
            self.governance.learn(doc);
        }
        Ok(())
    }

    /// The project with this id or slug, open or closed.
    pub async fn project(&self, name: &str) -> Result<Project, GatewayError> {
        let not_found = || GatewayError::ProjectNotFound(name.to_owned());
        if let Ok(id) = name.parse::<ProjectId>() {
            let doc = self.store.get_document(ViewKind::Projects, id.uuid()).await?;
            return doc.and_then(ViewDocument::into_project).ok_or_else(not_found);
        }
        self.all_projects().await?.into_iter().find(|p| p.slug == name).ok_or_else(not_found)
    }

    /// All projects, open and closed, the first opened first.
    pub async fn all_projects(&self) -> Result<Vec<Project>, GatewayError> {
        let docs = self.store.list_documents(ViewKind::Projects).await?;
        Ok(docs.into_iter().filter_map(ViewDocument::into_project).collect())
    }
}

fn change(by: &Operator, fact: Fact) -> AppendRequest {
    AppendRequest::single_event(by.principal(), by.actor().clone(), Stream::Sys, fact)
}

fn opened(project: ProjectId, slug: &str, folder: &Path) -> Fact {
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
