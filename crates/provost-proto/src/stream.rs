//! The streams of the log: one for the daemon, one per project, session and notebook.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{NotebookId, ParseIdError, ProjectId, SessionId};

/// The stream that an event belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(
    feature = "ts",
    ts(type = "'sys' | `project/${string}` | `session/${string}` | `notebook/${string}`")
)]
pub enum Stream {
    /// The daemon itself: starts and stops, projects, tokens.
    Sys,
    /// One project.
    Project(ProjectId),
    /// One session.
    Session(SessionId),
    /// One notebook.
    Notebook(NotebookId),
}

/// The text is not the name of a stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseStreamError {
    /// The part before the slash is unknown.
    #[error("`{0}` is not a stream: expected sys, project/<id>, session/<id> or notebook/<id>")]
    UnknownPrefix(String),
    /// The part after the slash is not an id.
    #[error(transparent)]
    InvalidId(#[from] ParseIdError),
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sys => f.write_str("sys"),
            Self::Project(id) => write!(f, "project/{}", id.uuid()),
            Self::Session(id) => write!(f, "session/{}", id.uuid()),
            Self::Notebook(id) => write!(f, "notebook/{}", id.uuid()),
        }
    }
}

impl FromStr for Stream {
    type Err = ParseStreamError;

    fn from_str(text: &str) -> Result<Self, ParseStreamError> {
        match text.split_once('/') {
            None if text == "sys" => Ok(Self::Sys),
            Some(("project", id)) => Ok(Self::Project(id.parse()?)),
            Some(("session", id)) => Ok(Self::Session(id.parse()?)),
            Some(("notebook", id)) => Ok(Self::Notebook(id.parse()?)),
            None | Some(_) => Err(ParseStreamError::UnknownPrefix(text.to_owned())),
        }
    }
}

impl Serialize for Stream {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Stream {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <std::borrow::Cow<'de, str>>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Stream {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .examples([serde_json::json!("sys")])
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Stream {}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn every_stream_is_read_back_as_it_was_written() {
        let id = Uuid::from_u128(5);
        for stream in [
            Stream::Sys,
            Stream::Project(id.into()),
            Stream::Session(id.into()),
            Stream::Notebook(id.into()),
        ] {
            assert_eq!(stream.to_string().parse(), Ok(stream));
        }
    }

    #[test]
    fn an_unknown_stream_is_refused_with_what_was_expected() {
        for text in ["", "sys/", "project", "projects/7", "sys/1"] {
            let error = text.parse::<Stream>().unwrap_err().to_string();
            assert!(error.contains("expected sys, project/<id>"), "{text}: {error}");
        }
        let error = "project/7".parse::<Stream>().unwrap_err().to_string();
        assert_eq!(error, "`7` is not a project id");
    }
}
