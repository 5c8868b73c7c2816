//! Ids are types, so that two of them cannot be swapped.
//!
//! Every id is a UUIDv7: sortable by its creation time, unique without coordination. On the wire
//! it is the bare UUID; for people it has a prefix with its type. Both forms can be parsed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what} id")]
pub struct ParseIdError {
    /// The text.
    pub text: String,
    /// The type of the expected id.
    pub what: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal, $ts:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(type = $ts))]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub struct $name(Uuid);

        impl $name {
            /// The id with this UUID.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The bare UUID.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.as_hyphenated())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let bare = text.strip_prefix(concat!($prefix, "_")).unwrap_or(text);
                Uuid::try_parse(bare)
                    .map(Self)
                    .map_err(|_| ParseIdError { text: text.to_owned(), what: $what })
            }
        }
    };
}

id!(
    /// One event in the log.
    EventId, "evt", "event", "Brand<string, 'event'>"
);
id!(
    /// One folder that a person opened.
    ProjectId, "prj", "project", "Brand<string, 'project'>"
);
id!(
    /// One session with a model.
    SessionId, "ses", "session", "Brand<string, 'session'>"
);
id!(
    /// One turn of a session.
    TurnId, "trn", "turn", "Brand<string, 'turn'>"
);
id!(
    /// One message in a session.
    MessageId, "msg", "message", "Brand<string, 'message'>"
);
id!(
    /// One notebook.
    NotebookId, "nbk", "notebook", "Brand<string, 'notebook'>"
);
id!(
    /// One cell of a notebook.
    CellId, "cel", "cell", "Brand<string, 'cell'>"
);
id!(
    /// One execution of a cell.
    ExecutionId, "exe", "execution", "Brand<string, 'execution'>"
);
id!(
    /// One output of an execution.
    OutputId, "out", "output", "Brand<string, 'output'>"
);
id!(
    /// One session of a notebook's runtime.
    RuntimeSessionId, "rts", "runtime session", "Brand<string, 'runtime session'>"
);
id!(
    /// One requested action.
    ActionId, "act", "action", "Brand<string, 'action'>"
);
id!(
    /// One approval.
    ApprovalId, "apr", "approval", "Brand<string, 'approval'>"
);
id!(
    /// One grant.
    GrantId, "grt", "grant", "Brand<string, 'grant'>"
);
id!(
    /// One token. Not the secret.
    TokenId, "tok", "token", "Brand<string, 'token'>"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back_from_both_of_its_forms() {
        let id = ProjectId::new(Uuid::from_u128(7));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.uuid().to_string().parse(), Ok(id));
    }

    #[test]
    fn an_id_with_the_prefix_of_another_kind_is_refused() {
        let id = ProjectId::new(Uuid::from_u128(7)).to_string();
        assert_eq!(
            id.parse::<SessionId>().unwrap_err().to_string(),
            "`prj_00000000-0000-0000-0000-000000000007` is not a session id"
        );
    }
}
