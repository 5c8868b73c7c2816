//! `preview.fetch`: fetches a page of the project's own preview.

use provost_proto::limits;
use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, ValidationResult, check_max_len, check_range};
use super::text::quoted;
use super::{ActionParams, RelPath};

/// The most bytes of a response body.
const BODY: u64 = 1024 * 1024;

/// Fetches a page of the project's preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FetchPreview {
    /// The path with its query, beginning with `/`.
    #[serde(default = "default_path")]
    pub path: String,
    /// Another port that a process of the project listens on.
    #[serde(default)]
    pub port: Option<u16>,
    /// The most bytes of the body to return.
    #[serde(default = "default_limit")]
    pub limit: u64,
}

fn default_path() -> String {
    "/".to_owned()
}

fn default_limit() -> u64 {
    262_144
}

impl ActionParams for FetchPreview {
    fn validate(&self) -> ValidationResult {
        check_max_len("path", &self.path, limits::MAX_PATH_BYTES)?;
        // A second slash would name another host, a line break another request.
        let host = self.path.starts_with("//") || self.path.starts_with("/\\");
        if host || !self.path.starts_with('/') {
            return Err(InvalidParam::new("path", "begins with one `/`"));
        }
        if !self.path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidParam::new(
                "path",
                "is plain ASCII; everything else is written `%XX`",
            ));
        }
        if self.path.contains('#') {
            return Err(InvalidParam::new("path", "has a `#`, which is never sent"));
        }
        if let Some(port) = self.port {
            check_range("port", port.into(), 1..=65_535)?;
        }
        check_range("limit", self.limit, 1..=BODY)
    }

    fn describe(&self) -> String {
        let path = quoted(&self.path);
        match self.port {
            None => format!("fetch {path} from the project's preview"),
            Some(port) => format!("fetch {path} from what the project serves on port {port}"),
        }
    }

    fn paths(&self) -> Vec<RelPath> {
        Vec::new()
    }
}
