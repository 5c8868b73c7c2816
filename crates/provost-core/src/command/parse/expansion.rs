//! Words with expansions, and the commands in them.

use brush_parser::ParserOptions;
use brush_parser::ast::{ProcessSubstitutionKind, SubshellCommand, Word as RawWord};
use brush_parser::word::{WordPiece, WordPieceWithSource};

use super::analyzer::{CommandAnalyzer, MAX_LINE_NESTING};
use super::shell_word::{self, ShellWord};
use crate::command::OpaqueReason;

impl CommandAnalyzer {
    /// Analyzes a word, and the commands in it.
    pub(crate) fn analyze_word(&mut self, raw: &RawWord) -> ShellWord {
        let word = shell_word::parse_shell_word(&raw.value);
        if let Some(why) = word.why {
            if evaluates_arithmetic(&raw.value) {
                self.mark_programs_uncertain(OpaqueReason::Arithmetic, raw.value.clone());
            } else if why == OpaqueReason::Quoting && has_numeric_escapes(&raw.value) {
                self.mark_programs_uncertain(why, raw.value.clone());
            } else {
                self.mark_arguments_uncertain(why, raw.value.clone());
            }
            self.analyze_substitutions_in(&raw.value);
        }
        word
    }

    /// A pattern of `case`, which does not expand to files.
    pub(crate) fn analyze_case_pattern(&mut self, raw: &RawWord) {
        match shell_word::parse_shell_word(&raw.value).why {
            None | Some(OpaqueReason::Glob | OpaqueReason::Braces)
                if !raw.value.contains(['$', '`']) => {}
            why => {
                self.mark_arguments_uncertain(
                    why.unwrap_or(OpaqueReason::Expansion),
                    raw.value.clone(),
                );
                self.analyze_substitutions_in(&raw.value);
            }
        }
    }

    pub(crate) fn analyze_process_substitution(
        &mut self,
        kind: &ProcessSubstitutionKind,
        inner: &SubshellCommand,
    ) -> String {
        let text = format!("{kind}{inner}");
        self.mark_arguments_uncertain(OpaqueReason::ProcessSubstitution, text.clone());
        let before = self.folders.clone();
        self.visit_compound_list(&inner.list);
        self.folders = before;
        text
    }

    /// Adds the commands that a text runs when it is expanded, for people to see.
    ///
    /// It may find some that are quoted and do not run; the line is opaque anyway.
    pub(crate) fn analyze_substitutions_in(&mut self, text: &str) {
        if !text.contains("$(") && !text.contains('`') {
            return;
        }
        let options = ParserOptions::default();
        match brush_parser::word::parse_heredoc(text, &options) {
            Ok(pieces) => pieces.iter().for_each(|piece| self.analyze_word_piece(piece, text)),
            Err(_) => self.mark_programs_uncertain(OpaqueReason::Unreadable, text),
        }
    }

    fn analyze_word_piece(&mut self, piece: &WordPieceWithSource, text: &str) {
        match &piece.piece {
            WordPiece::CommandSubstitution(line)
            | WordPiece::BackquotedCommandSubstitution(line) => self.analyze_nested_line(line),
            WordPiece::DoubleQuotedSequence(pieces)
            | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                for piece in pieces {
                    self.analyze_word_piece(piece, text);
                }
            }
            WordPiece::ParameterExpansion(_) | WordPiece::ArithmeticExpression(_) => {
                self.analyze_nested_expansion(
                    text.get(piece.start_index..piece.end_index).unwrap_or(text),
                );
            }
            WordPiece::Text(_)
            | WordPiece::SingleQuotedText(_)
            | WordPiece::AnsiCQuotedText(_)
            | WordPiece::TildeExpansion(_)
            | WordPiece::EscapeSequence(_) => {}
        }
    }

    /// `${x:-$(id)}`, `$(( $(id) ))`.
    fn analyze_nested_expansion(&mut self, expansion: &str) {
        let inner = expansion.get(2..).unwrap_or_default();
        let first = [inner.find("$("), inner.find('`')].into_iter().flatten().min();
        if let Some(rest) = first.and_then(|at| inner.get(at..)) {
            if self.lines >= MAX_LINE_NESTING {
                self.mark_programs_uncertain(OpaqueReason::TooDeep, expansion);
                return;
            }
            self.lines += 1;
            self.analyze_substitutions_in(rest);
            self.lines -= 1;
        }
    }
}

/// Whether characters are written as numbers, so that neither rules nor people can read them:
/// `$'\x2eenv'`.
fn has_numeric_escapes(raw: &str) -> bool {
    let number = |c: char| c.is_ascii_digit() || matches!(c, 'x' | 'u' | 'U' | 'c');
    let escapes = raw.match_indices('\\').filter_map(|(at, _)| raw[at + 1..].chars().next());
    raw.contains("$'") && escapes.into_iter().any(number)
}

/// Whether a word contains arithmetic with a name: the value of the name is evaluated, and its
/// index can contain a command.
fn evaluates_arithmetic(raw: &str) -> bool {
    let sum = |text: &str| {
        let end = text.find(')').unwrap_or(text.len());
        text[..end].contains(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '`' | '['))
    };
    let sums = || raw.match_indices("$((").map(|(at, found)| &raw[at + found.len()..]);
    // `${a[i]}`, `${a:i}`, `${!a}`, `${a@P}` are evaluated or expanded again.
    let odd = |text: &str| {
        let end = text.find('}').unwrap_or(text.len());
        let name = text[..end].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        text.starts_with('!')
            || name.starts_with('@')
            || name.starts_with('[') && !name.starts_with("[@]") && !name.starts_with("[*]")
            || name.strip_prefix(':').is_some_and(|rest| {
                !rest.starts_with(['-', '=', '?', '+'])
                    && rest[..rest.find('}').unwrap_or(rest.len())]
                        .contains(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | ' ' | '-')))
            })
    };
    let braces = || raw.match_indices("${").map(|(at, found)| &raw[at + found.len()..]);
    raw.contains("$[") || sums().any(sum) || braces().any(odd)
}
