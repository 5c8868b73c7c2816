//! A pattern for a path beneath the project.

use super::word::Word;
use super::{BadPattern, LONGEST};

/// The most patterns that one with braces may stand for.
pub(super) const ALTERNATIVES: usize = 64;

/// One name of a path pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// A name that matches.
    Name(Word),
    /// Any number of names.
    Deep,
}

/// A pattern for a path: every way its braces can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    ways: Vec<Way>,
}

/// What can be told of every path that a pattern matches, for an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint<'a> {
    /// It is this folder or lies beneath it.
    Folder(&'a str),
    /// Its last name is this.
    Name(&'a str),
    /// What follows the last dot in it is this.
    Extension(&'a str),
    /// Nothing.
    None,
}

/// One way to read a pattern. What every match begins and ends with rules most
/// paths out by two comparisons.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Way {
    begins: String,
    ends: String,
    parts: Vec<Part>,
}

impl Path {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, BadPattern> {
        if text.is_empty() {
            return Err(BadPattern::Empty);
        }
        if text.len() > LONGEST {
            return Err(BadPattern::TooLong);
        }
        let ways =
            braces(text)?.iter().map(|way| parts(way).map(Way::new)).collect::<Result<_, _>>()?;
        Ok(Self { ways })
    }

    /// What can be told of the paths that match, for each way to read the pattern.
    /// It holds for [`Self::matches_folder`] too.
    pub fn hints(&self) -> impl Iterator<Item = Hint<'_>> {
        self.ways.iter().map(Way::hint)
    }

    /// Whether the path matches; names with one slash between them.
    pub fn matches(&self, path: &str) -> bool {
        self.ways.iter().any(|way| {
            path.starts_with(&way.begins) && path.ends_with(&way.ends) && walk(&way.parts, path)
        })
    }

    /// Whether the path is a folder that a pattern like `folder/**` is all about.
    pub fn matches_folder(&self, path: &str) -> bool {
        self.ways.iter().any(|way| match way.parts.as_slice() {
            [stem @ .., Part::Name(any), Part::Deep] if *any == Word::ALL => {
                path.starts_with(&way.begins) && walk(stem, path)
            }
            [..] => false,
        })
    }

    /// Whether a name as a shell has it, with globs and values that are not known
    /// in it, may become a path that matches.
    pub fn overlaps(&self, shell: &str) -> bool {
        let names: Vec<&str> = shell.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        self.ways.iter().any(|way| meet(&way.parts, &names))
    }

    /// Whether the pattern surely names something beneath this folder.
    pub fn lies_beneath(&self, path: &str) -> bool {
        self.ways.iter().any(|way| {
            let mut parts = way.parts.iter();
            let along = path.split('/').all(|name| match parts.next() {
                Some(Part::Name(word)) => word.exact() == Some(name),
                Some(Part::Deep) | None => false,
            });
            path == "." || along && parts.next().is_some()
        })
    }
}

impl Way {
    fn new(parts: Vec<Part>) -> Self {
        let name = |part: &Part| match part {
            Part::Name(word) => word.exact().map(str::to_owned),
            Part::Deep => None,
        };
        let begins = parts.iter().map_while(name).collect::<Vec<_>>().join("/");
        let ends = match parts.last() {
            Some(Part::Name(word)) => word.ends(),
            Some(Part::Deep) | None => String::new(),
        };
        Self { begins, ends, parts }
    }

    fn hint(&self) -> Hint<'_> {
        let exact = match self.parts.last() {
            Some(Part::Name(word)) => word.exact(),
            Some(Part::Deep) | None => None,
        };
        match (self.begins.as_str(), exact, self.ends.rsplit_once('.')) {
            ("", Some(name), _) => Hint::Name(name),
            ("", None, Some((_, extension))) => Hint::Extension(extension),
            ("", None, None) => Hint::None,
            (folder, _, _) => Hint::Folder(folder),
        }
    }
}

/// Writes `a{b,c}` out as `ab` and `ac`.
fn braces(text: &str) -> Result<Vec<String>, BadPattern> {
    let mut ways = vec![String::new()];
    let mut inside: Option<Vec<String>> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let mut literal = c.to_string();
        match (c, &mut inside) {
            ('\\', _) => literal.push(rest.next().ok_or(BadPattern::Dangling)?),
            ('{', None) => {
                inside = Some(vec![String::new()]);
                continue;
            }
            ('}', Some(choices)) => {
                if ways.len() * choices.len() > ALTERNATIVES {
                    return Err(BadPattern::TooMany);
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

fn parts(way: &str) -> Result<Vec<Part>, BadPattern> {
    let mut parts = Vec::new();
    for name in way.split('/') {
        match name {
            "**" if parts.last() == Some(&Part::Deep) => {}
            "**" => parts.push(Part::Deep),
            "" | "." | ".." => return Err(BadPattern::NotBeneath),
            name if name.replace("\\*", "").contains("**") => return Err(BadPattern::DoubleStar),
            name => parts.push(Part::Name(Word::new(name)?)),
        }
    }
    // `src/**` is what lies beneath `src`, and not `src` itself.
    if let [.., Part::Name(_), Part::Deep] = parts.as_slice() {
        parts.insert(parts.len() - 1, Part::Name(Word::ALL));
    }
    Ok(parts)
}

/// The same walk as for words, name by name.
fn walk(parts: &[Part], path: &str) -> bool {
    let (mut at, mut rest) = (0, Some(path));
    let mut retry: Option<(usize, Option<&str>)> = None;
    loop {
        match (parts.get(at), rest) {
            (None, None) => return true,
            (Some(Part::Deep), _) => {
                at += 1;
                retry = Some((at, rest));
                continue;
            }
            (Some(Part::Name(wanted)), Some(left)) => {
                let (name, more) = first(left);
                if wanted.matches(name) {
                    at += 1;
                    rest = more;
                    continue;
                }
            }
            (None, Some(_)) | (Some(Part::Name(_)), None) => {}
        }
        let Some((after, Some(from))) = retry else { return false };
        let (_, more) = first(from);
        retry = Some((after, more));
        (at, rest) = (after, more);
    }
}

/// Whether a name of a shell stands for any number of names.
fn is_anything(name: &str) -> bool {
    name.contains(['$', '`']) || matches!(name, "**" | "..") || name.starts_with(['~', '<', '>'])
}

/// Whether one path can match both, name by name.
fn meet(parts: &[Part], names: &[&str]) -> bool {
    // `met[b]`: the parts so far and the first `b` names can be the same.
    let anything = |at: usize| is_anything(names[at]);
    let mut met = vec![false; names.len() + 1];
    met[0] = true;
    for at in 0..names.len() {
        met[at + 1] = met[at] && anything(at);
    }
    for part in parts {
        let mut next = vec![false; names.len() + 1];
        next[0] = met[0] && *part == Part::Deep;
        for at in 0..names.len() {
            next[at + 1] = match part {
                Part::Deep => met[at + 1] || next[at] || met[at],
                Part::Name(_) if anything(at) => met[at] || met[at + 1] || next[at],
                Part::Name(word) => met[at] && word.overlaps(names[at]),
            } || next[at] && anything(at);
        }
        met = next;
    }
    met[names.len()]
}

/// The first name, and what follows its slash.
fn first(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glob::escape;
    use proptest::prelude::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: bool) {
        assert_eq!(Path::new(pattern).unwrap().matches(path), expected, "{pattern} on {path}");
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
        let about = |pattern: &str, path: &str| Path::new(pattern).unwrap().matches_folder(path);
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
            ("/etc/passwd", BadPattern::NotBeneath),
            ("../x", BadPattern::NotBeneath),
            ("a//b", BadPattern::NotBeneath),
            ("./a", BadPattern::NotBeneath),
            ("a**", BadPattern::DoubleStar),
            ("[ab]", BadPattern::Bracket),
            ("{a,{b,c}}", BadPattern::Brace),
            ("{a", BadPattern::Brace),
            ("a}", BadPattern::Brace),
            ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", BadPattern::TooMany),
            ("a\\", BadPattern::Dangling),
        ] {
            assert_eq!(Path::new(pattern), Err(expected), "{pattern}");
        }
        assert_eq!(Path::new(&"a".repeat(5000)), Err(BadPattern::TooLong));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_or_the_walk_panic(pattern in ".*", path in ".*") {
            if let Ok(pattern) = Path::new(&pattern) {
                pattern.matches(&path);
                pattern.matches_folder(&path);
            }
        }

        #[test]
        fn an_escaped_path_matches_itself(path in "[a-z*?{}\\[\\]\\\\,.]{1,6}(/[a-z*?]{1,3}){0,3}") {
            prop_assume!(!path.split('/').any(|name| matches!(name, "." | "..")));
            prop_assert!(Path::new(&escape(&path)).unwrap().matches(&path));
        }
    }
}
