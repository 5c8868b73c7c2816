//! What the rules are asked: one action or command effect, by whom and where.

use provost_proto::ProjectMode;

use crate::command::CommandInvocation;

/// One thing that a request needs permission for, with the requester.
#[derive(Debug, Clone, Copy)]
pub struct RuleQuery<'a> {
    /// The skill that it needs.
    pub skill: &'a str,
    /// The role of the requester; an operator has none.
    pub role: Option<&'a str>,
    /// The project's mode.
    pub mode: ProjectMode,
    /// What it acts on.
    pub target: RuleTarget<'a>,
    /// Project, folder and command line that it is part of.
    pub at: RequestLocation<'a>,
}

/// Project, folder and command line that a query is part of.
#[derive(Debug, Clone, Copy)]
pub struct RequestLocation<'a> {
    /// The absolute path of the project, if it is known.
    pub project: Option<&'a str>,
    /// The folder in which a command starts, relative to the project.
    pub cwd: &'a str,
    /// The whole command line, if it is part of one.
    pub line: Option<&'a str>,
}

impl Default for RequestLocation<'_> {
    fn default() -> Self {
        Self { project: None, cwd: ".", line: None }
    }
}

/// What a query acts on.
#[derive(Debug, Clone, Copy)]
pub enum RuleTarget<'a> {
    /// A path inside the project, normalized.
    Path(&'a str),
    /// An absolute path, or one that leaves the project.
    OutsidePath(&'a str),
    /// A path with globs or unknown parts.
    UnresolvedPath(&'a str),
    /// A command that could be analyzed.
    Run(&'a CommandInvocation),
    /// A command that could not be analyzed.
    Opaque,
    /// Nothing that a rule could be limited to.
    Nothing,
}
