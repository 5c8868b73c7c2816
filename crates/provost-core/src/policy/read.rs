//! Reads a policy file and finds everything that is wrong with it.

use std::collections::HashMap;
use std::ops::Range;

use provost_proto::ProjectMode;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{PolicyError, PolicyErrors, PolicyFault};
use super::rule::{Rule, Written};
use super::{FILE, RULES, Verdict, example};
use crate::near;

/// Every key of a rule.
const KEYS: &[&str] = &[
    "id",
    "effect",
    "on",
    "roles",
    "modes",
    "project",
    "cwd",
    "argv",
    "with",
    "without",
    "line",
    "path",
    "except",
    "host",
    "reason",
    "match",
    "not_match",
];

/// The keys that hold a list of texts.
const LISTS: &[&str] = &[
    "on",
    "roles",
    "project",
    "cwd",
    "with",
    "without",
    "line",
    "path",
    "except",
    "host",
    "match",
    "not_match",
];

/// The longest list.
const ITEMS: usize = 256;

const TEXT: &str = "a text";
const TEXTS: &str = "a list of 1 to 256 texts";
const EFFECT: &str = "\"allow\", \"ask\" or \"deny\"";
const MODES: &str = "a list of \"sandbox\", \"auto\", \"full\"";
const ARGV: &str =
    "a list of texts, or of lists of texts, like `[\"git\", [\"log\", \"diff\"], \"**\"]`";

pub(super) fn policy(file: &str, text: &str) -> Result<Vec<Rule>, PolicyErrors> {
    let mut reader = Reader { file, lines: Lines::new(text), rule: None, errors: Vec::new() };
    let rules = reader.document(text);
    if reader.errors.is_empty() {
        return Ok(rules);
    }
    reader.errors.sort_by_key(|error| (error.line, error.column));
    Err(PolicyErrors(reader.errors))
}

struct Reader<'a> {
    file: &'a str,
    lines: Lines,
    /// The id of the rule that is being read.
    rule: Option<String>,
    errors: Vec<PolicyError>,
}

/// A rule's table, and where each of its keys stands.
type Places = HashMap<String, Range<usize>>;

impl Reader<'_> {
    fn fault(&mut self, at: &Range<usize>, fault: PolicyFault) {
        let (line, column) = self.lines.place(at.start);
        let file = self.file.to_owned();
        self.errors.push(PolicyError { file, line, column, rule: self.rule.clone(), fault });
    }

    fn document(&mut self, text: &str) -> Vec<Rule> {
        if text.len() > FILE {
            self.fault(&(0..0), PolicyFault::TooLarge(text.len()));
            return Vec::new();
        }
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let message = crate::action::visible(error.message()).replace("\\`", "`");
            self.fault(&error.span().unwrap_or(0..0), PolicyFault::Syntax(message));
        }
        // What was recovered from a broken text can mean anything.
        if !self.errors.is_empty() {
            return Vec::new();
        }
        let mut rules = Vec::new();
        for (key, value) in document.get_ref() {
            match (&**key.get_ref(), value.get_ref()) {
                ("rule", DeValue::Array(tables)) if tables.len() > RULES => {
                    self.fault(&value.span(), PolicyFault::TooMany(tables.len()));
                }
                ("rule", DeValue::Array(tables)) => {
                    tables.iter().for_each(|table| rules.extend(self.rule(table)));
                }
                ("rule", other) => self.wrong(&value.span(), "rule", "`[[rule]]`", other),
                (unknown, _) => self.unknown(&key.span(), unknown, &["rule"]),
            }
        }
        self.duplicates(&rules);
        rules
    }

    fn rule(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Rule> {
        self.rule = None;
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong(&value.span(), "rule", "`[[rule]]`", value.get_ref());
            return None;
        };
        if let Some(DeValue::String(id)) = table.get("id").map(Spanned::get_ref) {
            self.rule = Some(crate::action::visible(id).chars().take(64).collect());
        }
        let before = self.errors.len();
        let mut written = Written::default();
        let mut places = Places::new();
        for (key, value) in table {
            places.insert(key.get_ref().to_string(), value.span());
            match KEYS.iter().find(|known| **known == &**key.get_ref()) {
                Some(known) => self.key(&mut written, known, value),
                None => self.unknown(&key.span(), key.get_ref(), KEYS),
            }
        }
        for (key, expected) in [("id", TEXT), ("effect", EFFECT), ("on", TEXTS)] {
            if !places.contains_key(key) {
                self.fault(&value.span(), PolicyFault::Missing { key, expected });
            }
        }
        if self.errors.len() > before {
            return None;
        }
        let line = self.lines.place(value.span().start).0;
        let found = Rule::new(written).and_then(|rule| example::check(&rule).map(|()| rule));
        match found {
            Ok(rule) => Some(Rule { line, ..rule }),
            Err(faults) => {
                for (key, fault) in faults {
                    let place = places.get(key).cloned().unwrap_or_else(|| value.span());
                    self.fault(&place, fault);
                }
                None
            }
        }
    }

    fn key(&mut self, written: &mut Written, key: &'static str, value: &Spanned<DeValue<'_>>) {
        let found = value.get_ref();
        if LISTS.contains(&key) {
            let may_be_empty = matches!(key, "match" | "not_match");
            match texts(found).filter(|list| may_be_empty || !list.is_empty()) {
                Some(list) => drop(written.lists.insert(key, list)),
                None => self.wrong(&value.span(), key, TEXTS, found),
            }
            return;
        }
        let expected = match (key, found) {
            ("id", DeValue::String(id)) => {
                written.id = id.to_string();
                return;
            }
            ("reason", DeValue::String(reason)) => {
                written.reason = Some(reason.to_string());
                return;
            }
            ("effect", value) => {
                written.effect = effect(value);
                if written.effect.is_some() {
                    return;
                }
                EFFECT
            }
            ("modes", value) => {
                written.modes = modes(value);
                if written.modes.is_some() {
                    return;
                }
                MODES
            }
            ("argv", value) => {
                written.argv = argv(value);
                if written.argv.is_some() {
                    return;
                }
                ARGV
            }
            (_, _) => TEXT,
        };
        self.wrong(&value.span(), key, expected, found);
    }

    fn wrong(&mut self, at: &Range<usize>, key: &str, expected: &'static str, value: &DeValue<'_>) {
        let found = kind(value);
        self.fault(at, PolicyFault::Expected { key: key.to_owned(), expected, found });
    }

    fn unknown(&mut self, at: &Range<usize>, key: &str, known: &[&'static str]) {
        let similar = near::nearest(key, known.iter().copied());
        let known: Vec<_> = known.iter().map(|key| format!("`{key}`")).collect();
        let expected = known.join(", ");
        self.fault(at, PolicyFault::UnknownKey { key: key.to_owned(), similar, expected });
    }

    fn duplicates(&mut self, rules: &[Rule]) {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for rule in rules {
            if let Some(line) = seen.insert(rule.id(), rule.line) {
                let (file, rule_id) = (self.file.to_owned(), Some(rule.id().to_owned()));
                let fault = PolicyFault::Duplicate { line };
                let line = rule.line;
                self.errors.push(PolicyError { file, line, column: 1, rule: rule_id, fault });
            }
        }
    }
}

fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let items = value.as_array().filter(|items| items.len() <= ITEMS)?;
    items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
}

fn effect(value: &DeValue<'_>) -> Option<Verdict> {
    match value.as_str()? {
        "allow" => Some(Verdict::Allow),
        "ask" => Some(Verdict::Ask),
        "deny" => Some(Verdict::Deny),
        _ => None,
    }
}

fn modes(value: &DeValue<'_>) -> Option<Vec<ProjectMode>> {
    let mode = |text: &String| match text.as_str() {
        "sandbox" => Some(ProjectMode::Sandbox),
        "auto" => Some(ProjectMode::Auto),
        "full" => Some(ProjectMode::Full),
        _ => None,
    };
    texts(value)?.iter().map(mode).collect::<Option<Vec<_>>>().filter(|modes| !modes.is_empty())
}

fn argv(value: &DeValue<'_>) -> Option<Vec<Vec<String>>> {
    let items = value.as_array().filter(|items| items.len() <= ITEMS)?;
    let place = |item: &Spanned<DeValue<'_>>| match item.get_ref().as_str() {
        Some(word) => Some(vec![word.to_owned()]),
        None => texts(item.get_ref()),
    };
    items.iter().map(place).collect()
}

/// What a value is, in words; what it says, if it is short.
fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => crate::action::text::excerpt(text),
        DeValue::Integer(_) | DeValue::Float(_) => "a number".to_owned(),
        DeValue::Boolean(_) => "a boolean".to_owned(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(items) if items.is_empty() => "an empty list".to_owned(),
        DeValue::Array(_) => "a list of something else".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// The line and the column of a byte, both from 1.
    fn place(&self, at: usize) -> (usize, usize) {
        let line = self.0.partition_point(|start| *start <= at).max(1);
        (line, at - self.0[line - 1] + 1)
    }
}
