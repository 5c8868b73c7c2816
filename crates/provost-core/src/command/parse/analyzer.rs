//! Walks the syntax tree of a line and collects its effects.

use brush_parser::ast::{AndOr, AndOrList, Command, CompoundCommand, CompoundList, Pipeline};
use brush_parser::{ParseError, ParserOptions};

use super::brace_expansion;
use super::line_validation::{self, UnreadableCommand};
use super::placeholders::PlaceholderValues;
use super::plain_line_parser::{self, ListOperator, PlainLists};
use crate::command::effects::possible_folders::PossibleFolders;
use crate::command::environment::variables::VariableValue;
use crate::command::{
    CommandAnalysis, CommandEffect, CommandInvocation, OpaquePart, OpaqueReason, Uncertainty,
};

/// The most nested lines: `sh -c "sh -c …"`, `$(…)`.
pub(crate) const MAX_LINE_NESTING: usize = 8;

/// The most uncertain parts that are kept: one makes the line opaque.
const MAX_OPAQUE_PARTS: usize = 32;

/// Analyzes one line, and the lines in it.
#[derive(Debug)]
pub(crate) struct CommandAnalyzer {
    found: CommandAnalysis,
    refused: Option<UnreadableCommand>,
    pub(crate) folders: PossibleFolders,
    /// Enclosing loops and functions, in which `cd` may run any number of times.
    repeated: usize,
    /// Enclosing lines.
    pub(crate) lines: usize,
    /// Wrappers around the current line.
    pub(crate) through: Vec<String>,
    /// Variables that are set for the whole line.
    pub(crate) assigned: Vec<(String, String)>,
    /// Placeholders in the current command, with what they stand for.
    pub(crate) filled: Vec<PlaceholderValues>,
}

impl CommandAnalyzer {
    pub(crate) fn new() -> Self {
        Self {
            found: CommandAnalysis::default(),
            refused: None,
            folders: PossibleFolders::at_line_start(),
            repeated: 0,
            lines: 0,
            through: Vec::new(),
            assigned: Vec::new(),
            filled: Vec::new(),
        }
    }

    /// Continues from an analysis.
    pub(crate) fn from_analysis(found: CommandAnalysis) -> Self {
        Self { found, ..Self::new() }
    }

    /// The analysis so far, even if the line is invalid.
    pub(crate) fn into_analysis(self) -> CommandAnalysis {
        self.found
    }

    /// The effects so far.
    pub(crate) fn effects(&self) -> &[CommandEffect] {
        &self.found.effects
    }

    /// The number of uncertain parts so far.
    pub(crate) fn opaque_count(&self) -> usize {
        self.found.opaque.len()
    }

    pub(crate) fn finish(self) -> Result<CommandAnalysis, UnreadableCommand> {
        match self.refused {
            Some(refused) => Err(refused),
            None => Ok(self.found),
        }
    }

    /// Adds an uncertain part that runs no program besides the listed ones.
    pub(crate) fn mark_arguments_uncertain(&mut self, why: OpaqueReason, text: impl Into<String>) {
        self.add_opaque_part(OpaquePart {
            why,
            text: text.into(),
            uncertainty: Uncertainty::Arguments,
        });
    }

    /// Adds an uncertain part that may run any program.
    pub(crate) fn mark_programs_uncertain(&mut self, why: OpaqueReason, text: impl Into<String>) {
        self.add_opaque_part(OpaquePart {
            why,
            text: text.into(),
            uncertainty: Uncertainty::Programs,
        });
    }

    fn add_opaque_part(&mut self, part: OpaquePart) {
        let bare = |text: &str| text.trim_matches('"') == part.text.trim_matches('"');
        let same = |known: &&mut OpaquePart| {
            (known.why == part.why || part.why == OpaqueReason::Expansion) && bare(&known.text)
        };
        let n_known = self.found.opaque.len();
        let known = match self.found.opaque.iter_mut().find(same) {
            None if n_known < MAX_OPAQUE_PARTS => None,
            // One part makes the line opaque, but the list must contain one with unknown programs
            // and one with hidden code, if there are any.
            None => {
                let last = self.found.opaque.last_mut();
                if let (Some(last), OpaqueReason::CodeInjection(_)) = (last, part.why) {
                    *last = part;
                    return;
                }
                self.found.opaque.last_mut()
            }
            known @ Some(_) => known,
        };
        match known {
            Some(known) if part.uncertainty == Uncertainty::Programs => {
                known.uncertainty = Uncertainty::Programs;
            }
            Some(_) => {}
            None => self.found.opaque.push(part),
        }
    }

    pub(crate) fn add_effect(&mut self, effect: CommandEffect) {
        self.found.effects.push(effect);
    }

    pub(crate) fn reject_line(&mut self, refused: UnreadableCommand) {
        self.refused.get_or_insert(refused);
    }

    pub(crate) fn is_in_loop(&self) -> bool {
        self.repeated > 0
    }

    /// Whether this is the outermost line, in which positions have a meaning.
    pub(crate) fn is_outermost_line(&self) -> bool {
        self.lines == 0
    }

    /// Analyzes a line.
    pub(crate) fn analyze_line(&mut self, line: &str) -> Result<(), UnreadableCommand> {
        line_validation::validate_line(line)?;
        match plain_line_parser::parse_plain_line(line) {
            Some(lists) => self.visit_plain_lists(&lists),
            None => self.analyze_with_full_grammar(line)?,
        }
        Ok(())
    }

    /// A line that the plain parser could read.
    pub(crate) fn visit_plain_lists(&mut self, lists: &PlainLists<'_>) {
        for list in lists {
            let mut seen = self.folders.clone();
            for (joint, pipeline) in list {
                if *joint == ListOperator::Or {
                    self.folders = seen.clone();
                }
                let before = self.folders.clone();
                for command in pipeline {
                    self.visit_plain_command(command);
                }
                if pipeline.len() > 1 {
                    self.keep_earlier_folders(&before);
                }
                self.merge_folders_into(&mut seen);
            }
            self.folders = seen;
        }
    }

    /// A line that needs the full grammar.
    pub(crate) fn analyze_with_full_grammar(
        &mut self,
        line: &str,
    ) -> Result<(), UnreadableCommand> {
        // As for `bash -c`: `!(a)` is a negated subshell.
        let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
        // The parser panics on some misplaced here-documents; such a line is unreadable.
        let read = std::panic::catch_unwind(|| {
            let tokens = brush_parser::uncached_tokenize_str(line, &options.tokenizer_options())
                .map_err(|_| UnreadableCommand::UnexpectedEnd)?;
            brush_parser::parse_tokens(&tokens, &options).map_err(|error| match error {
                // The only compound command that the parser does not support.
                ParseError::ParsingNear(_) if line_validation::contains_select(line) => {
                    UnreadableCommand::UnsupportedSelect
                }
                ParseError::ParsingNear(position) => {
                    UnreadableCommand::SyntaxError { at: position.index + 1 }
                }
                ParseError::ParsingAtEndOfInput | ParseError::Tokenizing { .. } => {
                    UnreadableCommand::UnexpectedEnd
                }
            })
        });
        let program = read.unwrap_or(Err(UnreadableCommand::UnexpectedEnd))?;
        for list in &program.complete_commands {
            self.visit_compound_list(list);
        }
        Ok(())
    }

    /// Analyzes a line inside this one.
    pub(crate) fn analyze_nested_line(&mut self, line: &str) {
        if self.lines >= MAX_LINE_NESTING {
            self.mark_programs_uncertain(OpaqueReason::TooDeep, line);
            return;
        }
        self.lines += 1;
        if self.analyze_line(line).is_err() {
            self.mark_programs_uncertain(OpaqueReason::Unreadable, line);
        }
        self.lines -= 1;
    }

    /// Analyzes a program with its arguments.
    pub(crate) fn analyze_argv(&mut self, argv: &[String]) {
        for argument in argv {
            let text = crate::action::text::check_visible(
                argument,
                crate::action::text::LineBreaks::Allowed,
            );
            if text.is_err() {
                self.mark_programs_uncertain(OpaqueReason::MisleadingName, argument);
            }
        }
        if argv.first().is_none_or(String::is_empty) {
            self.mark_programs_uncertain(OpaqueReason::MisleadingName, argv.join(" "));
            return;
        }
        self.analyze_invocation(CommandInvocation {
            argv: argv.to_vec(),
            ..CommandInvocation::default()
        });
    }

    pub(crate) fn visit_compound_list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            self.visit_and_or_list(&item.0);
        }
    }

    fn visit_and_or_list(&mut self, list: &AndOrList) {
        let mut seen = self.folders.clone();
        self.visit_pipeline(&list.first);
        self.merge_folders_into(&mut seen);
        for next in &list.additional {
            match next {
                // It runs only if the one before succeeded, so in the folder that that one left.
                AndOr::And(pipeline) => self.visit_pipeline(pipeline),
                AndOr::Or(pipeline) => {
                    self.folders = seen.clone();
                    self.visit_pipeline(pipeline);
                }
            }
            self.merge_folders_into(&mut seen);
        }
        self.folders = seen;
    }

    fn merge_folders_into(&mut self, seen: &mut PossibleFolders) {
        if *seen != self.folders && !seen.merge(&self.folders) {
            self.mark_arguments_uncertain(OpaqueReason::UnknownFolder, "cd");
        }
    }

    fn visit_pipeline(&mut self, pipeline: &Pipeline) {
        // `! cd x && y` runs `y` in the previous folder: a `cd` that failed has not moved.
        let before = self.folders.clone();
        if pipeline.seq.is_empty() {
            // The parser accepts `! &&`, which bash refuses.
            self.mark_programs_uncertain(OpaqueReason::Unreadable, "!");
        }
        for command in &pipeline.seq {
            self.visit_command(command);
        }
        if pipeline.bang || pipeline.seq.len() > 1 {
            self.keep_earlier_folders(&before);
        }
    }

    /// It may or may not have run: both sets of folders are possible from here on.
    fn keep_earlier_folders(&mut self, before: &PossibleFolders) {
        let mut both = before.clone();
        self.merge_folders_into(&mut both);
        self.folders = both;
    }

    fn visit_command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.visit_simple_command(simple),
            Command::Compound(compound, redirects) => {
                self.visit_compound_command(compound);
                self.visit_redirects(redirects.as_ref());
            }
            Command::Function(function) => {
                self.mark_arguments_uncertain(OpaqueReason::Function, function.fname.value.clone());
                self.repeated += 1;
                self.visit_compound_command(&function.body.0);
                self.repeated -= 1;
                self.visit_redirects(function.body.1.as_ref());
            }
            Command::ExtendedTest(test, redirects) => {
                let expr = test.expr.to_string();
                let uncertainty = if test_evaluates_names(&expr) {
                    Self::mark_programs_uncertain
                } else {
                    Self::mark_arguments_uncertain
                };
                uncertainty(self, OpaqueReason::ExtendedTest, format!("[[ {expr} ]]"));
                self.analyze_substitutions_in(&expr);
                self.visit_redirects(redirects.as_ref());
            }
        }
    }

    fn visit_compound_command(&mut self, compound: &CompoundCommand) {
        let before = self.folders.clone();
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => {
                self.mark_programs_uncertain(
                    OpaqueReason::Arithmetic,
                    arithmetic.expr.value.clone(),
                );
                // The parser confuses it with two subshells: `( (rm x) )`.
                self.analyze_nested_line(&arithmetic.expr.value);
            }
            CompoundCommand::ArithmeticForClause(arithmetic) => {
                self.mark_programs_uncertain(OpaqueReason::Arithmetic, "for ((…))");
                self.visit_loop_body(&arithmetic.body.list);
            }
            CompoundCommand::BraceGroup(group) => self.visit_compound_list(&group.list),
            CompoundCommand::Subshell(subshell) => self.visit_compound_list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                self.analyze_variable(&clause.variable_name, VariableValue::Unknown(""));
                for value in clause.values.iter().flatten() {
                    if brace_expansion::expand_braces(&value.value).is_none() {
                        self.analyze_word(value);
                    }
                }
                self.visit_loop_body(&clause.body.list);
            }
            CompoundCommand::CaseClause(case) => {
                self.analyze_word(&case.value);
                for item in &case.cases {
                    for pattern in &item.patterns {
                        self.analyze_case_pattern(pattern);
                    }
                    if let Some(list) = &item.cmd {
                        self.visit_compound_list(list);
                    }
                    self.keep_earlier_folders(&before);
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.visit_compound_list(&clause.condition);
                self.visit_compound_list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.visit_compound_list(condition);
                    }
                    self.visit_compound_list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.visit_loop_body(&clause.0);
                self.visit_loop_body(&clause.1.list);
            }
            CompoundCommand::Coprocess(process) => {
                self.mark_arguments_uncertain(OpaqueReason::Function, "coproc");
                self.visit_command(&process.body);
            }
        }
        self.keep_earlier_folders(&before);
    }

    fn visit_loop_body(&mut self, list: &CompoundList) {
        self.repeated += 1;
        self.visit_compound_list(list);
        self.repeated -= 1;
    }
}

/// Whether a test in `[[` evaluates a name, which can contain a command.
fn test_evaluates_names(expr: &str) -> bool {
    const EVALUATING: [&str; 8] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
    expr.split_whitespace().any(|word| EVALUATING.contains(&word)) || expr.contains('[')
}
