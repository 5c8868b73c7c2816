//! A pattern for one word: an argument, a role, a host.

use super::{BadPattern, LONGEST};

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// This character.
    One(char),
    /// Any one character.
    Any,
    /// Any run of characters.
    Run,
}

/// A pattern for one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// The word itself; most patterns are that.
    Exact(String),
    /// Any word.
    All,
    /// Anything else.
    Steps(Vec<Step>),
}

impl Word {
    /// Matches every word.
    pub const ALL: Self = Self(Kind::All);

    /// Reads a pattern; the empty one is the empty word.
    pub fn new(text: &str) -> Result<Self, BadPattern> {
        if text.len() > LONGEST {
            return Err(BadPattern::TooLong);
        }
        let steps = steps(text)?;
        let exact: Option<String> = steps
            .iter()
            .map(|step| match step {
                Step::One(c) => Some(*c),
                Step::Any | Step::Run => None,
            })
            .collect();
        Ok(Self(match exact {
            Some(word) => Kind::Exact(word),
            None if steps == [Step::Run] => Kind::All,
            None => Kind::Steps(steps),
        }))
    }

    /// The one word that it matches, if it is only one.
    pub fn exact(&self) -> Option<&str> {
        match &self.0 {
            Kind::Exact(word) => Some(word),
            Kind::All | Kind::Steps(_) => None,
        }
    }

    /// Whether it is about short options: one dash, then anything.
    pub fn is_short_option(&self) -> bool {
        match &self.0 {
            Kind::Steps(steps) => matches!(steps.as_slice(), [Step::One('-'), Step::Run, ..]),
            Kind::Exact(_) | Kind::All => false,
        }
    }

    /// What every word that matches ends with.
    pub(super) fn ends(&self) -> String {
        match &self.0 {
            Kind::Exact(word) => word.clone(),
            Kind::All => String::new(),
            Kind::Steps(steps) => {
                let fixed = steps.iter().rev().map_while(|step| match step {
                    Step::One(c) => Some(*c),
                    Step::Any | Step::Run => None,
                });
                fixed.collect::<Vec<_>>().into_iter().rev().collect()
            }
        }
    }

    /// Whether a glob of a shell may become a word that matches.
    pub(crate) fn overlaps(&self, glob: &str) -> bool {
        let mine: Vec<Step> = match &self.0 {
            Kind::Exact(word) => word.chars().map(Step::One).collect(),
            Kind::All => vec![Step::Run],
            Kind::Steps(steps) => steps.clone(),
        };
        // What begins with a dot, a shell's glob does not find.
        if mine.first() == Some(&Step::One('.')) && glob.starts_with(['*', '?', '[']) {
            return false;
        }
        let mut theirs = Vec::new();
        let mut rest = glob.chars();
        while let Some(c) = rest.next() {
            match c {
                '*' => theirs.push(Step::Run),
                '?' => theirs.push(Step::Any),
                '[' => {
                    rest.by_ref().find(|c| *c == ']');
                    theirs.push(Step::Any);
                }
                // `@(…)`, `{…}`: whatever it is.
                '(' | '{' => return true,
                c => theirs.push(Step::One(c)),
            }
        }
        meet(&mine, &theirs)
    }

    /// Whether the whole word matches.
    pub fn matches(&self, word: &str) -> bool {
        match &self.0 {
            Kind::Exact(exact) => exact == word,
            Kind::All => true,
            Kind::Steps(steps) => walk(steps, word),
        }
    }
}

/// Whether one word can match both.
fn meet(mine: &[Step], theirs: &[Step]) -> bool {
    let mut met = vec![false; theirs.len() + 1];
    met[0] = true;
    for at in 0..theirs.len() {
        met[at + 1] = met[at] && theirs[at] == Step::Run;
    }
    for step in mine {
        let mut next = vec![false; theirs.len() + 1];
        next[0] = met[0] && *step == Step::Run;
        for (at, other) in theirs.iter().enumerate() {
            next[at + 1] = match (step, other) {
                (Step::Run, _) | (_, Step::Run) => met[at + 1] || next[at] || met[at],
                (Step::Any, _) | (_, Step::Any) => met[at],
                (Step::One(a), Step::One(b)) => met[at] && a == b,
            };
        }
        met = next;
    }
    met[theirs.len()]
}

fn steps(text: &str) -> Result<Vec<Step>, BadPattern> {
    let mut steps = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => steps.push(Step::One(rest.next().ok_or(BadPattern::Dangling)?)),
            '*' if steps.last() == Some(&Step::Run) => {}
            '*' => steps.push(Step::Run),
            '?' => steps.push(Step::Any),
            c => steps.push(Step::One(c)),
        }
    }
    Ok(steps)
}

/// Goes along both; on a mismatch the last run takes one character more. Earlier
/// runs never need to be tried again, so the work is at most the product.
fn walk(steps: &[Step], word: &str) -> bool {
    let (mut at, mut rest) = (0, word);
    let mut retry: Option<(usize, &str)> = None;
    loop {
        let next = rest.chars().next();
        match (steps.get(at), next) {
            (None, None) => return true,
            (Some(Step::Run), _) => {
                at += 1;
                retry = Some((at, rest));
                continue;
            }
            (Some(Step::One(wanted)), Some(found)) if *wanted == found => {
                at += 1;
                rest = &rest[found.len_utf8()..];
                continue;
            }
            (Some(Step::Any), Some(found)) => {
                at += 1;
                rest = &rest[found.len_utf8()..];
                continue;
            }
            (None | Some(Step::One(_) | Step::Any), _) => {}
        }
        let Some((after, from)) = retry else { return false };
        let Some(taken) = from.chars().next() else { return false };
        let from = &from[taken.len_utf8()..];
        retry = Some((after, from));
        (at, rest) = (after, from);
    }
}

/// The pattern that matches this word and no other.
pub fn escape(word: &str) -> String {
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
        assert_eq!(Word::new(pattern).unwrap().matches(word), expected, "{pattern} on {word}");
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
        assert_eq!(Word::new("a\\"), Err(BadPattern::Dangling));
        check("", "", true);
        check("", "a", false);
    }

    /// Right by construction, and slow.
    fn slow(steps: &[Step], word: &[char]) -> bool {
        match (steps, word) {
            ([], []) => true,
            ([Step::Run, more @ ..], _) => (0..=word.len()).any(|n| slow(more, &word[n..])),
            ([Step::Any, more @ ..], [_, rest @ ..]) => slow(more, rest),
            ([Step::One(a), more @ ..], [b, rest @ ..]) => a == b && slow(more, rest),
            ([], [_, ..]) | ([Step::Any | Step::One(_), ..], []) => false,
        }
    }

    proptest! {
        #[test]
        fn the_quick_walk_says_what_the_slow_one_says(
            pattern in "[ab*?]{1,8}", word in "[ab]{0,10}",
        ) {
            let letters: Vec<char> = word.chars().collect();
            let expected = slow(&steps(&pattern).unwrap(), &letters);
            prop_assert_eq!(Word::new(&pattern).unwrap().matches(&word), expected);
        }

        #[test]
        fn an_escaped_word_matches_itself_and_nothing_else(word in ".{0,12}", other in ".{0,12}") {
            let pattern = Word::new(&escape(&word)).unwrap();
            prop_assert!(pattern.matches(&word));
            prop_assert_eq!(pattern.matches(&other), word == other);
        }
    }

    #[test]
    fn a_hostile_pattern_costs_no_more_than_the_product() {
        let pattern = Word::new(&"*a".repeat(2000)).unwrap();
        assert!(!pattern.matches(&"a".repeat(4000).replacen('a', "b", 3999)));
        assert!(!pattern.matches(&("a".repeat(1999) + "b")));
    }
}
