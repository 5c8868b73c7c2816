//! `preview.fetch`: a page of the project's own preview, and of nothing else.

use provost_proto::limits;
use serde::{Deserialize, Serialize};

use super::error::{BadValue, Checked, no_longer, within};
use super::text::quoted;
use super::{Params, RelPath};

/// How many bytes of an answer are read at most.
const BODY: u64 = 1024 * 1024;

/// A page of the project's preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FetchPreview {
    /// The path with its query, from `/` on.
    #[serde(default = "root")]
    pub path: String,
    /// Another port on which something of the project listens.
    #[serde(default)]
    pub port: Option<u16>,
    /// How many bytes of the body.
    #[serde(default = "limit")]
    pub limit: u64,
}

fn root() -> String {
    "/".to_owned()
}

fn limit() -> u64 {
    262_144
}

impl Params for FetchPreview {
    fn check(&self) -> Checked {
        no_longer("path", &self.path, limits::MAX_PATH_BYTES)?;
        // A second slash would name another host; anything else, another request.
        let host = self.path.starts_with("//") || self.path.starts_with("/\\");
        if host || !self.path.starts_with('/') {
            return Err(BadValue::new("path", "begins with one `/`"));
        }
        if !self.path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadValue::new("path", "is plain ASCII; everything else is written `%XX`"));
        }
        if self.path.contains('#') {
            return Err(BadValue::new("path", "has a `#`, which is never sent"));
        }
        if let Some(port) = self.port {
            within("port", port.into(), 1..=65_535)?;
        }
        within("limit", self.limit, 1..=BODY)
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
