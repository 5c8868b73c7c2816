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
    /// Say this, print the answer and end. `-` reads it from the input.
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
