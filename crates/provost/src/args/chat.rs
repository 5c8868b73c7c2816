//! Arguments of the commands for sessions with models.

use clap::Args;

use super::JsonArgs;

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// The role the model acts in; default: the only trusted role.
    #[arg(long, value_name = "R")]
    pub(crate) role: Option<String>,
    /// The model, as `provider/model`; default: the role's, then the configured one.
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// Send this message followed by piped input, print the answer and exit. `-` sends
    /// only the piped input.
    ///
    /// Exits with 0 if the answer is complete, with 7 if it reached the token limit of an
    /// answer, with 8 if the model or a filter declined, with 9 at a budget or a limit of
    /// the turn, and with 1 on any other failure.
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Continue this session: its id, or the end of it.
    #[arg(long, value_name = "ID", conflicts_with_all = ["role", "model"])]
    pub(crate) session: Option<String>,
    /// The project: id or short name; default: the project of the current folder.
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
    /// Print the events of the turn as JSON, one per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// Show the messages of this session: its id, or the end of it.
    pub(crate) session: Option<String>,
    /// Close the session; its messages are kept.
    #[arg(long, requires = "session")]
    pub(crate) close: bool,
    /// List older sessions: the position that the list before ends with.
    #[arg(long, value_name = "POSITION", conflicts_with = "session")]
    pub(crate) before: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// List this many days, of which today is one; the total is of all.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) days: u32,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}
