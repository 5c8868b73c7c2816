//! Creating notebooks.

use std::collections::HashSet;

use provost_notebook::create_notebook;
use provost_proto::notebook::{CreateNotebookRequest, Notebook, NotebookFact};
use provost_proto::{NotebookId, Project, ProjectStatus, Stream};
use provost_store::{AppendOutcome, AppendRequest, Durability, Idempotency, NewEvent};
use serde_json::Map;

use super::NotebookService;
use super::commands::refusal_error;
use crate::GatewayError;
use crate::caller::NotebookAccess;

/// A notebook to create with contents.
#[derive(Debug)]
pub struct NotebookImport {
    /// Its id.
    pub notebook: NotebookId,
    /// What makes it: first its creation, then its cells and their outputs.
    pub facts: Vec<NotebookFact>,
}

impl NotebookService {
    /// Creates an empty notebook.
    pub async fn create(
        &self,
        access: &NotebookAccess,
        project: &Project,
        request: &CreateNotebookRequest,
        command: Option<Idempotency>,
    ) -> Result<Notebook, GatewayError> {
        let notebook = self.new_notebook_id();
        let fact =
            create_notebook(notebook, project.id, request, &Map::new()).map_err(refusal_error)?;
        self.import(access, project, NotebookImport { notebook, facts: vec![fact] }, command).await
    }

    /// An id for a new notebook.
    pub fn new_notebook_id(&self) -> NotebookId {
        self.log.clock().new_id()
    }

    /// Creates a notebook with contents, all or none.
    pub async fn import(
        &self,
        access: &NotebookAccess,
        project: &Project,
        import: NotebookImport,
        command: Option<Idempotency>,
    ) -> Result<Notebook, GatewayError> {
        access.require_edit()?;
        if !access.may_list(project.id) {
            return Err(GatewayError::BoundToOtherProject);
        }
        if project.status != ProjectStatus::Open {
            return Err(GatewayError::ProjectClosed);
        }
        let NotebookImport { notebook, facts } = import;
        debug_assert!(facts.iter().map(NotebookFact::notebook).collect::<HashSet<_>>().len() == 1);
        let stream = Stream::Notebook(notebook);
        let append = AppendRequest {
            principal: access.principal().to_owned(),
            actor: access.actor().clone(),
            command,
            expect: vec![(stream, 0)],
            unchanged: Vec::new(),
            durability: Durability::Synced,
            events: facts
                .into_iter()
                .map(|fact| NewEvent { stream, fact: fact.into(), cause: None })
                .collect(),
        };
        let created = match self.log.append(append).await? {
            AppendOutcome::Appended(_) => notebook,
            // Another id was chosen the first time.
            AppendOutcome::Replayed(events) => match events.first().map(|event| event.stream) {
                Some(Stream::Notebook(first)) => first,
                Some(Stream::Sys | Stream::Project(_) | Stream::Session(_)) | None => notebook,
            },
        };
        self.documents().get_notebook(created).await
    }
}
