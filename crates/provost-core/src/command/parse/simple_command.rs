//! One simple command: its words, variables and redirections.

use brush_parser::ast::{
    Assignment, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem as Item,
    IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, RedirectList, SimpleCommand,
    Word as RawWord,
};

use super::analyzer::CommandAnalyzer;
use super::brace_expansion;
use super::line_validation::{UnreadableCommand, is_lookalike};
use super::plain_line_parser::{self, PlainCommand, RedirectDirection};
use super::shell_word;
use crate::command::environment::variables::VariableValue;
use crate::command::{CommandEffect, CommandInvocation, OpaqueReason, tools};

/// Programs that read a here-document as data only.
const DATA_READERS: &[&str] = &[
    "cat",
    "tee",
    "grep",
    "wc",
    "sort",
    "uniq",
    "head",
    "tail",
    "tr",
    "cut",
    "jq",
    "base64",
    "md5sum",
    "sha256sum",
    "column",
    "diff",
    "nl",
    "rev",
    "tac",
    "fold",
    "paste",
];

/// Whether this program reads its stdin as data only.
pub(crate) fn reads_stdin_as_data(program: &str) -> bool {
    DATA_READERS.contains(&program)
}

/// Devices that discard or only print what is written.
const DISCARDING_DEVICES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

impl CommandAnalyzer {
    pub(crate) fn visit_simple_command(&mut self, simple: &SimpleCommand) {
        let mut run = CommandInvocation::default();
        let mut redirects: Vec<&IoRedirect> = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                Item::AssignmentWord(assignment, _) => self.add_assignment(&mut run, assignment),
                Item::IoRedirect(redirect) => redirects.push(redirect),
                Item::Word(word) => self.add_argument(&mut run, word),
                Item::ProcessSubstitution(kind, inner) => {
                    let text = self.analyze_process_substitution(kind, inner);
                    run.unknown.push(run.argv.len());
                    run.argv.push(text);
                }
            }
        }
        if let Some(name) = &simple.word_or_name {
            self.add_program_name(&mut run, name);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::Word(word) | Item::AssignmentWord(_, word) => {
                    self.add_argument(&mut run, word);
                }
                Item::IoRedirect(redirect) => redirects.push(redirect),
                Item::ProcessSubstitution(kind, inner) => {
                    let text = self.analyze_process_substitution(kind, inner);
                    run.unknown.push(run.argv.len());
                    run.argv.push(text);
                }
            }
        }
        let fed = redirects.iter().any(|redirect| is_here_document(redirect));
        if let (true, Some(program)) = (fed, run.argv.first())
            && !reads_stdin_as_data(program)
        {
            self.mark_arguments_uncertain(OpaqueReason::CommandsFromInput, program.clone());
        }
        self.analyze_invocation(run);
        for redirect in redirects {
            self.visit_redirect(redirect);
        }
    }

    /// The same for a command of the plain parser.
    pub(crate) fn visit_plain_command(&mut self, plain: &PlainCommand<'_>) {
        let argv = plain.words.iter().map(|word| shell_word::parse_shell_word(word).text).collect();
        self.analyze_invocation(CommandInvocation { argv, ..CommandInvocation::default() });
        for (direction, path) in &plain.redirects {
            let path = shell_word::parse_shell_word(path).text;
            match direction {
                RedirectDirection::Read => self.add_read_path(&path),
                RedirectDirection::Write => self.add_written_path(&path),
            }
        }
    }

    /// An argument, or the several that its braces expand to.
    fn add_argument(&mut self, run: &mut CommandInvocation, raw: &RawWord) {
        if let Some(words) = brace_expansion::expand_braces(&raw.value) {
            run.argv.extend(words);
            return;
        }
        let word = self.analyze_word(raw);
        if word.why.is_some() {
            run.unknown.push(run.argv.len());
        } else if is_lookalike(&word.text, false) {
            self.reject_lookalike(raw, &word.text);
        }
        run.argv.push(word.text);
    }

    /// The name of a program: one that looks like another is refused.
    fn add_program_name(&mut self, run: &mut CommandInvocation, raw: &RawWord) {
        if plain_line_parser::RESERVED_WORDS.contains(&raw.value.as_str()) {
            // Bash would interpret it as a keyword.
            self.mark_programs_uncertain(OpaqueReason::Unreadable, raw.value.clone());
        }
        let first = run.argv.len();
        self.add_argument(run, raw);
        if let Some(name) = run.argv.get(first)
            && !run.unknown.contains(&first)
            && is_lookalike(name, true)
        {
            let name = name.clone();
            self.reject_lookalike(raw, &name);
        }
    }

    fn reject_lookalike(&mut self, raw: &RawWord, name: &str) {
        let location = raw.loc.as_ref().filter(|_| self.is_outermost_line());
        let at = location.map_or(1, |span| span.start.index + 1);
        self.reject_line(UnreadableCommand::LookalikeName { name: name.to_owned(), at });
    }

    fn add_assignment(&mut self, run: &mut CommandInvocation, assignment: &Assignment) {
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name.clone(),
            AssignmentName::ArrayElementName(name, index) => {
                self.mark_programs_uncertain(OpaqueReason::Arithmetic, format!("{name}[{index}]"));
                self.analyze_substitutions_in(index);
                name.clone()
            }
        };
        let (value, mut known) = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let word = self.analyze_word(word);
                (word.text, word.why.is_none())
            }
            AssignmentValue::Array(items) => {
                self.mark_arguments_uncertain(OpaqueReason::Arithmetic, format!("{name}=(…)"));
                for (index, item) in items {
                    self.analyze_word(item);
                    if let Some(index) = index {
                        self.mark_programs_uncertain(OpaqueReason::Arithmetic, index.value.clone());
                        self.analyze_word(index);
                    }
                }
                (String::new(), false)
            }
        };
        if assignment.append {
            self.mark_arguments_uncertain(OpaqueReason::Expansion, format!("{name}+=…"));
            known = false;
        }
        self.analyze_variable(&name, VariableValue::new(&value, known));
        run.assignments.push((name, value));
    }

    pub(crate) fn visit_redirects(&mut self, redirects: Option<&RedirectList>) {
        for redirect in redirects.into_iter().flat_map(|list| &list.0) {
            if is_here_document(redirect) {
                self.mark_arguments_uncertain(OpaqueReason::CommandsFromInput, "<<");
            }
            self.visit_redirect(redirect);
        }
    }

    fn visit_redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, kind, target) => self.visit_file_redirect(kind, target),
            IoRedirect::OutputAndError(word, _) => {
                let path = self.analyze_redirect_target(word);
                self.add_written_path(&path);
            }
            IoRedirect::HereString(_, word) => {
                self.analyze_redirect_target(word);
            }
            IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                if document.requires_expansion && text.contains(['$', '`', '\\']) {
                    self.mark_arguments_uncertain(OpaqueReason::Expansion, text.clone());
                    self.analyze_substitutions_in(text);
                }
            }
        }
    }

    /// The file of a redirection: a number could be a file descriptor.
    fn analyze_redirect_target(&mut self, word: &RawWord) -> String {
        if word.value.bytes().all(|byte| byte.is_ascii_digit()) {
            self.mark_arguments_uncertain(OpaqueReason::Quoting, word.value.clone());
        }
        self.analyze_word(word).text
    }

    fn visit_file_redirect(&mut self, kind: &IoFileRedirectKind, target: &IoFileRedirectTarget) {
        let path = match target {
            IoFileRedirectTarget::Filename(word) => self.analyze_redirect_target(word),
            IoFileRedirectTarget::Duplicate(word) => {
                let text = self.analyze_word(word).text;
                // `2>&1`, `2>&1-`, `2>&-`; shells differ on anything else that begins like this.
                let number = text.strip_suffix('-').unwrap_or(&text);
                if number.bytes().all(|byte| byte.is_ascii_digit()) {
                    return;
                }
                if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                    self.mark_arguments_uncertain(OpaqueReason::Quoting, format!(">&{text}"));
                }
                text
            }
            IoFileRedirectTarget::Fd(_) => return,
            IoFileRedirectTarget::ProcessSubstitution(kind, inner) => {
                self.analyze_process_substitution(kind, inner);
                return;
            }
        };
        match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => {
                self.add_read_path(&path);
            }
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Append
            | IoFileRedirectKind::ReadAndWrite
            | IoFileRedirectKind::Clobber
            | IoFileRedirectKind::DuplicateOutput => self.add_written_path(&path),
        }
    }

    fn add_read_path(&mut self, path: &str) {
        self.check_socket_path(path);
        for path in self.folders.resolve_path(path) {
            self.add_effect(CommandEffect::Read { path });
        }
    }

    pub(crate) fn add_written_path(&mut self, path: &str) {
        self.add_write(path, false);
    }

    pub(crate) fn add_deleted_path(&mut self, path: &str) {
        self.add_write(path, true);
    }

    fn add_write(&mut self, path: &str, deletes: bool) {
        self.check_socket_path(path);
        if DISCARDING_DEVICES.contains(&path) {
            return;
        }
        for path in self.folders.resolve_path(path) {
            self.add_effect(CommandEffect::Write { path, deletes });
        }
    }

    fn check_socket_path(&mut self, path: &str) {
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            self.mark_programs_uncertain(OpaqueReason::Socket, path);
        }
    }

    /// A program with its arguments; wrappers are analyzed.
    pub(crate) fn analyze_invocation(&mut self, mut run: CommandInvocation) {
        let Some(program) = run.argv.first() else { return };
        if program.is_empty() || !program.is_ascii() {
            self.mark_programs_uncertain(OpaqueReason::MisleadingName, program.clone());
        }
        if run.unknown.first() == Some(&0) {
            self.mark_programs_uncertain(OpaqueReason::Expansion, program.clone());
        }
        if run.through.is_empty() {
            run.through.clone_from(&self.through);
            run.assignments.splice(..0, self.assigned.iter().cloned());
        }
        tools::analyze_program(self, run);
    }
}

/// Whether it is a here-document or a here-string.
fn is_here_document(redirect: &IoRedirect) -> bool {
    match redirect {
        IoRedirect::HereDocument(..) | IoRedirect::HereString(..) => true,
        IoRedirect::File(..) | IoRedirect::OutputAndError(..) => false,
    }
}
