//! The words of a command, as a rule names them.

use super::error::PolicyFault;
use super::matching::Reading;
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

    /// Whether a command matches, word by word.
    pub(super) fn matches(&self, argv: &[String], reading: Reading) -> bool {
        if argv.len() < self.places.len() || argv.len() > self.places.len() && !self.open {
            return false;
        }
        let mut pairs = self.places.iter().zip(argv);
        let program = pairs.next().is_some_and(|(place, word)| program(place, word, reading));
        program && pairs.all(|(place, word)| place.iter().any(|pattern| pattern.matches(word)))
    }

    /// Whether it means every command of this program, so also what it is wrapped around.
    pub(super) fn is_all_of(&self, wrapper: &str) -> bool {
        self.open
            && self.places.len() == 1
            && self.places.iter().flatten().any(|word| word.matches(wrapper))
    }
}

/// `git` means `/usr/bin/git` too where it denies or asks. Where it allows it
/// does not: `./git` can be anything.
fn program(place: &[Word], word: &str, reading: Reading) -> bool {
    let named = |name: &str| place.iter().any(|pattern| pattern.matches(name));
    named(word)
        || match reading {
            Reading::Generous => named(base(word)),
            Reading::Narrow => false,
        }
}

/// The last name of a path.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

impl PolicyFault {
    pub(super) fn pattern(key: &'static str, pattern: &str, why: BadPattern) -> Self {
        Self::Pattern { key, pattern: pattern.to_owned(), why }
    }
}
