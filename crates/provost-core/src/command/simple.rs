//! One simple command: its words, its variables and its redirections.

use brush_parser::ast::{
    Assignment, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem as Item,
    IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, RedirectList, SimpleCommand,
    Word as RawWord,
};

use super::braces;
use super::gate::{Unreadable, lookalike};
use super::plain::{self, Direction, Plain};
use super::reader::Reader;
use super::variables::Value;
use super::{Demand, Run, Why, tools, word};

/// Programs for which a here-document is data and nothing else.
const READERS: &[&str] = &[
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

/// Whether what this program is given to read is data and nothing else.
pub(super) fn reads_data(program: &str) -> bool {
    READERS.contains(&program)
}

/// Files that keep nothing.
const SINKS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

impl Reader {
    pub(super) fn simple(&mut self, simple: &SimpleCommand) {
        let mut run = Run::default();
        let mut redirects: Vec<&IoRedirect> = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                Item::AssignmentWord(assignment, _) => self.assignment(&mut run, assignment),
                Item::IoRedirect(redirect) => redirects.push(redirect),
                Item::Word(word) => self.argument(&mut run, word),
                Item::ProcessSubstitution(kind, inner) => {
                    let text = self.process_substitution(kind, inner);
                    run.unknown.push(run.argv.len());
                    run.argv.push(text);
                }
            }
        }
        if let Some(name) = &simple.word_or_name {
            self.program(&mut run, name);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::Word(word) | Item::AssignmentWord(_, word) => self.argument(&mut run, word),
                Item::IoRedirect(redirect) => redirects.push(redirect),
                Item::ProcessSubstitution(kind, inner) => {
                    let text = self.process_substitution(kind, inner);
                    run.unknown.push(run.argv.len());
                    run.argv.push(text);
                }
            }
        }
        let fed = redirects.iter().any(|redirect| is_text(redirect));
        if let (true, Some(program)) = (fed, run.argv.first())
            && !reads_data(program)
        {
            self.opaque(Why::Input, program.clone());
        }
        self.run(run);
        for redirect in redirects {
            self.redirect(redirect);
        }
    }

    /// The same for a command that was read the quick way.
    pub(super) fn plain(&mut self, plain: &Plain<'_>) {
        let argv = plain.words.iter().map(|word| word::read(word).text).collect();
        self.run(Run { argv, ..Run::default() });
        for (direction, path) in &plain.redirects {
            let path = word::read(path).text;
            match direction {
                Direction::Read => self.reads(&path),
                Direction::Write => self.writes(&path),
            }
        }
    }

    /// An argument, or the several that its braces stand for.
    fn argument(&mut self, run: &mut Run, raw: &RawWord) {
        if let Some(words) = braces::expand(&raw.value) {
            run.argv.extend(words);
            return;
        }
        let word = self.word(raw);
        if word.why.is_some() {
            run.unknown.push(run.argv.len());
        } else if lookalike(&word.text, false) {
            self.lookalike(raw, &word.text);
        }
        run.argv.push(word.text);
    }

    /// The name of a program: what looks like another name is refused.
    fn program(&mut self, run: &mut Run, raw: &RawWord) {
        if plain::RESERVED.contains(&raw.value.as_str()) {
            // Bash would take it for the beginning or the end of something.
            self.open(Why::Unreadable, raw.value.clone());
        }
        let first = run.argv.len();
        self.argument(run, raw);
        if let Some(name) = run.argv.get(first)
            && !run.unknown.contains(&first)
            && lookalike(name, true)
        {
            let name = name.clone();
            self.lookalike(raw, &name);
        }
    }

    fn lookalike(&mut self, raw: &RawWord, name: &str) {
        let place = raw.loc.as_ref().filter(|_| self.outermost());
        let at = place.map_or(1, |span| span.start.index + 1);
        self.refuse(Unreadable::Lookalike { name: name.to_owned(), at });
    }

    fn assignment(&mut self, run: &mut Run, assignment: &Assignment) {
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name.clone(),
            AssignmentName::ArrayElementName(name, index) => {
                self.open(Why::Arithmetic, format!("{name}[{index}]"));
                self.inside(index);
                name.clone()
            }
        };
        let (value, mut known) = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let word = self.word(word);
                (word.text, word.why.is_none())
            }
            AssignmentValue::Array(items) => {
                self.opaque(Why::Arithmetic, format!("{name}=(…)"));
                for (index, item) in items {
                    self.word(item);
                    if let Some(index) = index {
                        self.open(Why::Arithmetic, index.value.clone());
                        self.word(index);
                    }
                }
                (String::new(), false)
            }
        };
        if assignment.append {
            self.opaque(Why::Expansion, format!("{name}+=…"));
            known = false;
        }
        self.variable(&name, Value::new(&value, known));
        run.assignments.push((name, value));
    }

    pub(super) fn redirects(&mut self, redirects: Option<&RedirectList>) {
        for redirect in redirects.into_iter().flat_map(|list| &list.0) {
            if is_text(redirect) {
                self.opaque(Why::Input, "<<");
            }
            self.redirect(redirect);
        }
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, kind, target) => self.file(kind, target),
            IoRedirect::OutputAndError(word, _) => {
                let path = self.target(word);
                self.writes(&path);
            }
            IoRedirect::HereString(_, word) => {
                self.target(word);
            }
            IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                if document.requires_expansion && text.contains(['$', '`', '\\']) {
                    self.opaque(Why::Expansion, text.clone());
                    self.inside(text);
                }
            }
        }
    }

    /// The file of a redirection: a number could be one more redirection.
    fn target(&mut self, word: &RawWord) -> String {
        if word.value.bytes().all(|byte| byte.is_ascii_digit()) {
            self.opaque(Why::Quoting, word.value.clone());
        }
        self.word(word).text
    }

    fn file(&mut self, kind: &IoFileRedirectKind, target: &IoFileRedirectTarget) {
        let path = match target {
            IoFileRedirectTarget::Filename(word) => self.target(word),
            IoFileRedirectTarget::Duplicate(word) => {
                let text = self.word(word).text;
                // `2>&1`, `2>&1-`, `2>&-`; what else begins like them is read differently.
                let number = text.strip_suffix('-').unwrap_or(&text);
                if number.bytes().all(|byte| byte.is_ascii_digit()) {
                    return;
                }
                if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                    self.opaque(Why::Quoting, format!(">&{text}"));
                }
                text
            }
            IoFileRedirectTarget::Fd(_) => return,
            IoFileRedirectTarget::ProcessSubstitution(kind, inner) => {
                self.process_substitution(kind, inner);
                return;
            }
        };
        match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => self.reads(&path),
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Append
            | IoFileRedirectKind::ReadAndWrite
            | IoFileRedirectKind::Clobber
            | IoFileRedirectKind::DuplicateOutput => self.writes(&path),
        }
    }

    fn reads(&mut self, path: &str) {
        self.socket(path);
        for path in self.folders.places(path) {
            self.demand(Demand::Read { path });
        }
    }

    pub(super) fn writes(&mut self, path: &str) {
        self.socket(path);
        if SINKS.contains(&path) {
            return;
        }
        for path in self.folders.places(path) {
            self.demand(Demand::Write { path });
        }
    }

    fn socket(&mut self, path: &str) {
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            self.open(Why::Socket, path);
        }
    }

    /// A program with its arguments; wrappers are looked through.
    pub(super) fn run(&mut self, mut run: Run) {
        let Some(program) = run.argv.first() else { return };
        if program.is_empty() || !program.is_ascii() {
            self.open(Why::Name, program.clone());
        }
        if run.unknown.first() == Some(&0) {
            self.open(Why::Expansion, program.clone());
        }
        if run.through.is_empty() {
            run.through.clone_from(&self.through);
            run.assignments.splice(..0, self.assigned.iter().cloned());
        }
        tools::look(self, run);
    }
}

/// A here-document or a here-string.
fn is_text(redirect: &IoRedirect) -> bool {
    match redirect {
        IoRedirect::HereDocument(..) | IoRedirect::HereString(..) => true,
        IoRedirect::File(..) | IoRedirect::OutputAndError(..) => false,
    }
}
