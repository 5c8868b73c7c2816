//! The words of a command, as a rule names them.

use super::error::PolicyFault;
use super::matching::Certainty;
use super::names;
use super::options::{Width, width};
use crate::command::{Run, base};
use crate::glob::{BadPattern, Word};

/// A pattern for a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Argv {
    /// For each place the words it may hold.
    places: Vec<Vec<Word>>,
    /// Whether any number of words may follow.
    open: bool,
}

impl Argv {
    /// Reads what a rule says: a word or several for each place, `**` at the end.
    pub(super) fn new(written: &[Vec<String>]) -> Result<Self, PolicyFault> {
        let is_rest = |place: &Vec<String>| place.iter().any(|word| word == "**");
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
        let word =
            |word: &String| Word::new(word).map_err(|why| PolicyFault::pattern("argv", word, why));
        let place = |place: &Vec<String>| place.iter().map(word).collect::<Result<Vec<_>, _>>();
        Ok(Self { places: fixed.iter().map(place).collect::<Result<_, _>>()?, open })
    }

    /// The programs it names, if it names them by their names.
    pub(super) fn programs(&self) -> Option<Vec<&str>> {
        self.places.first()?.iter().map(Word::exact).collect()
    }

    /// Whether its first place is this program; one for any program names none.
    pub(super) fn names(&self, program: &str) -> bool {
        self.places.first().is_some_and(|place| {
            place.iter().any(|word| *word != Word::ALL && word.matches(program))
        })
    }

    /// Whether a command matches, word by word and no other.
    pub(super) fn matches(&self, argv: &[String]) -> bool {
        if argv.len() < self.places.len() || argv.len() > self.places.len() && !self.open {
            return false;
        }
        self.places.iter().zip(argv).all(|(place, word)| any(place, word))
    }

    /// Whether a command may be meant: options before and between the words are
    /// looked past, and what is not known may be anything.
    pub(super) fn may_match(&self, run: &Run) -> Option<Certainty> {
        self.may_match_from(run, 0)
    }

    /// The same for the words from a place on.
    pub(super) fn may_match_from(&self, run: &Run, start: usize) -> Option<Certainty> {
        let program = run.argv.get(start)?;
        let (place, rest) = self.places.split_first()?;
        // `git` means `/usr/bin/git` too. Where it allows it does not: `./git` can be anything.
        if !any(place, program) && !any(place, base(program)) {
            return None;
        }
        let walk = Walk { program: base(program), run, open: self.open };
        walk.follow(rest, start + 1, &mut STEPS.clone())
    }

    /// Whether it means every command of this program, so also what it is wrapped around.
    pub(super) fn is_all_of(&self, wrapper: &str) -> bool {
        self.open
            && self.places.len() == 1
            && self.places.iter().flatten().any(|word| word.matches(wrapper))
    }
}

/// How many ways to look past options are tried.
const STEPS: u32 = 256;

/// Going along the words of a command.
struct Walk<'a> {
    program: &'a str,
    run: &'a Run,
    open: bool,
}

impl Walk<'_> {
    fn follow(&self, places: &[Vec<Word>], at: usize, steps: &mut u32) -> Option<Certainty> {
        // Whoever writes so many options that nobody follows them is asked about.
        let Some(left) = steps.checked_sub(1) else { return Some(Certainty::Possible) };
        *steps = left;
        let Some((place, rest)) = places.split_first() else { return self.end(at) };
        if self.run.unknown.contains(&at) {
            return Some(Certainty::Possible);
        }
        let word = self.run.argv.get(at)?;
        let here = self.called(place, word);
        let here = here.and_then(|named| Some(named.max(self.follow(rest, at + 1, steps)?)));
        if here == Some(Certainty::Sure) {
            return here;
        }
        let past = match width(self.program, word) {
            Width::None => [None, None],
            Width::One => [Some(1), None],
            Width::Two => [Some(2), None],
            Width::OneOrTwo => [Some(1), Some(2)],
        };
        let ways = past.into_iter().flatten().filter_map(|n| self.follow(places, at + n, steps));
        ways.chain(here).min()
    }

    /// Whether a word is what a place may hold, or another name of it.
    fn called(&self, place: &[Word], word: &str) -> Option<Certainty> {
        if any(place, word) {
            return Some(Certainty::Sure);
        }
        let exact = place.iter().filter_map(Word::exact);
        exact.filter_map(|exact| names::means(self.program, word, exact)).min()
    }

    fn end(&self, at: usize) -> Option<Certainty> {
        if self.open || at == self.run.argv.len() {
            return Some(Certainty::Sure);
        }
        // What follows may be nothing at all.
        let known = (at..self.run.argv.len()).any(|at| !self.run.unknown.contains(&at));
        (!known).then_some(Certainty::Possible)
    }
}

fn any(place: &[Word], word: &str) -> bool {
    place.iter().any(|pattern| pattern.matches(word))
}

impl PolicyFault {
    pub(super) fn pattern(key: &'static str, pattern: &str, why: BadPattern) -> Self {
        Self::Pattern { key, pattern: pattern.to_owned(), why }
    }
}
