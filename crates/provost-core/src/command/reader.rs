//! From the tree of a parsed line to its demands.

use brush_parser::ast::{AndOr, AndOrList, Command, CompoundCommand, CompoundList, Pipeline};
use brush_parser::{ParseError, ParserOptions};

use super::braces;
use super::filled::Filled;
use super::folders::Folders;
use super::gate::{self, Unreadable};
use super::plain::{self, Joint, Lists};
use super::variables::Value;
use super::{Analysis, Demand, Extent, Opaque, Run, Why};

/// How many lines may stand in lines: `sh -c "sh -c …"`, `$(…)`.
pub(super) const LINES: usize = 8;

/// How many reasons are kept: one is enough to be opaque.
const REASONS: usize = 32;

/// Reads one line, and the lines in it.
#[derive(Debug)]
pub(super) struct Reader {
    found: Analysis,
    refused: Option<Unreadable>,
    pub(super) folders: Folders,
    /// Loops and functions around, in which `cd` may happen any number of times.
    repeated: usize,
    /// Lines around this one.
    pub(super) lines: usize,
    /// Wrappers around the line that is read.
    pub(super) through: Vec<String>,
    /// Variables set for all of it.
    pub(super) assigned: Vec<(String, String)>,
    /// What stands for something else in the command that is read.
    pub(super) filled: Vec<Filled>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            found: Analysis::default(),
            refused: None,
            folders: Folders::start(),
            repeated: 0,
            lines: 0,
            through: Vec::new(),
            assigned: Vec::new(),
            filled: Vec::new(),
        }
    }

    /// One that goes on from what was read.
    pub(super) fn over(found: Analysis) -> Self {
        Self { found, ..Self::new() }
    }

    /// What was read, refused or not.
    pub(super) fn into_found(self) -> Analysis {
        self.found
    }

    /// What was read so far.
    pub(super) fn demands(&self) -> &[Demand] {
        &self.found.demands
    }

    /// How many parts are not certain.
    pub(super) fn n_opaque(&self) -> usize {
        self.found.opaque.len()
    }

    pub(super) fn finish(self) -> Result<Analysis, Unreadable> {
        match self.refused {
            Some(refused) => Err(refused),
            None => Ok(self.found),
        }
    }

    /// What is not certain, but runs no program that is not a demand.
    pub(super) fn opaque(&mut self, why: Why, text: impl Into<String>) {
        self.uncertain(Opaque { why, text: text.into(), extent: Extent::Words });
    }

    /// What may run any program.
    pub(super) fn open(&mut self, why: Why, text: impl Into<String>) {
        self.uncertain(Opaque { why, text: text.into(), extent: Extent::Programs });
    }

    fn uncertain(&mut self, part: Opaque) {
        let bare = |text: &str| text.trim_matches('"') == part.text.trim_matches('"');
        let same = |known: &&mut Opaque| {
            (known.why == part.why || part.why == Why::Expansion) && bare(&known.text)
        };
        let n_known = self.found.opaque.len();
        let known = match self.found.opaque.iter_mut().find(same) {
            None if n_known < REASONS => None,
            // One reason is enough to be opaque, but that it is open must be among them, and
            // so must code that the line does not show.
            None => {
                let last = self.found.opaque.last_mut();
                if let (Some(last), Why::Loads(_)) = (last, part.why) {
                    *last = part;
                    return;
                }
                self.found.opaque.last_mut()
            }
            known @ Some(_) => known,
        };
        match known {
            Some(known) if part.extent == Extent::Programs => known.extent = Extent::Programs,
            Some(_) => {}
            None => self.found.opaque.push(part),
        }
    }

    pub(super) fn demand(&mut self, demand: Demand) {
        self.found.demands.push(demand);
    }

    pub(super) fn refuse(&mut self, refused: Unreadable) {
        self.refused.get_or_insert(refused);
    }

    pub(super) fn in_loop(&self) -> bool {
        self.repeated > 0
    }

    /// Whether this is the line itself, so that places in it mean something.
    pub(super) fn outermost(&self) -> bool {
        self.lines == 0
    }

    /// Reads a line.
    pub(super) fn line(&mut self, line: &str) -> Result<(), Unreadable> {
        gate::check(line)?;
        match plain::read(line) {
            Some(lists) => self.lists(&lists),
            None => self.parsed(line)?,
        }
        Ok(())
    }

    /// A line that was read the quick way.
    pub(super) fn lists(&mut self, lists: &Lists<'_>) {
        for list in lists {
            let mut seen = self.folders.clone();
            for (joint, pipeline) in list {
                if *joint == Joint::Or {
                    self.folders = seen.clone();
                }
                let before = self.folders.clone();
                for command in pipeline {
                    self.plain(command);
                }
                if pipeline.len() > 1 {
                    self.back_or_here(&before);
                }
                self.also_in(&mut seen);
            }
            self.folders = seen;
        }
    }

    /// A line that takes the whole grammar.
    pub(super) fn parsed(&mut self, line: &str) -> Result<(), Unreadable> {
        // As `bash -c` has it: `!(a)` is a negated subshell.
        let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
        // The parser has been seen to give up with a panic, on here-documents where none
        // can be; what it cannot read is unreadable.
        let read = std::panic::catch_unwind(|| {
            let tokens = brush_parser::uncached_tokenize_str(line, &options.tokenizer_options())
                .map_err(|_| Unreadable::Unfinished)?;
            brush_parser::parse_tokens(&tokens, &options).map_err(|error| match error {
                // The one compound command that the parser does not know.
                ParseError::ParsingNear(_) if gate::selects(line) => Unreadable::Select,
                ParseError::ParsingNear(position) => Unreadable::NotBash { at: position.index + 1 },
                ParseError::ParsingAtEndOfInput | ParseError::Tokenizing { .. } => {
                    Unreadable::Unfinished
                }
            })
        });
        let program = read.unwrap_or(Err(Unreadable::Unfinished))?;
        for list in &program.complete_commands {
            self.list(list);
        }
        Ok(())
    }

    /// Reads a line that stands in this one.
    pub(super) fn nested(&mut self, line: &str) {
        if self.lines >= LINES {
            self.open(Why::TooDeep, line);
            return;
        }
        self.lines += 1;
        if self.line(line).is_err() {
            self.open(Why::Unreadable, line);
        }
        self.lines -= 1;
    }

    /// Reads a program and its arguments.
    pub(super) fn argv(&mut self, argv: &[String]) {
        for argument in argv {
            let text = crate::action::text::check(argument, crate::action::text::Breaks::Yes);
            if text.is_err() {
                self.open(Why::Name, argument);
            }
        }
        if argv.first().is_none_or(String::is_empty) {
            self.open(Why::Name, argv.join(" "));
            return;
        }
        self.run(Run { argv: argv.to_vec(), ..Run::default() });
    }

    pub(super) fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            self.and_or(&item.0);
        }
    }

    fn and_or(&mut self, list: &AndOrList) {
        let mut seen = self.folders.clone();
        self.pipeline(&list.first);
        self.also_in(&mut seen);
        for next in &list.additional {
            match next {
                // Only what came before it having worked, it runs where that left off.
                AndOr::And(pipeline) => self.pipeline(pipeline),
                AndOr::Or(pipeline) => {
                    self.folders = seen.clone();
                    self.pipeline(pipeline);
                }
            }
            self.also_in(&mut seen);
        }
        self.folders = seen;
    }

    fn also_in(&mut self, seen: &mut Folders) {
        if *seen != self.folders && !seen.add(&self.folders) {
            self.opaque(Why::Folder, "cd");
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        // `! cd x && y` runs `y` where it was: what failed has not moved.
        let before = self.folders.clone();
        if pipeline.seq.is_empty() {
            // The parser takes `! &&`, which bash refuses.
            self.open(Why::Unreadable, "!");
        }
        for command in &pipeline.seq {
            self.command(command);
        }
        if pipeline.bang || pipeline.seq.len() > 1 {
            self.back_or_here(&before);
        }
    }

    /// What may or may not have happened: both are possible from here on.
    fn back_or_here(&mut self, before: &Folders) {
        let mut both = before.clone();
        self.also_in(&mut both);
        self.folders = both;
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.compound(compound);
                self.redirects(redirects.as_ref());
            }
            Command::Function(function) => {
                self.opaque(Why::Function, function.fname.value.clone());
                self.repeated += 1;
                self.compound(&function.body.0);
                self.repeated -= 1;
                self.redirects(function.body.1.as_ref());
            }
            Command::ExtendedTest(test, redirects) => {
                let expr = test.expr.to_string();
                let extent = if compares_numbers(&expr) { Self::open } else { Self::opaque };
                extent(self, Why::Test, format!("[[ {expr} ]]"));
                self.inside(&expr);
                self.redirects(redirects.as_ref());
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        let before = self.folders.clone();
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => {
                self.open(Why::Arithmetic, arithmetic.expr.value.clone());
                // The parser takes two subshells for it: `( (rm x) )`.
                self.nested(&arithmetic.expr.value);
            }
            CompoundCommand::ArithmeticForClause(arithmetic) => {
                self.open(Why::Arithmetic, "for ((…))");
                self.repeatedly(&arithmetic.body.list);
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                self.variable(&clause.variable_name, Value::Unknown(""));
                for value in clause.values.iter().flatten() {
                    if braces::expand(&value.value).is_none() {
                        self.word(value);
                    }
                }
                self.repeatedly(&clause.body.list);
            }
            CompoundCommand::CaseClause(case) => {
                self.word(&case.value);
                for item in &case.cases {
                    for pattern in &item.patterns {
                        self.pattern(pattern);
                    }
                    if let Some(list) = &item.cmd {
                        self.list(list);
                    }
                    self.back_or_here(&before);
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition);
                    }
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.repeatedly(&clause.0);
                self.repeatedly(&clause.1.list);
            }
            CompoundCommand::Coprocess(process) => {
                self.opaque(Why::Function, "coproc");
                self.command(&process.body);
            }
        }
        self.back_or_here(&before);
    }

    fn repeatedly(&mut self, list: &CompoundList) {
        self.repeated += 1;
        self.list(list);
        self.repeated -= 1;
    }
}

/// Whether a test of `[[` evaluates a name, in which a command can hide.
fn compares_numbers(expr: &str) -> bool {
    const EVALUATING: [&str; 8] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
    expr.split_whitespace().any(|word| EVALUATING.contains(&word)) || expr.contains('[')
}
