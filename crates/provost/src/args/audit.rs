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
    /// Only events of this project: id or short name.
    #[arg(long, value_name = "P", conflicts_with = "stream")]
    pub(crate) project: Option<String>,
    /// Only events of these kinds, separated by commas.
    #[arg(long, value_name = "KINDS")]
    pub(crate) kind: Option<String>,
    /// Only the last N events; 200 unless --after is given.
    #[arg(long, value_name = "N", conflicts_with_all = ["follow", "after"])]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) filter: EventFilterArgs,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// Which events of the log.
#[derive(Debug, Args)]
pub(crate) struct EventFilterArgs {
    /// Only by these actors, such as cli or agent:dev, separated by commas.
    #[arg(long, value_name = "ACTORS")]
    pub(crate) actor: Option<String>,
    /// Only of this session.
    #[arg(long, value_name = "ID", conflicts_with_all = ["project", "stream"])]
    pub(crate) session: Option<String>,
    /// Only events in which all of these words occur, in any case.
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
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
    /// Only by these actors, such as cli or agent:dev, separated by commas.
    #[arg(long, value_name = "ACTORS")]
    pub(crate) actor: Option<String>,
    /// Only actions in whose request all of these words occur, in any case.
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
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
