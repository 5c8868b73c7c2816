//! A pattern for one word: an argument, a role, a host.

use super::{BadPattern, MAX_PATTERN_BYTES};

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternStep {
    /// This character.
    Char(char),
    /// Any one character.
    AnyChar,
    /// Any run of characters.
    AnyRun,
}

/// A pattern for one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordPattern(WordPatternKind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum WordPatternKind {
    /// Exactly this word; most patterns are of this kind.
    Exact(String),
    /// Any word.
    All,
    /// Anything else.
    Steps(Vec<PatternStep>),
}

impl WordPattern {
    /// Matches every word.
    pub const ALL: Self = Self(WordPatternKind::All);

    /// Reads a pattern; an empty one matches the empty word.
    pub fn new(text: &str) -> Result<Self, BadPattern> {
        if text.len() > MAX_PATTERN_BYTES {
            return Err(BadPattern::TooLong);
        }
        let steps = parse_steps(text)?;
        let exact: Option<String> = steps
            .iter()
            .map(|step| match step {
                PatternStep::Char(c) => Some(*c),
                PatternStep::AnyChar | PatternStep::AnyRun => None,
            })
            .collect();
        Ok(Self(match exact {
            Some(word) => WordPatternKind::Exact(word),
            None if steps == [PatternStep::AnyRun] => WordPatternKind::All,
            None => WordPatternKind::Steps(steps),
        }))
    }

    /// The only word that it matches, if there is one.
    pub fn exact(&self) -> Option<&str> {
        match &self.0 {
            WordPatternKind::Exact(word) => Some(word),
            WordPatternKind::All | WordPatternKind::Steps(_) => None,
        }
    }

    /// Whether it is about short options: one dash, then anything.
    pub fn is_short_option(&self) -> bool {
        match &self.0 {
            WordPatternKind::Steps(steps) => {
                matches!(steps.as_slice(), [PatternStep::Char('-'), PatternStep::AnyRun, ..])
            }
            WordPatternKind::Exact(_) | WordPatternKind::All => false,
        }
    }

    /// The common end of all words that match.
    pub(super) fn literal_suffix(&self) -> String {
        match &self.0 {
            WordPatternKind::Exact(word) => word.clone(),
            WordPatternKind::All => String::new(),
            WordPatternKind::Steps(steps) => {
                let fixed = steps.iter().rev().map_while(|step| match step {
                    PatternStep::Char(c) => Some(*c),
                    PatternStep::AnyChar | PatternStep::AnyRun => None,
                });
                fixed.collect::<Vec<_>>().into_iter().rev().collect()
            }
        }
    }

    /// Whether a shell glob may expand to a word that matches.
    pub(crate) fn overlaps(&self, glob: &str) -> bool {
        let mine: Vec<PatternStep> = match &self.0 {
            WordPatternKind::Exact(word) => word.chars().map(PatternStep::Char).collect(),
            WordPatternKind::All => vec![PatternStep::AnyRun],
            WordPatternKind::Steps(steps) => steps.clone(),
        };
        // A shell glob does not match names that begin with a dot.
        if mine.first() == Some(&PatternStep::Char('.')) && glob.starts_with(['*', '?', '[']) {
            return false;
        }
        let mut theirs = Vec::new();
        let mut rest = glob.chars();
        while let Some(c) = rest.next() {
            match c {
                '*' => theirs.push(PatternStep::AnyRun),
                '?' => theirs.push(PatternStep::AnyChar),
                '[' => {
                    rest.by_ref().find(|c| *c == ']');
                    theirs.push(PatternStep::AnyChar);
                }
                // `@(…)`, `{…}`: may be anything.
                '(' | '{' => return true,
                c => theirs.push(PatternStep::Char(c)),
            }
        }
        steps_overlap(&mine, &theirs)
    }

    /// Whether the whole word matches.
    pub fn matches(&self, word: &str) -> bool {
        match &self.0 {
            WordPatternKind::Exact(exact) => exact == word,
            WordPatternKind::All => true,
            WordPatternKind::Steps(steps) => matches_steps(steps, word),
        }
    }
}

/// Whether one word can match both.
fn steps_overlap(mine: &[PatternStep], theirs: &[PatternStep]) -> bool {
    let mut met = vec![false; theirs.len() + 1];
    met[0] = true;
    for at in 0..theirs.len() {
        met[at + 1] = met[at] && theirs[at] == PatternStep::AnyRun;
    }
    for step in mine {
        let mut next = vec![false; theirs.len() + 1];
        next[0] = met[0] && *step == PatternStep::AnyRun;
        for (at, other) in theirs.iter().enumerate() {
            next[at + 1] = match (step, other) {
                (PatternStep::AnyRun, _) | (_, PatternStep::AnyRun) => {
                    met[at + 1] || next[at] || met[at]
                }
                (PatternStep::AnyChar, _) | (_, PatternStep::AnyChar) => met[at],
                (PatternStep::Char(a), PatternStep::Char(b)) => met[at] && a == b,
            };
        }
        met = next;
    }
    met[theirs.len()]
}

fn parse_steps(text: &str) -> Result<Vec<PatternStep>, BadPattern> {
    let mut steps = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => steps.push(PatternStep::Char(rest.next().ok_or(BadPattern::DanglingEscape)?)),
            '*' if steps.last() == Some(&PatternStep::AnyRun) => {}
            '*' => steps.push(PatternStep::AnyRun),
            '?' => steps.push(PatternStep::AnyChar),
            c => steps.push(PatternStep::Char(c)),
        }
    }
    Ok(steps)
}

/// On a mismatch, the last run takes one more character. Earlier runs need not be tried again, so
/// the work is at most the product of both lengths.
fn matches_steps(steps: &[PatternStep], word: &str) -> bool {
    let (mut at, mut rest) = (0, word);
    let mut retry: Option<(usize, &str)> = None;
    loop {
        let next = rest.chars().next();
        match (steps.get(at), next) {
            (None, None) => return true,
            (Some(PatternStep::AnyRun), _) => {
                at += 1;
                retry = Some((at, rest));
                continue;
            }
            (Some(PatternStep::Char(wanted)), Some(found)) if *wanted == found => {
                at += 1;
                rest = &rest[found.len_utf8()..];
                continue;
            }
            (Some(PatternStep::AnyChar), Some(found)) => {
                at += 1;
                rest = &rest[found.len_utf8()..];
                continue;
            }
            (None | Some(PatternStep::Char(_) | PatternStep::AnyChar), _) => {}
        }
        let Some((after, from)) = retry else { return false };
        let Some(taken) = from.chars().next() else { return false };
        let from = &from[taken.len_utf8()..];
        retry = Some((after, from));
        (at, rest) = (after, from);
    }
}

/// The pattern that matches only this word.
pub fn escape_pattern(word: &str) -> String {
    let mut pattern = String::with_capacity(word.len());
    for c in word.chars() {
        if matches!(c, '*' | '?' | '\\' | '[' | ']' | '{' | '}') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(pattern: &str, word: &str, expected: bool) {
        assert_eq!(
            WordPattern::new(pattern).unwrap().matches(word),
            expected,
            "{pattern} on {word}"
        );
    }

    #[test]
    fn a_word_matches_whole() {
        for (pattern, word, expected) in [
            ("git", "git", true),
            ("git", "gitk", false),
            ("--output*", "--output=x", true),
            ("--output*", "--output", true),
            ("--output*", "-o", false),
            ("*", "", true),
            ("?", "", false),
            ("?", "é", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            (r"\*", "*", true),
            (r"\*", "x", false),
            (r"a\\b", r"a\b", true),
            ("-*r*", "-rf", true),
        ] {
            check(pattern, word, expected);
        }
        assert_eq!(WordPattern::new("a\\"), Err(BadPattern::DanglingEscape));
        check("", "", true);
        check("", "a", false);
    }

    /// The obviously correct algorithm, for comparison.
    fn slow(steps: &[PatternStep], word: &[char]) -> bool {
        match (steps, word) {
            ([], []) => true,
            ([PatternStep::AnyRun, more @ ..], _) => {
                (0..=word.len()).any(|n| slow(more, &word[n..]))
            }
            ([PatternStep::AnyChar, more @ ..], [_, rest @ ..]) => slow(more, rest),
            ([PatternStep::Char(a), more @ ..], [b, rest @ ..]) => a == b && slow(more, rest),
            ([], [_, ..]) | ([PatternStep::AnyChar | PatternStep::Char(_), ..], []) => false,
        }
    }

    proptest! {
        #[test]
        fn the_quick_walk_says_what_the_slow_one_says(
            pattern in "[ab*?]{1,8}", word in "[ab]{0,10}",
        ) {
            let letters: Vec<char> = word.chars().collect();
            let expected = slow(&parse_steps(&pattern).unwrap(), &letters);
            prop_assert_eq!(WordPattern::new(&pattern).unwrap().matches(&word), expected);
        }

        #[test]
        fn an_escaped_word_matches_itself_and_nothing_else(word in ".{0,12}", other in ".{0,12}") {
            let pattern = WordPattern::new(&escape_pattern(&word)).unwrap();
            prop_assert!(pattern.matches(&word));
            prop_assert_eq!(pattern.matches(&other), word == other);
        }
    }

    #[test]
    fn a_hostile_pattern_costs_no_more_than_the_product() {
        let pattern = WordPattern::new(&"*a".repeat(2000)).unwrap();
        assert!(!pattern.matches(&"a".repeat(4000).replacen('a', "b", 3999)));
        assert!(!pattern.matches(&("a".repeat(1999) + "b")));
    }
}
