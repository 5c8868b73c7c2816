//! Arguments of the commands that govern agents.

mod token;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use provost_proto::{AnswerScope, Hash, ProjectMode};

pub(crate) use token::TokenCommand;

/// The project, and the output format.
#[derive(Debug, Args)]
pub(crate) struct ProjectScopeArgs {
    /// The project: id or short name; default: the project of the current folder.
    #[arg(long, global = true, value_name = "P")]
    pub(crate) project: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) what: Option<ApprovalsCommand>,
    /// Only this project: id or short name; default: all projects.
    #[arg(long, global = true, value_name = "P")]
    pub(crate) project: Option<String>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List pending approvals.
    List {
        /// Include approvals that were resolved, the latest first.
        #[arg(long)]
        all: bool,
        /// Older ones: the position that the list before ends with.
        #[arg(long, value_name = "POSITION", requires = "all")]
        before: Option<String>,
    },
    /// Show one approval in full.
    Show {
        /// The id, or the end of it.
        id: String,
    },
    /// Show approvals as they are requested, and read answers: a, s, u, w, d, m and Enter.
    Watch,
    /// Show what an action would do, and let it run.
    ///
    /// On a terminal it asks for confirmation. A script passes the hash it was shown
    /// (`actionHash` in `--json`) with `--hash`, so that it cannot allow another action.
    Allow(AllowArgs),
    /// Deny an action.
    Deny(DenyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// The approval's id, or the end of it.
    pub(crate) id: String,
    /// What the answer covers.
    #[arg(long, value_enum, default_value = "once")]
    pub(crate) scope: ScopeArg,
    /// For `--scope until`: minutes, at most 480.
    #[arg(long, value_name = "N")]
    pub(crate) minutes: Option<u32>,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Hash of the action that was shown; the answer is valid for no other. Scripts that
    /// the action runs are part of the approval: if one changes, it is requested again.
    #[arg(long, value_name = "H")]
    pub(crate) hash: Option<Hash>,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// The approval's id, or the end of it.
    pub(crate) id: String,
    /// Message to the agent.
    #[arg(long, short, value_name = "M")]
    pub(crate) message: Option<String>,
}

/// [`AnswerScope`] as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScopeArg {
    /// Only this action.
    Once,
    /// The same action again, until the session or the agent's token ends.
    Session,
    /// The same action again, for `--minutes`.
    Until,
    /// The same action again, by a rule in your policy.toml.
    Always,
}

impl From<ScopeArg> for AnswerScope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Once => Self::Once,
            ScopeArg::Session => Self::Session,
            ScopeArg::Until => Self::Until,
            ScopeArg::Always => Self::Always,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ModeArgs {
    /// The mode to set; default: show the current mode.
    #[arg(value_enum)]
    pub(crate) mode: Option<ModeArg>,
    /// Minutes until the mode ends.
    #[arg(long, value_name = "N", requires = "mode")]
    pub(crate) minutes: Option<u32>,
    #[command(flatten)]
    pub(crate) here: ProjectScopeArgs,
}

/// [`ProjectMode`] as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ModeArg {
    /// Reads in the project run, everything else needs an approval.
    Sandbox,
    /// Actions inside the sandbox run, others need an approval.
    Auto,
    /// Only dangerous actions need an approval; for a limited time.
    Full,
}

impl From<ModeArg> for ProjectMode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Sandbox => Self::Sandbox,
            ModeArg::Auto => Self::Auto,
            ModeArg::Full => Self::Full,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RolesArgs {
    #[command(subcommand)]
    pub(crate) what: Option<RolesCommand>,
    #[command(flatten)]
    pub(crate) here: ProjectScopeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RolesCommand {
    /// List the roles and the role files that are invalid.
    List,
    /// List errors in role files; exits with 1 if there are any.
    Check,
    /// Show untrusted or changed role files, and trust them as they are.
    Trust {
        /// Only this file, as `list` shows it.
        file: Option<String>,
        /// Do not ask for confirmation.
        #[arg(long, short)]
        yes: bool,
    },
    /// Change the model in a role's file; the rest of the file is kept.
    Model {
        /// The role.
        role: String,
        /// The model, such as anthropic/claude-sonnet-5.
        model: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) what: Option<PolicyCommand>,
    #[command(flatten)]
    pub(crate) here: ProjectScopeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List the rules of all layers that are in effect.
    List,
    /// List errors in rule files, with file and line.
    ///
    /// Default: your own file and that of the project of the current folder.
    /// Needs no daemon. Exits with 1 if there are errors.
    Check {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// Show what would be decided, and why. Nothing is executed.
    ///
    /// `provost policy explain 'curl x | sh'` for a shell command line,
    /// `provost policy explain -- git push -f` for a program and its arguments,
    /// `provost policy explain --action fs.writeFile path=.env` for other actions.
    Explain(ExplainArgs),
    /// Run the examples in rule files, and count those that pass.
    Test {
        /// The files; default: your own and the project's.
        files: Vec<PathBuf>,
    },
    /// List past requests of agents that a changed file would decide differently.
    Simulate {
        /// The changed file.
        file: PathBuf,
        /// The layer the file would be in.
        #[arg(long, value_enum, default_value = "user")]
        layer: LayerArg,
        /// Number of past requests to evaluate, the latest first.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
    },
    /// Show the project's rules or their changes, and trust them as they are.
    Trust {
        /// Do not ask for confirmation.
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The agent's role; default: a role with every skill.
    #[arg(long, value_name = "R")]
    pub(crate) role: Option<String>,
    /// The mode; default: the project's.
    #[arg(long, value_enum, value_name = "M")]
    pub(crate) mode: Option<ModeArg>,
    /// An action other than a command.
    #[arg(long, value_name = "A", conflicts_with = "command")]
    pub(crate) action: Option<String>,
    /// Parameters of the action; without --action, the command.
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    /// The command: one argument is a shell command line, several are program and arguments.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

/// A layer of rules that users can change.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LayerArg {
    /// Your own rules.
    User,
    /// The project's rules, as if they were trusted.
    Project,
}

#[derive(Debug, Args)]
pub(crate) struct GrantsArgs {
    #[command(subcommand)]
    pub(crate) what: Option<GrantsCommand>,
    #[command(flatten)]
    pub(crate) here: ProjectScopeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// List active grants.
    List {
        /// Include grants that expired or were revoked, the latest of them.
        #[arg(long)]
        all: bool,
        /// Older ones: the position that the list before ends with.
        #[arg(long, value_name = "POSITION", requires = "all")]
        before: Option<String>,
    },
    /// Revoke a grant; the same action then needs an approval again.
    Revoke {
        /// The id, or the end of it.
        id: String,
    },
}
