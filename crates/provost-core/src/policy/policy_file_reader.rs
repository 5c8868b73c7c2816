//! Reads a policy file and reports all errors in it.

use std::collections::HashMap;
use std::ops::Range;

use provost_proto::ProjectMode;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{PolicyError, PolicyErrors, PolicyFault};
use super::rule::{PolicyRule, RuleDefinition};
use super::{MAX_POLICY_BYTES, MAX_POLICY_RULES, RuleEffect, rule_examples};
use crate::spelling;

/// All keys of a rule.
const RULE_KEYS: &[&str] = &[
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

/// The keys that hold a list of strings.
const LIST_KEYS: &[&str] = &[
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

/// The most items of a list.
const MAX_LIST_ITEMS: usize = 256;

const EXPECTED_TEXT: &str = "a text";
const EXPECTED_TEXTS: &str = "a list of 1 to 256 texts";
const EXPECTED_PATHS: &str = "a list of at most 256 paths that begin with `/` or `~/`";
const EXPECTED_EFFECT: &str = "\"allow\", \"ask\" or \"deny\"";
const EXPECTED_MODES: &str = "a list of \"sandbox\", \"auto\", \"full\"";
const EXPECTED_ARGV: &str =
    "a list of texts, or of lists of texts, like `[\"git\", [\"log\", \"diff\"], \"**\"]`";

/// The rules of a file, and the paths that it lets commands read.
pub(super) type PolicyFileContent = (Vec<PolicyRule>, Vec<String>);

pub(super) fn read_policy_file(file: &str, text: &str) -> Result<PolicyFileContent, PolicyErrors> {
    let mut reader = PolicyFileReader {
        file,
        lines: LineIndex::new(text),
        rule_id: None,
        errors: Vec::new(),
        sandbox_read: Vec::new(),
    };
    let rules = reader.read_document(text);
    if reader.errors.is_empty() {
        return Ok((rules, reader.sandbox_read));
    }
    reader.errors.sort_by_key(|error| (error.line, error.column));
    Err(PolicyErrors(reader.errors))
}

struct PolicyFileReader<'a> {
    file: &'a str,
    lines: LineIndex,
    /// The id of the current rule.
    rule_id: Option<String>,
    errors: Vec<PolicyError>,
    sandbox_read: Vec<String>,
}

/// The position of each key in a rule's table.
type KeySpans = HashMap<String, Range<usize>>;

impl PolicyFileReader<'_> {
    fn add_fault(&mut self, at: &Range<usize>, fault: PolicyFault) {
        let (line, column) = self.lines.line_and_column(at.start);
        let file = self.file.to_owned();
        self.errors.push(PolicyError { file, line, column, rule: self.rule_id.clone(), fault });
    }

    fn read_document(&mut self, text: &str) -> Vec<PolicyRule> {
        if text.len() > MAX_POLICY_BYTES {
            self.add_fault(&(0..0), PolicyFault::TooLarge(text.len()));
            return Vec::new();
        }
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let message = crate::action::escape_invisible(error.message()).replace("\\`", "`");
            self.add_fault(&error.span().unwrap_or(0..0), PolicyFault::Syntax(message));
        }
        // The values that the parser recovered from invalid text are not reliable.
        if !self.errors.is_empty() {
            return Vec::new();
        }
        let mut rules = Vec::new();
        for (key, value) in document.get_ref() {
            match (&**key.get_ref(), value.get_ref()) {
                ("rule", DeValue::Array(tables)) if tables.len() > MAX_POLICY_RULES => {
                    self.add_fault(&value.span(), PolicyFault::TooMany(tables.len()));
                }
                ("rule", DeValue::Array(tables)) => {
                    tables.iter().for_each(|table| rules.extend(self.read_rule(table)));
                }
                ("rule", other) => self.add_type_fault(&value.span(), "rule", "`[[rule]]`", other),
                ("sandbox", DeValue::Table(table)) => self.read_sandbox(table),
                ("sandbox", other) => {
                    self.add_type_fault(&value.span(), "sandbox", "`[sandbox]`", other);
                }
                (unknown, _) => self.add_unknown_key(&key.span(), unknown, &["rule", "sandbox"]),
            }
        }
        self.check_duplicates(&rules);
        rules
    }

    /// Reads `[sandbox]`.
    fn read_sandbox(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            if &**key.get_ref() != "read" {
                self.add_unknown_key(&key.span(), key.get_ref(), &["read"]);
                continue;
            }
            let is_path = |path: &String| path.starts_with('/') || path.starts_with("~/");
            match read_texts(value.get_ref()).filter(|paths| paths.iter().all(is_path)) {
                Some(paths) => self.sandbox_read = paths,
                None => {
                    self.add_type_fault(&value.span(), "read", EXPECTED_PATHS, value.get_ref());
                }
            }
        }
    }

    fn read_rule(&mut self, value: &Spanned<DeValue<'_>>) -> Option<PolicyRule> {
        self.rule_id = None;
        let DeValue::Table(table) = value.get_ref() else {
            self.add_type_fault(&value.span(), "rule", "`[[rule]]`", value.get_ref());
            return None;
        };
        if let Some(DeValue::String(id)) = table.get("id").map(Spanned::get_ref) {
            self.rule_id = Some(crate::action::escape_invisible(id).chars().take(64).collect());
        }
        let before = self.errors.len();
        let mut written = RuleDefinition::default();
        let mut spans = KeySpans::new();
        for (key, value) in table {
            spans.insert(key.get_ref().to_string(), value.span());
            match RULE_KEYS.iter().find(|known| **known == &**key.get_ref()) {
                Some(known) => self.read_key(&mut written, known, value),
                None => self.add_unknown_key(&key.span(), key.get_ref(), RULE_KEYS),
            }
        }
        for (key, expected) in
            [("id", EXPECTED_TEXT), ("effect", EXPECTED_EFFECT), ("on", EXPECTED_TEXTS)]
        {
            if !spans.contains_key(key) {
                self.add_fault(&value.span(), PolicyFault::Missing { key, expected });
            }
        }
        if self.errors.len() > before {
            return None;
        }
        let line = self.lines.line_and_column(value.span().start).0;
        let found = PolicyRule::new(written)
            .and_then(|rule| rule_examples::check_examples(&rule).map(|()| rule));
        match found {
            Ok(rule) => Some(PolicyRule { line, ..rule }),
            Err(faults) => {
                for (key, fault) in faults {
                    let span = spans.get(key).cloned().unwrap_or_else(|| value.span());
                    self.add_fault(&span, fault);
                }
                None
            }
        }
    }

    fn read_key(
        &mut self,
        written: &mut RuleDefinition,
        key: &'static str,
        value: &Spanned<DeValue<'_>>,
    ) {
        let found = value.get_ref();
        if LIST_KEYS.contains(&key) {
            let may_be_empty = matches!(key, "match" | "not_match");
            match read_texts(found).filter(|list| may_be_empty || !list.is_empty()) {
                Some(list) => drop(written.lists.insert(key, list)),
                None => self.add_type_fault(&value.span(), key, EXPECTED_TEXTS, found),
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
                written.effect = read_effect(value);
                if written.effect.is_some() {
                    return;
                }
                EXPECTED_EFFECT
            }
            ("modes", value) => {
                written.modes = read_modes(value);
                if written.modes.is_some() {
                    return;
                }
                EXPECTED_MODES
            }
            ("argv", value) => {
                written.argv = read_argv(value);
                if written.argv.is_some() {
                    return;
                }
                EXPECTED_ARGV
            }
            (_, _) => EXPECTED_TEXT,
        };
        self.add_type_fault(&value.span(), key, expected, found);
    }

    fn add_type_fault(
        &mut self,
        at: &Range<usize>,
        key: &str,
        expected: &'static str,
        value: &DeValue<'_>,
    ) {
        let found = describe_value(value);
        self.add_fault(at, PolicyFault::Expected { key: key.to_owned(), expected, found });
    }

    fn add_unknown_key(&mut self, at: &Range<usize>, key: &str, known: &[&'static str]) {
        let similar = spelling::nearest_name(key, known.iter().copied());
        let known: Vec<_> = known.iter().map(|key| format!("`{key}`")).collect();
        let expected = known.join(", ");
        self.add_fault(at, PolicyFault::UnknownKey { key: key.to_owned(), similar, expected });
    }

    fn check_duplicates(&mut self, rules: &[PolicyRule]) {
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

fn read_texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let items = value.as_array().filter(|items| items.len() <= MAX_LIST_ITEMS)?;
    items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
}

fn read_effect(value: &DeValue<'_>) -> Option<RuleEffect> {
    match value.as_str()? {
        "allow" => Some(RuleEffect::Allow),
        "ask" => Some(RuleEffect::Ask),
        "deny" => Some(RuleEffect::Deny),
        _ => None,
    }
}

fn read_modes(value: &DeValue<'_>) -> Option<Vec<ProjectMode>> {
    let mode = |text: &String| match text.as_str() {
        "sandbox" => Some(ProjectMode::Sandbox),
        "auto" => Some(ProjectMode::Auto),
        "full" => Some(ProjectMode::Full),
        _ => None,
    };
    read_texts(value)?
        .iter()
        .map(mode)
        .collect::<Option<Vec<_>>>()
        .filter(|modes| !modes.is_empty())
}

fn read_argv(value: &DeValue<'_>) -> Option<Vec<Vec<String>>> {
    let items = value.as_array().filter(|items| items.len() <= MAX_LIST_ITEMS)?;
    let span = |item: &Spanned<DeValue<'_>>| match item.get_ref().as_str() {
        Some(word) => Some(vec![word.to_owned()]),
        None => read_texts(item.get_ref()),
    };
    items.iter().map(span).collect()
}

/// The type of a value and, if it is short, the value.
fn describe_value(value: &DeValue<'_>) -> String {
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

/// The byte offsets at which lines begin.
struct LineIndex(Vec<usize>);

impl LineIndex {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// Line and column of a byte offset, both from 1.
    fn line_and_column(&self, at: usize) -> (usize, usize) {
        let line = self.0.partition_point(|start| *start <= at).max(1);
        (line, at - self.0[line - 1] + 1)
    }
}
