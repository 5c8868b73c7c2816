//! A pattern for a path in the project.

use super::word_pattern::WordPattern;
use super::{BadPattern, MAX_PATTERN_BYTES};

/// The most alternatives that braces may expand to.
pub(super) const MAX_ALTERNATIVES: usize = 64;

/// One name of a path pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternSegment {
    /// A name that matches.
    Name(WordPattern),
    /// Any number of names.
    AnyDepth,
}

/// A pattern for a path, with its braces expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    ways: Vec<PatternAlternative>,
}

/// What all paths that match have in common, for an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternHint<'a> {
    /// They are this folder or below it.
    Folder(&'a str),
    /// Their last name is this.
    Name(&'a str),
    /// Their extension is this.
    Extension(&'a str),
    /// Nothing.
    None,
}

/// One alternative. The common beginning and end of all matches exclude most paths with two
/// comparisons.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PatternAlternative {
    begins: String,
    ends: String,
    parts: Vec<PatternSegment>,
}

impl PathPattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, BadPattern> {
        if text.is_empty() {
            return Err(BadPattern::Empty);
        }
        if text.len() > MAX_PATTERN_BYTES {
            return Err(BadPattern::TooLong);
        }
        let ways = expand_alternatives(text)?
            .iter()
            .map(|way| parse_segments(way).map(PatternAlternative::new))
            .collect::<Result<_, _>>()?;
        Ok(Self { ways })
    }

    /// What the matching paths have in common, for each alternative. It also holds for
    /// [`Self::matches_folder`].
    pub fn hints(&self) -> impl Iterator<Item = PatternHint<'_>> {
        self.ways.iter().map(PatternAlternative::hint)
    }

    /// Whether the path matches; its names are separated by single slashes.
    pub fn matches(&self, path: &str) -> bool {
        self.ways.iter().any(|way| {
            path.starts_with(&way.begins)
                && path.ends_with(&way.ends)
                && matches_segments(&way.parts, path)
        })
    }

    /// Whether the path is the folder of a pattern like `folder/**`.
    pub fn matches_folder(&self, path: &str) -> bool {
        self.ways.iter().any(|way| match way.parts.as_slice() {
            [stem @ .., PatternSegment::Name(any), PatternSegment::AnyDepth]
                if *any == WordPattern::ALL =>
            {
                path.starts_with(&way.begins) && matches_segments(stem, path)
            }
            [..] => false,
        })
    }

    /// Whether a path as a shell has it, with globs and unknown values, may expand to one that
    /// matches.
    pub fn overlaps(&self, shell: &str) -> bool {
        let names: Vec<&str> = shell.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        self.ways.iter().any(|way| segments_overlap(&way.parts, &names))
    }

    /// Whether the pattern certainly names something below this folder.
    pub fn lies_beneath(&self, path: &str) -> bool {
        self.ways.iter().any(|way| {
            let mut parts = way.parts.iter();
            let along = path.split('/').all(|name| match parts.next() {
                Some(PatternSegment::Name(word)) => word.exact() == Some(name),
                Some(PatternSegment::AnyDepth) | None => false,
            });
            path == "." || along && parts.next().is_some()
        })
    }
}

impl PatternAlternative {
    fn new(parts: Vec<PatternSegment>) -> Self {
        let name = |part: &PatternSegment| match part {
            PatternSegment::Name(word) => word.exact().map(str::to_owned),
            PatternSegment::AnyDepth => None,
        };
        let begins = parts.iter().map_while(name).collect::<Vec<_>>().join("/");
        let ends = match parts.last() {
            Some(PatternSegment::Name(word)) => word.literal_suffix(),
            Some(PatternSegment::AnyDepth) | None => String::new(),
        };
        Self { begins, ends, parts }
    }

    fn hint(&self) -> PatternHint<'_> {
        let exact = match self.parts.last() {
            Some(PatternSegment::Name(word)) => word.exact(),
            Some(PatternSegment::AnyDepth) | None => None,
        };
        match (self.begins.as_str(), exact, self.ends.rsplit_once('.')) {
            ("", Some(name), _) => PatternHint::Name(name),
            ("", None, Some((_, extension))) => PatternHint::Extension(extension),
            ("", None, None) => PatternHint::None,
            (folder, _, _) => PatternHint::Folder(folder),
        }
    }
}

/// Expands `a{b,c}` to `ab` and `ac`.
fn expand_alternatives(text: &str) -> Result<Vec<String>, BadPattern> {
    let mut ways = vec![String::new()];
    let mut inside: Option<Vec<String>> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let mut literal = c.to_string();
        match (c, &mut inside) {
            ('\\', _) => literal.push(rest.next().ok_or(BadPattern::DanglingEscape)?),
            ('{', None) => {
                inside = Some(vec![String::new()]);
                continue;
            }
            ('}', Some(choices)) => {
                if ways.len() * choices.len() > MAX_ALTERNATIVES {
                    return Err(BadPattern::TooManyAlternatives);
                }
                let each =
                    |way: &String| choices.iter().map(|c| way.clone() + c).collect::<Vec<_>>();
                ways = ways.iter().flat_map(each).collect();
                inside = None;
                continue;
            }
            (',', Some(choices)) => {
                choices.push(String::new());
                continue;
            }
            ('{', Some(_)) | ('}', None) => return Err(BadPattern::Brace),
            ('[' | ']', _) => return Err(BadPattern::Bracket),
            (_, _) => {}
        }
        match inside.as_mut().and_then(|choices| choices.last_mut()) {
            Some(choice) => choice.push_str(&literal),
            None => ways.iter_mut().for_each(|way| way.push_str(&literal)),
        }
    }
    if inside.is_some() { Err(BadPattern::Brace) } else { Ok(ways) }
}

fn parse_segments(way: &str) -> Result<Vec<PatternSegment>, BadPattern> {
    let mut parts = Vec::new();
    for name in way.split('/') {
        match name {
            "**" if parts.last() == Some(&PatternSegment::AnyDepth) => {}
            "**" => parts.push(PatternSegment::AnyDepth),
            "" | "." | ".." => return Err(BadPattern::NotInProject),
            name if name.replace("\\*", "").contains("**") => return Err(BadPattern::DoubleStar),
            name => parts.push(PatternSegment::Name(WordPattern::new(name)?)),
        }
    }
    // `src/**` matches what is below `src`, not `src` itself.
    if let [.., PatternSegment::Name(_), PatternSegment::AnyDepth] = parts.as_slice() {
        parts.insert(parts.len() - 1, PatternSegment::Name(WordPattern::ALL));
    }
    Ok(parts)
}

/// The same algorithm as for words, name by name.
fn matches_segments(parts: &[PatternSegment], path: &str) -> bool {
    let (mut at, mut rest) = (0, Some(path));
    let mut retry: Option<(usize, Option<&str>)> = None;
    loop {
        match (parts.get(at), rest) {
            (None, None) => return true,
            (Some(PatternSegment::AnyDepth), _) => {
                at += 1;
                retry = Some((at, rest));
                continue;
            }
            (Some(PatternSegment::Name(wanted)), Some(left)) => {
                let (name, more) = split_first_name(left);
                if wanted.matches(name) {
                    at += 1;
                    rest = more;
                    continue;
                }
            }
            (None, Some(_)) | (Some(PatternSegment::Name(_)), None) => {}
        }
        let Some((after, Some(from))) = retry else { return false };
        let (_, more) = split_first_name(from);
        retry = Some((after, more));
        (at, rest) = (after, more);
    }
}

/// Whether a name of a shell path may stand for any number of names.
fn may_be_any_names(name: &str) -> bool {
    name.contains(['$', '`']) || matches!(name, "**" | "..") || name.starts_with(['~', '<', '>'])
}

/// Whether one path can match both, name by name.
fn segments_overlap(parts: &[PatternSegment], names: &[&str]) -> bool {
    // `met[b]`: the segments so far and the first `b` names can be the same.
    let anything = |at: usize| may_be_any_names(names[at]);
    let mut met = vec![false; names.len() + 1];
    met[0] = true;
    for at in 0..names.len() {
        met[at + 1] = met[at] && anything(at);
    }
    for part in parts {
        let mut next = vec![false; names.len() + 1];
        next[0] = met[0] && *part == PatternSegment::AnyDepth;
        for at in 0..names.len() {
            next[at + 1] = match part {
                PatternSegment::AnyDepth => met[at + 1] || next[at] || met[at],
                PatternSegment::Name(_) if anything(at) => met[at] || met[at + 1] || next[at],
                PatternSegment::Name(word) => met[at] && word.overlaps(names[at]),
            } || next[at] && anything(at);
        }
        met = next;
    }
    met[names.len()]
}

/// The first name, and the rest after its slash.
fn split_first_name(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glob::escape_pattern;
    use proptest::prelude::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: bool) {
        assert_eq!(
            PathPattern::new(pattern).unwrap().matches(path),
            expected,
            "{pattern} on {path}"
        );
    }

    #[test]
    fn a_star_stops_at_a_slash_and_two_do_not() {
        for (pattern, path, expected) in [
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/**", "src/a/b.rs", true),
            ("src/**", "src", false),
            ("src/**", "srcs/a", false),
            ("**/.env", ".env", true),
            ("**/.env", "a/b/.env", true),
            ("**/.env", "a/b.env", false),
            ("a/**/z", "a/z", true),
            ("a/**/z", "a/b/c/z", true),
            ("a/**/z", "a/b/c", false),
            ("**/a/**/b", "x/a/y/a/b", true),
            ("**", "anything/at/all", true),
            ("*", "a/b", false),
            ("**/*.{pem,key}", "certs/a.key", true),
            ("**/*.{pem,key}", "certs/a.keys", false),
            (r"app/\[id\]/*", "app/[id]/page", true),
            ("**/id_?sa", "x/id_rsa", true),
        ] {
            check(pattern, path, expected);
        }
    }

    #[test]
    fn the_folder_itself_is_what_a_pattern_of_its_content_is_about() {
        let about =
            |pattern: &str, path: &str| PathPattern::new(pattern).unwrap().matches_folder(path);
        assert!(about("secrets/**", "secrets"));
        assert!(about("**/secrets/**", "a/secrets"));
        assert!(!about("secrets/**", "secrets/a"));
        assert!(!about("secrets/a", "secrets"));
        assert!(!about("**", "secrets"));
    }

    #[test]
    fn what_could_be_misread_is_refused() {
        for (pattern, expected) in [
            ("", BadPattern::Empty),
            ("/etc/passwd", BadPattern::NotInProject),
            ("../x", BadPattern::NotInProject),
            ("a//b", BadPattern::NotInProject),
            ("./a", BadPattern::NotInProject),
            ("a**", BadPattern::DoubleStar),
            ("[ab]", BadPattern::Bracket),
            ("{a,{b,c}}", BadPattern::Brace),
            ("{a", BadPattern::Brace),
            ("a}", BadPattern::Brace),
            ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", BadPattern::TooManyAlternatives),
            ("a\\", BadPattern::DanglingEscape),
        ] {
            assert_eq!(PathPattern::new(pattern), Err(expected), "{pattern}");
        }
        assert_eq!(PathPattern::new(&"a".repeat(5000)), Err(BadPattern::TooLong));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_or_the_walk_panic(pattern in ".*", path in ".*") {
            if let Ok(pattern) = PathPattern::new(&pattern) {
                pattern.matches(&path);
                pattern.matches_folder(&path);
            }
        }

        #[test]
        fn an_escaped_path_matches_itself(path in "[a-z*?{}\\[\\]\\\\,.]{1,6}(/[a-z*?]{1,3}){0,3}") {
            prop_assume!(!path.split('/').any(|name| matches!(name, "." | "..")));
            prop_assert!(PathPattern::new(&escape_pattern(&path)).unwrap().matches(&path));
        }
    }
}
