//! Arguments of `provost token`.

use clap::{Subcommand, ValueEnum};
use provost_proto::{NotebookId, TokenClass};

use crate::args::JsonArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token; it is shown only once.
    Create {
        /// The class of the token, which sets what it may do.
        #[arg(long, value_enum)]
        class: TokenClassArg,
        /// Limit the token to this project: id or short name.
        #[arg(long, value_name = "P")]
        project: Option<String>,
        /// The role to act in; only for class agent.
        #[arg(long, value_name = "R")]
        role: Option<String>,
        /// The notebook that it may run, by its id; only for class runtime.
        #[arg(long, value_name = "N")]
        notebook: Option<NotebookId>,
        /// A label that says what the token is for.
        #[arg(long)]
        label: Option<String>,
        /// Minutes until it expires; default: it is valid until revoked.
        #[arg(long, value_name = "N")]
        minutes: Option<u32>,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// List valid tokens.
    List(JsonArgs),
    /// Revoke a token.
    Revoke {
        /// The id, as `list` shows it.
        id: String,
    },
}

/// [`TokenClass`] as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum TokenClassArg {
    /// A person: may answer approvals.
    Operator,
    /// May request actions, never answer approvals.
    Agent,
    /// The runtime of a notebook.
    Runtime,
    /// Read-only.
    Viewer,
}

impl From<TokenClassArg> for TokenClass {
    fn from(class: TokenClassArg) -> Self {
        match class {
            TokenClassArg::Operator => Self::Operator,
            TokenClassArg::Agent => Self::Agent,
            TokenClassArg::Runtime => Self::Runtime,
            TokenClassArg::Viewer => Self::Viewer,
        }
    }
}
