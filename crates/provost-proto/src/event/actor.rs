//! The component that acted.

use serde::{Deserialize, Serialize};

/// The component that acted. The daemon takes it from the authenticated connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(
    feature = "ts",
    ts(type = "'ui' | 'cli' | 'kernel' | 'daemon' | `agent:${string}` | `runtime:${string}`")
)]
pub enum Actor {
    /// A person in the browser.
    Ui,
    /// A person or script at the command line.
    Cli,
    /// An agent in a role.
    Agent(String),
    /// The runtime of a notebook.
    Runtime(String),
    /// A project's kernel process.
    Kernel,
    /// The daemon, without a request.
    Daemon,
}

/// The text is not the name of an actor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an actor")]
pub struct ParseActorError(String);

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ui => f.write_str("ui"),
            Self::Cli => f.write_str("cli"),
            Self::Agent(role) => write!(f, "agent:{role}"),
            Self::Runtime(id) => write!(f, "runtime:{id}"),
            Self::Kernel => f.write_str("kernel"),
            Self::Daemon => f.write_str("daemon"),
        }
    }
}

impl std::str::FromStr for Actor {
    type Err = ParseActorError;

    fn from_str(text: &str) -> Result<Self, ParseActorError> {
        Ok(match (text, text.split_once(':')) {
            ("ui", _) => Self::Ui,
            ("cli", _) => Self::Cli,
            ("kernel", _) => Self::Kernel,
            ("daemon", _) => Self::Daemon,
            (_, Some(("agent", role))) => Self::Agent(role.to_owned()),
            (_, Some(("runtime", id))) => Self::Runtime(id.to_owned()),
            (_, None | Some(_)) => return Err(ParseActorError(text.to_owned())),
        })
    }
}

impl Serialize for Actor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <std::borrow::Cow<'de, str>>::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Actor {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .examples([serde_json::json!("cli")])
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Actor {}
