//! The arguments of looking back.

use clap::{Args, Subcommand};
use provost_proto::Stream;

use super::JsonArgs;

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Go on printing as events happen.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only this stream: sys, project/<id>, session/<id>, notebook/<id>.
    #[arg(long, value_name = "S")]
    pub(crate) stream: Option<Stream>,
    /// Only what came after this event.
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) what: Option<AuditCommand>,
    /// Tell the whole story of this action: its id, or the end of it.
    #[arg(long, value_name = "ID")]
    pub(crate) action: Option<String>,
    /// Only this project's: id or short name.
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
    /// How many actions to list.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Walk the hash chain; name the first event that is not what it was.
    ///
    /// Asks the daemon if one runs, else reads the log itself. Exits with 4 if
    /// the log was changed.
    Verify(JsonArgs),
    /// Fold the views again from the log: projects, tokens, actions, questions, sessions and
    /// whatever else is listed.
    ///
    /// They are only a copy of what the events say, so nothing is lost. The
    /// daemon must not run.
    Rebuild,
}
