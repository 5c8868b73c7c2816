//! Data of notebooks under its hash. It is stored once and never changes; who may see the
//! notebook may read it, and nobody else.

use provost_core::hash_chain;
use provost_notebook::artifact_key;
use provost_proto::kernel::ErrorInfo;
use provost_proto::notebook::{Artifact, ArtifactAdded, NotebookDocument, NotebookFact};
use provost_proto::{Code, Hash, NotebookId, limits};

use super::{NotebookService, not_found};
use crate::GatewayError;
use crate::caller::NotebookAccess;

/// Bytes to store.
#[derive(Debug)]
pub struct ArtifactContent {
    /// The hash that they are expected to have.
    pub hash: Hash,
    /// Their MIME type.
    pub mime: String,
    /// Their name, if they are a file.
    pub name: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl NotebookService {
    /// Stores bytes for a notebook, once.
    pub async fn put_artifact(
        &self,
        access: &NotebookAccess,
        id: NotebookId,
        content: ArtifactContent,
    ) -> Result<Artifact, GatewayError> {
        if !access.can_write() {
            access.require_edit()?;
        }
        let notebook = self.find_visible(access, id).await?;
        if notebook.deleted_at.is_some() {
            return Err(not_found(id));
        }
        let ArtifactContent { hash, mime, name, bytes } = content;
        check_names(&mime, name.as_deref())?;
        if bytes.len() > limits::MAX_ARTIFACT_BYTES {
            let (size, limit) = (bytes.len(), limits::MAX_ARTIFACT_BYTES);
            return Err(provost_store::StoreError::TooLarge { size, limit }.into());
        }
        if hash_chain::digest(&bytes) != hash {
            let message = "the bytes have another BLAKE3 hash than the address names".to_owned();
            let code = Code::HashMismatch;
            return Err(GatewayError::Fault(ErrorInfo { code, message, details: None }));
        }
        if let Some(known) = self.find_artifact(id, hash).await? {
            return Ok(known);
        }
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.log.store().put_blob(bytes).await?;
        let added = ArtifactAdded { notebook: id, artifact: hash, mime, size, name };
        self.append_artifact(access, id, NotebookFact::ArtifactAdded(added)).await?;
        self.find_artifact(id, hash).await?.ok_or_else(|| missing_artifact(hash))
    }

    /// The bytes of an artifact of a notebook.
    pub async fn get_artifact(
        &self,
        access: &NotebookAccess,
        id: NotebookId,
        hash: Hash,
    ) -> Result<(Artifact, Vec<u8>), GatewayError> {
        self.find_visible(access, id).await?;
        let artifact = self.find_artifact(id, hash).await?;
        let artifact = artifact.ok_or_else(|| missing_artifact(hash))?;
        let bytes = self.log.store().get_blob(hash).await?;
        Ok((artifact, bytes.ok_or_else(|| missing_artifact(hash))?))
    }

    /// The artifact of a notebook with this hash.
    async fn find_artifact(
        &self,
        id: NotebookId,
        hash: Hash,
    ) -> Result<Option<Artifact>, GatewayError> {
        let found = self.documents().get(vec![artifact_key(id, hash)]).await?;
        Ok(found.into_iter().find_map(|document| {
            if let NotebookDocument::Artifacts(artifact) = document {
                Some(*artifact)
            } else {
                None
            }
        }))
    }
}

fn missing_artifact(hash: Hash) -> GatewayError {
    GatewayError::ItemNotFound { what: "artifact", name: hash.to_string() }
}

/// They become headers of responses.
fn check_names(mime: &str, name: Option<&str>) -> Result<(), GatewayError> {
    let is_visible = |text: &str| text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if !mime.contains('/') || mime.len() > limits::MAX_NAME_BYTES || !is_visible(mime) {
        let why = "it is not a MIME type".to_owned();
        return Err(GatewayError::InvalidField { field: "Content-Type", why });
    }
    if name.is_some_and(|name| name.len() > limits::MAX_NAME_BYTES) {
        let why = "it is longer than 128 bytes".to_owned();
        return Err(GatewayError::InvalidField { field: "name", why });
    }
    Ok(())
}
