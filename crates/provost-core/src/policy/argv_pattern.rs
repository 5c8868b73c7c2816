//! The pattern of a rule for the words of a command.

use super::aliases;
use super::error::PolicyFault;
use super::option_width::{OptionWidth, option_width};
use super::rule_match::MatchCertainty;
use crate::command::{CommandInvocation, program_basename};
use crate::glob::{BadPattern, WordPattern};

/// A pattern for a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArgvPattern {
    /// For each position, the words that it may be.
    positions: Vec<Vec<WordPattern>>,
    /// Whether any number of words may follow.
    open: bool,
}

impl ArgvPattern {
    /// Reads the list of a rule: one or several words for each position, `**` at the end.
    pub(super) fn new(written: &[Vec<String>]) -> Result<Self, PolicyFault> {
        let is_rest = |alternatives: &Vec<String>| alternatives.iter().any(|word| word == "**");
        let (fixed, open) = match written {
            [fixed @ .., last] if *last == ["**"] => (fixed, true),
            fixed => (fixed, false),
        };
        if fixed.is_empty() {
            return Err(PolicyFault::Contradiction(
                "`argv` names no program; expected its first word to be one, as in \
                 `[\"git\", \"status\", \"**\"]`",
            ));
        }
        if fixed.iter().any(is_rest) {
            return Err(PolicyFault::Contradiction(
                "`**` in `argv` stands for any number of words and only at its end; `*` is one",
            ));
        }
        if fixed.iter().any(Vec::is_empty) {
            return Err(PolicyFault::Contradiction(
                "`argv` has an empty list, which no word is in; expected at least one word",
            ));
        }
        let word = |word: &String| {
            WordPattern::new(word).map_err(|why| PolicyFault::from_bad_pattern("argv", word, why))
        };
        let alternatives = |alternatives: &Vec<String>| {
            alternatives.iter().map(word).collect::<Result<Vec<_>, _>>()
        };
        Ok(Self { positions: fixed.iter().map(alternatives).collect::<Result<_, _>>()?, open })
    }

    /// The programs it matches, if it lists them by name.
    pub(super) fn exact_programs(&self) -> Option<Vec<&str>> {
        self.positions.first()?.iter().map(WordPattern::exact).collect()
    }

    /// Whether it lists this program; a pattern for any program lists none.
    pub(super) fn names_program(&self, program: &str) -> bool {
        self.positions.first().is_some_and(|alternatives| {
            alternatives.iter().any(|word| *word != WordPattern::ALL && word.matches(program))
        })
    }

    /// Whether a command matches exactly, word by word.
    pub(super) fn matches(&self, argv: &[String]) -> bool {
        if argv.len() < self.positions.len() || argv.len() > self.positions.len() && !self.open {
            return false;
        }
        self.positions
            .iter()
            .zip(argv)
            .all(|(alternatives, word)| any_pattern_matches(alternatives, word))
    }

    /// Whether a command may match: options before and between the words are skipped, and an
    /// unknown word may be anything.
    pub(super) fn may_match(&self, run: &CommandInvocation) -> Option<MatchCertainty> {
        self.may_match_from(run, 0)
    }

    /// The same for the words from this index on.
    pub(super) fn may_match_from(
        &self,
        run: &CommandInvocation,
        start: usize,
    ) -> Option<MatchCertainty> {
        let program = run.argv.get(start)?;
        let (alternatives, rest) = self.positions.split_first()?;
        // `git` also matches `/usr/bin/git`. A rule that allows does not: `./git` can be
        // anything.
        if !any_pattern_matches(alternatives, program)
            && !any_pattern_matches(alternatives, program_basename(program))
        {
            return None;
        }
        let walk = ArgvMatcher { program: program_basename(program), run, open: self.open };
        walk.match_from(rest, start + 1, &mut MAX_MATCH_STEPS.clone())
    }

    /// Whether it matches every command of this program, and so also what the program wraps.
    pub(super) fn matches_every_command_of(&self, wrapper: &str) -> bool {
        self.open
            && self.positions.len() == 1
            && self.positions.iter().flatten().any(|word| word.matches(wrapper))
    }
}

/// The most combinations of skipped options that are tried.
const MAX_MATCH_STEPS: u32 = 256;

/// Matches a pattern against the words of a command.
struct ArgvMatcher<'a> {
    program: &'a str,
    run: &'a CommandInvocation,
    open: bool,
}

impl ArgvMatcher<'_> {
    fn match_from(
        &self,
        positions: &[Vec<WordPattern>],
        at: usize,
        steps: &mut u32,
    ) -> Option<MatchCertainty> {
        // With too many combinations, the rule counts as a possible match.
        let Some(left) = steps.checked_sub(1) else { return Some(MatchCertainty::Possible) };
        *steps = left;
        let Some((alternatives, rest)) = positions.split_first() else { return self.match_end(at) };
        if self.run.unknown.contains(&at) {
            return Some(MatchCertainty::Possible);
        }
        let word = self.run.argv.get(at)?;
        let matched = self.match_word(alternatives, word);
        let matched =
            matched.and_then(|named| Some(named.max(self.match_from(rest, at + 1, steps)?)));
        if matched == Some(MatchCertainty::Certain) {
            return matched;
        }
        let past = match option_width(self.program, word) {
            OptionWidth::None => [None, None],
            OptionWidth::One => [Some(1), None],
            OptionWidth::Two => [Some(2), None],
            OptionWidth::OneOrTwo => [Some(1), Some(2)],
        };
        let ways =
            past.into_iter().flatten().filter_map(|n| self.match_from(positions, at + n, steps));
        ways.chain(matched).min()
    }

    /// Whether a word is one of these, or an alias of one.
    fn match_word(&self, alternatives: &[WordPattern], word: &str) -> Option<MatchCertainty> {
        if any_pattern_matches(alternatives, word) {
            return Some(MatchCertainty::Certain);
        }
        let exact = alternatives.iter().filter_map(WordPattern::exact);
        exact.filter_map(|exact| aliases::match_alias(self.program, word, exact)).min()
    }

    fn match_end(&self, at: usize) -> Option<MatchCertainty> {
        if self.open || at == self.run.argv.len() {
            return Some(MatchCertainty::Certain);
        }
        // An unknown word may expand to nothing.
        let known = (at..self.run.argv.len()).any(|at| !self.run.unknown.contains(&at));
        (!known).then_some(MatchCertainty::Possible)
    }
}

fn any_pattern_matches(alternatives: &[WordPattern], word: &str) -> bool {
    alternatives.iter().any(|pattern| pattern.matches(word))
}

impl PolicyFault {
    pub(super) fn from_bad_pattern(key: &'static str, pattern: &str, why: BadPattern) -> Self {
        Self::Pattern { key, pattern: pattern.to_owned(), why }
    }
}
