//! One rule: as it was written, and ready to be matched.

use std::collections::BTreeMap;

use provost_proto::ProjectMode;

use super::argv::Argv;
use super::error::PolicyFault;
use super::place::Paths;
use super::{Verdict, text};
use crate::action::text::{Breaks, check};
use crate::glob::{Path, Word, escape};
use crate::skill::Skills;

/// The skill that runs commands.
pub(super) const RUN: &str = "terminal.runCommand";

/// The longest id.
const ID: usize = 64;

/// A rule's keys and values, as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) id: String,
    pub(super) effect: Option<Verdict>,
    /// Every list of texts by its key, if it is there.
    pub(super) lists: BTreeMap<&'static str, Vec<String>>,
    pub(super) modes: Option<Vec<ProjectMode>>,
    pub(super) argv: Option<Vec<Vec<String>>>,
    pub(super) reason: Option<String>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub(super) written: Written,
    pub(super) effect: Verdict,
    pub(super) skills: Skills,
    /// All, if there are none.
    pub(super) roles: Option<Vec<Word>>,
    /// The folders of the projects it is for; all, if there are none.
    pub(super) projects: Option<Vec<Word>>,
    /// The folders that a command starts in; all, if there are none.
    pub(super) folders: Option<Vec<Folder>>,
    pub(super) select: Select,
    pub(super) line: usize,
}

/// What of the skills it is on a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Select {
    /// All of it.
    All,
    /// Commands with these words or hosts.
    Command {
        argv: Option<Argv>,
        with: Option<Vec<Word>>,
        without: Vec<Word>,
        hosts: Option<Vec<Word>>,
    },
    /// These very command lines.
    Lines(Vec<String>),
    /// These paths.
    Paths(Paths),
}

/// A folder of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Folder {
    /// The project itself: `.`.
    Top,
    /// One beneath it.
    Beneath(Path),
}

impl Folder {
    pub(super) fn matches(&self, folder: &str) -> bool {
        match self {
            Self::Top => folder == ".",
            Self::Beneath(path) => path.matches(folder),
        }
    }
}

impl Written {
    fn list(&self, key: &str) -> &[String] {
        self.lists.get(key).map_or(&[], Vec::as_slice)
    }
}

impl Rule {
    /// Its name in its file.
    pub fn id(&self) -> &str {
        &self.written.id
    }

    /// What it says.
    pub fn effect(&self) -> Verdict {
        self.effect
    }

    /// Why, in a sentence for people.
    pub fn reason(&self) -> Option<&str> {
        self.written.reason.as_deref()
    }

    /// The skills it is on.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// The line where it begins; 0 if it comes from no file.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Allows one command with exactly these words.
    pub fn for_exact_command(argv: &[String]) -> Result<Self, PolicyFault> {
        let name = argv.first().map_or("command", |program| crate::command::base(program));
        let id = text::id(&["always", name], argv);
        let words = argv.iter().map(|word| vec![escape(word)]).collect();
        let reason = "a person answered \"always\" for this command".to_owned();
        Self::new(Written {
            id,
            effect: Some(Verdict::Allow),
            lists: BTreeMap::from([("on", vec![RUN.to_owned()])]),
            argv: Some(words),
            reason: Some(reason),
            ..Written::default()
        })
        .map_err(|mut faults| faults.swap_remove(0).1)
    }

    /// Allows one skill on one path.
    pub fn for_path(skill: &str, path: &str) -> Result<Self, PolicyFault> {
        let id = text::id(&["always", skill], &[path.to_owned()]);
        let lists = [("on", skill.to_owned()), ("path", escape(path))];
        let reason = "a person answered \"always\" for this path".to_owned();
        Self::new(Written {
            id,
            effect: Some(Verdict::Allow),
            lists: lists.into_iter().map(|(key, text)| (key, vec![text])).collect(),
            reason: Some(reason),
            ..Written::default()
        })
        .map_err(|mut faults| faults.swap_remove(0).1)
    }

    /// Allows one command line exactly as it is written, with all it does.
    pub fn for_exact_line(line: &str) -> Result<Self, PolicyFault> {
        let lists = [("on", RUN.to_owned()), ("line", line.to_owned())];
        Self::new(Written {
            id: text::id(&["always", "line"], &[line.to_owned()]),
            effect: Some(Verdict::Allow),
            lists: lists.into_iter().map(|(key, text)| (key, vec![text])).collect(),
            reason: Some("a person answered \"always\" for this line".to_owned()),
            ..Written::default()
        })
        .map_err(|mut faults| faults.swap_remove(0).1)
    }

    /// The same rule, in the project in this folder only and, for a command, only
    /// where it starts in `cwd`.
    pub fn only_in(self, project: &str, cwd: Option<&str>) -> Result<Self, PolicyFault> {
        let mut written = self.written;
        let place = [written.id.clone(), project.to_owned(), cwd.unwrap_or_default().to_owned()];
        written.id = text::id(&[&written.id], &place);
        written.lists.insert("project", vec![escape(project)]);
        if let Some(cwd) = cwd {
            written
                .lists
                .insert("cwd", vec![if cwd == "." { cwd.to_owned() } else { escape(cwd) }]);
        }
        Self::new(written).map_err(|mut faults| faults.swap_remove(0).1)
    }

    /// The same rule, for one role only.
    pub fn for_role(self, role: &str) -> Result<Self, PolicyFault> {
        let mut written = self.written;
        written.id = text::id(&[&written.id], &[written.id.clone(), role.to_owned()]);
        written.lists.insert("roles", vec![escape(role)]);
        Self::new(written).map_err(|mut faults| faults.swap_remove(0).1)
    }

    /// Makes a rule ready, or says with each key what is wrong with it; never an
    /// empty list.
    pub(super) fn new(written: Written) -> Result<Self, Vec<(&'static str, PolicyFault)>> {
        let mut faults = Vec::new();
        let effect = written.effect.unwrap_or(Verdict::Deny);
        if let Err(fault) = check_id(&written.id) {
            faults.push(("id", fault));
        }
        if let Some(Err(why)) = written.reason.as_ref().map(|text| check(text, Breaks::No)) {
            faults.push(("reason", PolicyFault::Reason(why)));
        }
        let mut skills = Skills::default();
        for skill in written.list("on") {
            if let Err(fault) = skills.add(skill) {
                faults.push(("on", fault.into()));
            }
        }
        let roles = words(&written, "roles", &mut faults);
        let projects = words(&written, "project", &mut faults);
        let folders = folders(&written, &mut faults);
        let select = select(&written, &mut faults);
        // What is unknown cannot be in contradiction to anything.
        if faults.is_empty() {
            faults.extend(contradictions(&written, &skills));
        }
        if faults.is_empty() {
            Ok(Self { written, effect, skills, roles, projects, folders, select, line: 0 })
        } else {
            Err(faults)
        }
    }
}

type Faults = Vec<(&'static str, PolicyFault)>;

fn check_id(id: &str) -> Result<(), PolicyFault> {
    let taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !id.is_empty() && id.len() <= ID && id.chars().all(taken) {
        return Ok(());
    }
    Err(PolicyFault::Expected {
        key: "id".to_owned(),
        expected: "1 to 64 letters, digits and `-`, `_`, `.`",
        found: crate::action::text::excerpt(id),
    })
}

/// The patterns of a list of words, if it is there.
fn words(written: &Written, key: &'static str, faults: &mut Faults) -> Option<Vec<Word>> {
    let list = written.lists.get(key)?;
    let mut words = Vec::new();
    for text in list {
        // A host has one spelling: small letters.
        let folded = if key == "host" { text.to_lowercase() } else { text.clone() };
        match Word::new(&folded) {
            Ok(word) => words.push(word),
            Err(why) => faults.push((key, PolicyFault::pattern(key, text, why))),
        }
    }
    Some(words)
}

fn paths(written: &Written, key: &'static str, faults: &mut Faults) -> Vec<Path> {
    let mut paths = Vec::new();
    for text in written.list(key) {
        match Path::new(text) {
            Ok(path) => paths.push(path),
            Err(why) => faults.push((key, PolicyFault::pattern(key, text, why))),
        }
    }
    paths
}

fn folders(written: &Written, faults: &mut Faults) -> Option<Vec<Folder>> {
    let list = written.lists.get("cwd")?;
    let mut folders = Vec::new();
    for text in list {
        match Path::new(text) {
            _ if text == "." => folders.push(Folder::Top),
            Ok(path) => folders.push(Folder::Beneath(path)),
            Err(why) => faults.push(("cwd", PolicyFault::pattern("cwd", text, why))),
        }
    }
    Some(folders)
}

fn select(written: &Written, faults: &mut Faults) -> Select {
    if let Some(lines) = written.lists.get("line") {
        return Select::Lines(lines.clone());
    }
    let with = words(written, "with", faults);
    let without = words(written, "without", faults).unwrap_or_default();
    let hosts = words(written, "host", faults);
    let path = paths(written, "path", faults);
    let except = paths(written, "except", faults);
    let argv = match written.argv.as_deref().map(Argv::new) {
        Some(Ok(argv)) => Some(argv),
        Some(Err(fault)) => {
            faults.push(("argv", fault));
            None
        }
        None => None,
    };
    if argv.is_some() || hosts.is_some() {
        Select::Command { argv, with, without, hosts }
    } else if path.is_empty() {
        Select::All
    } else {
        Select::Paths(Paths { path, except })
    }
}

/// What no request could ever satisfy, and so is a mistake.
fn contradictions(written: &Written, skills: &Skills) -> Faults {
    let has = |key: &str| written.lists.contains_key(key);
    let files = skills.iter().any(|skill| skill.starts_with("fs."));
    let commands = skills.has(RUN);
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
