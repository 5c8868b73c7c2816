//! The arguments of talking with models.

use clap::Args;

use super::JsonArgs;

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// The role the model acts in; the only one that is trusted if left out.
    #[arg(long, value_name = "R")]
    pub(crate) role: Option<String>,
    /// The model, as `provider/model`; the role's own, or the one of your configuration.
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// Say this, and what is piped in behind it; print the answer and end. `-` says only
    /// what is piped in.
    ///
    /// Ends with 0 if the answer is whole, with 7 if it was cut at the most tokens it may
    /// have, with 8 if the model or a filter declined, with 9 at a budget or a limit of the
    /// turn, and with 1 if it failed otherwise.
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Go on in this session: its id, or the end of it.
    #[arg(long, value_name = "ID", conflicts_with_all = ["role", "model"])]
    pub(crate) session: Option<String>,
    /// The project: id or short name; that of the current folder if left out.
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
    /// Print the events of the turn as JSON, one a line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// Show what was said in this session: its id, or the end of it.
    pub(crate) session: Option<String>,
    /// Close it; what was said stays.
    #[arg(long, requires = "session")]
    pub(crate) close: bool,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
