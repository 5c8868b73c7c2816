//! One rule: as written, and compiled for matching.

use std::collections::BTreeMap;

use provost_proto::ProjectMode;

use super::argv_pattern::ArgvPattern;
use super::error::PolicyFault;
use super::path_selector::PathSelector;
use super::{RuleEffect, rule_text};
use crate::action::text::{LineBreaks, check_visible};
use crate::glob::{PathPattern, WordPattern, escape_pattern};
use crate::skill::SkillSet;

/// The skill that runs commands.
pub(super) const RUN_SKILL: &str = "terminal.runCommand";

/// The longest id, in bytes.
const MAX_RULE_ID_BYTES: usize = 64;

/// The keys and values of a rule, as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RuleDefinition {
    pub(super) id: String,
    pub(super) effect: Option<RuleEffect>,
    /// The lists of strings that are present, by key.
    pub(super) lists: BTreeMap<&'static str, Vec<String>>,
    pub(super) modes: Option<Vec<ProjectMode>>,
    pub(super) argv: Option<Vec<Vec<String>>>,
    pub(super) reason: Option<String>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    pub(super) written: RuleDefinition,
    pub(super) effect: RuleEffect,
    pub(super) skills: SkillSet,
    /// The roles it is limited to, if any.
    pub(super) roles: Option<Vec<WordPattern>>,
    /// The projects it is limited to, if any.
    pub(super) projects: Option<Vec<WordPattern>>,
    /// The start folders of commands that it is limited to, if any.
    pub(super) folders: Option<Vec<FolderPattern>>,
    pub(super) select: RuleSelector,
    pub(super) line: usize,
}

/// What a rule is about, within its skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RuleSelector {
    /// Everything.
    All,
    /// Commands with these words or hosts.
    Command {
        argv: Option<ArgvPattern>,
        with: Option<Vec<WordPattern>>,
        without: Vec<WordPattern>,
        hosts: Option<Vec<WordPattern>>,
    },
    /// Exactly these command lines.
    ExactLines(Vec<String>),
    /// These paths.
    Paths(PathSelector),
}

/// A folder of the project, as a rule names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FolderPattern {
    /// The project itself: `.`.
    ProjectRoot,
    /// A folder below it.
    Subfolder(PathPattern),
}

impl FolderPattern {
    pub(super) fn matches(&self, folder: &str) -> bool {
        match self {
            Self::ProjectRoot => folder == ".",
            Self::Subfolder(path) => path.matches(folder),
        }
    }
}

impl RuleDefinition {
    fn list(&self, key: &str) -> &[String] {
        self.lists.get(key).map_or(&[], Vec::as_slice)
    }
}

impl PolicyRule {
    /// Its id, unique in its file.
    pub fn id(&self) -> &str {
        &self.written.id
    }

    /// Its effect.
    pub fn effect(&self) -> RuleEffect {
        self.effect
    }

    /// The reason, a sentence for people.
    pub fn reason(&self) -> Option<&str> {
        self.written.reason.as_deref()
    }

    /// The skills that it is on.
    pub fn skills(&self) -> &SkillSet {
        &self.skills
    }

    /// The line in which it begins; 0 if it is from no file.
    pub fn line(&self) -> usize {
        self.line
    }

    /// A rule that allows one command with exactly these words.
    pub fn allow_exact_command(argv: &[String]) -> Result<Self, PolicyFault> {
        let name =
            argv.first().map_or("command", |program| crate::command::program_basename(program));
        let id = rule_text::build_rule_id(&["always", name], argv);
        let words = argv.iter().map(|word| vec![escape_pattern(word)]).collect();
        let reason = "a person answered \"always\" for this command".to_owned();
        Self::new(RuleDefinition {
            id,
            effect: Some(RuleEffect::Allow),
            lists: BTreeMap::from([("on", vec![RUN_SKILL.to_owned()])]),
            argv: Some(words),
            reason: Some(reason),
            ..RuleDefinition::default()
        })
        .map_err(|mut faults| faults.swap_remove(0).1)
    }

    /// A rule that allows one skill on one path.
    pub fn allow_path(skill: &str, path: &str) -> Result<Self, PolicyFault> {
        let id = rule_text::build_rule_id(&["always", skill], &[path.to_owned()]);
        let lists = [("on", skill.to_owned()), ("path", escape_pattern(path))];
        let reason = "a person answered \"always\" for this path".to_owned();
        Self::new(RuleDefinition {
            id,
            effect: Some(RuleEffect::Allow),
            lists: lists.into_iter().map(|(key, text)| (key, vec![text])).collect(),
            reason: Some(reason),
            ..RuleDefinition::default()
        })
        .map_err(|mut faults| faults.swap_remove(0).1)
    }

    /// A rule that allows one exact command line.
    pub fn allow_exact_line(line: &str) -> Result<Self, PolicyFault> {
        let lists = [("on", RUN_SKILL.to_owned()), ("line", line.to_owned())];
        Self::new(RuleDefinition {
            id: rule_text::build_rule_id(&["always", "line"], &[line.to_owned()]),
            effect: Some(RuleEffect::Allow),
            lists: lists.into_iter().map(|(key, text)| (key, vec![text])).collect(),
            reason: Some("a person answered \"always\" for this line".to_owned()),
            ..RuleDefinition::default()
        })
        .map_err(|mut faults| faults.swap_remove(0).1)
    }

    /// Limits the rule to the project in this folder and, for a command, to the start folder
    /// `cwd`.
    pub fn restrict_to_project(
        self,
        project: &str,
        cwd: Option<&str>,
    ) -> Result<Self, PolicyFault> {
        let mut written = self.written;
        let id_parts = [written.id.clone(), project.to_owned(), cwd.unwrap_or_default().to_owned()];
        written.id = rule_text::build_rule_id(&[&written.id], &id_parts);
        written.lists.insert("project", vec![escape_pattern(project)]);
        if let Some(cwd) = cwd {
            written
                .lists
                .insert("cwd", vec![if cwd == "." { cwd.to_owned() } else { escape_pattern(cwd) }]);
        }
        Self::new(written).map_err(|mut faults| faults.swap_remove(0).1)
    }

    /// Limits the rule to one role.
    pub fn restrict_to_role(self, role: &str) -> Result<Self, PolicyFault> {
        let mut written = self.written;
        written.id =
            rule_text::build_rule_id(&[&written.id], &[written.id.clone(), role.to_owned()]);
        written.lists.insert("roles", vec![escape_pattern(role)]);
        Self::new(written).map_err(|mut faults| faults.swap_remove(0).1)
    }

    /// Compiles a rule. Returns all errors with their keys; the list is never empty.
    pub(super) fn new(written: RuleDefinition) -> Result<Self, Vec<(&'static str, PolicyFault)>> {
        let mut faults = Vec::new();
        let effect = written.effect.unwrap_or(RuleEffect::Deny);
        if let Err(fault) = check_id(&written.id) {
            faults.push(("id", fault));
        }
        if let Some(Err(why)) =
            written.reason.as_ref().map(|text| check_visible(text, LineBreaks::Forbidden))
        {
            faults.push(("reason", PolicyFault::Reason(why)));
        }
        let mut skills = SkillSet::default();
        for skill in written.list("on") {
            if let Err(fault) = skills.add(skill) {
                faults.push(("on", fault.into()));
            }
        }
        let roles = word_patterns(&written, "roles", &mut faults);
        let projects = word_patterns(&written, "project", &mut faults);
        let folders = folder_patterns(&written, &mut faults);
        let select = build_selector(&written, &mut faults);
        // Contradictions are only checked if all values are valid.
        if faults.is_empty() {
            faults.extend(find_contradictions(&written, &skills));
        }
        if faults.is_empty() {
            Ok(Self { written, effect, skills, roles, projects, folders, select, line: 0 })
        } else {
            Err(faults)
        }
    }
}

type KeyFaults = Vec<(&'static str, PolicyFault)>;

fn check_id(id: &str) -> Result<(), PolicyFault> {
    let taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !id.is_empty() && id.len() <= MAX_RULE_ID_BYTES && id.chars().all(taken) {
        return Ok(());
    }
    Err(PolicyFault::Expected {
        key: "id".to_owned(),
        expected: "1 to 64 letters, digits and `-`, `_`, `.`",
        found: crate::action::text::excerpt(id),
    })
}

/// The patterns of a list of words, if it is present.
fn word_patterns(
    written: &RuleDefinition,
    key: &'static str,
    faults: &mut KeyFaults,
) -> Option<Vec<WordPattern>> {
    let list = written.lists.get(key)?;
    let mut words = Vec::new();
    for text in list {
        // Host names are compared in lower case.
        let folded = if key == "host" { text.to_lowercase() } else { text.clone() };
        match WordPattern::new(&folded) {
            Ok(word) => words.push(word),
            Err(why) => faults.push((key, PolicyFault::from_bad_pattern(key, text, why))),
        }
    }
    Some(words)
}

fn path_patterns(
    written: &RuleDefinition,
    key: &'static str,
    faults: &mut KeyFaults,
) -> Vec<PathPattern> {
    let mut paths = Vec::new();
    for text in written.list(key) {
        match PathPattern::new(text) {
            Ok(path) => paths.push(path),
            Err(why) => faults.push((key, PolicyFault::from_bad_pattern(key, text, why))),
        }
    }
    paths
}

fn folder_patterns(written: &RuleDefinition, faults: &mut KeyFaults) -> Option<Vec<FolderPattern>> {
    let list = written.lists.get("cwd")?;
    let mut folders = Vec::new();
    for text in list {
        match PathPattern::new(text) {
            _ if text == "." => folders.push(FolderPattern::ProjectRoot),
            Ok(path) => folders.push(FolderPattern::Subfolder(path)),
            Err(why) => faults.push(("cwd", PolicyFault::from_bad_pattern("cwd", text, why))),
        }
    }
    Some(folders)
}

fn build_selector(written: &RuleDefinition, faults: &mut KeyFaults) -> RuleSelector {
    if let Some(lines) = written.lists.get("line") {
        return RuleSelector::ExactLines(lines.clone());
    }
    let with = word_patterns(written, "with", faults);
    let without = word_patterns(written, "without", faults).unwrap_or_default();
    let hosts = word_patterns(written, "host", faults);
    let path = path_patterns(written, "path", faults);
    let except = path_patterns(written, "except", faults);
    let argv = match written.argv.as_deref().map(ArgvPattern::new) {
        Some(Ok(argv)) => Some(argv),
        Some(Err(fault)) => {
            faults.push(("argv", fault));
            None
        }
        None => None,
    };
    if argv.is_some() || hosts.is_some() {
        RuleSelector::Command { argv, with, without, hosts }
    } else if path.is_empty() {
        RuleSelector::All
    } else {
        RuleSelector::Paths(PathSelector { path, except })
    }
}

/// Combinations of keys that no request could match, which are mistakes.
fn find_contradictions(written: &RuleDefinition, skills: &SkillSet) -> KeyFaults {
    let has = |key: &str| written.lists.contains_key(key);
    let files = skills.iter().any(|skill| skill.starts_with("fs."));
    let commands = skills.has(RUN_SKILL);
    let about_commands = written.argv.is_some() || has("host");
    let mut found = Vec::new();
    let mut check = |wrong: bool, key: &'static str, why: &'static str| {
        if wrong {
            found.push((key, PolicyFault::Contradiction(why)));
        }
    };
    check(
        about_commands && !commands,
        if written.argv.is_some() { "argv" } else { "host" },
        "`argv` and `host` are about commands; expected `on` to name `terminal.runCommand`",
    );
    check(
        about_commands && has("path"),
        "path",
        "`path` is about files and `argv` and `host` about commands; expected two rules",
    );
    check(
        has("path") && !files && !commands,
        "path",
        "`path` is about files; expected `on` to name `fs.…` or `terminal.runCommand`",
    );
    check(
        has("without") && written.argv.is_none(),
        "without",
        "`without` narrows `argv`; expected an `argv`",
    );
    check(
        has("with") && written.argv.is_none(),
        "with",
        "`with` narrows `argv`; expected an `argv`",
    );
    check(
        has("line") && (about_commands || has("path") || !commands),
        "line",
        "`line` is a whole command line; expected `on` to name `terminal.runCommand`, and neither \
         `argv`, `host` nor `path`",
    );
    check(
        has("cwd") && !commands,
        "cwd",
        "`cwd` is where a command starts; expected `on` to name `terminal.runCommand`",
    );
    check(has("except") && !has("path"), "except", "`except` narrows `path`; expected a `path`");
    found
}
