//! Arguments of the commands that read the log.

use clap::{Args, Subcommand};
use provost_proto::{LogCursor, Stream};

use super::JsonArgs;

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Keep printing new events, from now on; with --after, from there on.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only this stream: sys, project/<id>, session/<id>, notebook/<id>.
    #[arg(long, value_name = "S")]
    pub(crate) stream: Option<Stream>,
    /// Only events after this sequence number; 0 begins with the first.
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<LogCursor>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) what: Option<AuditCommand>,
    /// Show the report of this action: its id, or the end of it.
    #[arg(long, value_name = "ID")]
    pub(crate) action: Option<String>,
    /// Only actions of this project: id or short name.
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
    /// Verify the hash chain and report the first event that was changed.
    ///
    /// Uses the daemon if one is running, else reads the log itself. Exits with 4
    /// if the log was changed.
    Verify(JsonArgs),
    /// Rebuild the views from the log: projects, tokens, actions, approvals, sessions and
    /// other lists.
    ///
    /// Views hold nothing that is not in the events, so nothing is lost. The
    /// daemon must not be running.
    Rebuild,
}
