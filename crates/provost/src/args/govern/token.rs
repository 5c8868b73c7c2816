//! The arguments of handing out tokens.

use clap::{Subcommand, ValueEnum};
use provost_proto::TokenClass;

use crate::args::JsonArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Hand out a token; it is shown this once.
    Create {
        /// What it may do.
        #[arg(long, value_enum)]
        class: TokenClassArg,
        /// The only project it may see: id or short name.
        #[arg(long, value_name = "P")]
        project: Option<String>,
        /// The role it acts in; agents only.
        #[arg(long, value_name = "R")]
        role: Option<String>,
        /// What it is for.
        #[arg(long)]
        label: Option<String>,
        /// How many minutes it lives; until revoked if left out.
        #[arg(long, value_name = "N")]
        minutes: Option<u32>,
        #[command(flatten)]
        json: JsonArgs,
    },
    /// List the tokens that still work.
    List(JsonArgs),
    /// Take a token back.
    Revoke {
        /// Its id, as `list` shows it.
        id: String,
    },
}

/// [`TokenClass`] as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum TokenClassArg {
    /// A person: may decide.
    Operator,
    /// May request, never decide.
    Agent,
    /// The runtime of a notebook.
    Runtime,
    /// May look.
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
