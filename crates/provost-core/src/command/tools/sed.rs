//! `sed`: a small language, of which what only edits what passes is known.

use super::super::Why;
use super::super::reader::Reader;
use super::{Run, never, plain, unknown};

/// `sed SCRIPT FILES`, where the script only edits what passes.
pub(super) fn look(reader: &mut Reader, run: Run) {
    let told = match Told::read(&run) {
        Ok(told) => told,
        Err(option) => return unknown(reader, run, option),
    };
    // What is put into a script may end it and begin a command; and what is not known may be
    // `-e` and a script, wherever it stands.
    let known = |(place, _): &(usize, &str)| !run.unknown.contains(place);
    let edits = |script: &(usize, &str)| known(script) && Script(script.1).edits();
    let harmless = !told.scripts.is_empty()
        && (told.sandbox || told.scripts.iter().all(edits) && !run.may_gain_options());
    let argv = [&run.argv[..1], &reader.given(&run)].concat();
    let given = Run { argv, ..Run::default() };
    let written = Told::read(&given).map(|told| told.written()).unwrap_or_default();
    if harmless {
        plain(reader, run);
    } else {
        never(reader, run, Why::Code);
    }
    for path in written {
        reader.writes(&path);
    }
}

/// What `sed` is told by its words.
#[derive(Default)]
struct Told<'a> {
    /// With their places.
    scripts: Vec<(usize, &'a str)>,
    operands: Vec<(usize, &'a str)>,
    /// What is put behind the names of files that are edited where they lie.
    in_place: Option<&'a str>,
    /// Commands that run or write are refused by `sed` itself.
    sandbox: bool,
}

impl<'a> Told<'a> {
    /// Fails with the option that is not known.
    fn read(run: &'a Run) -> Result<Self, String> {
        const LONG: &str = "--quiet --silent --regexp-extended --separate --null-data --unbuffered \
                            --posix --debug --line-buffered";
        let mut told = Self::default();
        let mut at = 1;
        while let Some(word) = run.argv.get(at) {
            at += 1;
            if word == "--" {
                told.operands.extend(run.argv.iter().enumerate().skip(at).map(text));
                break;
            }
            match (word.strip_prefix("--"), word.strip_prefix('-')) {
                (Some("sandbox"), _) => told.sandbox = true,
                (Some("in-place"), _) => told.in_place = Some(""),
                (Some("expression"), _) => told.script(run, &mut at),
                (Some(long), _) => match long.split_once('=') {
                    Some(("expression", script)) => told.scripts.push((at - 1, script)),
                    Some(("in-place", ending)) => told.in_place = Some(ending),
                    _ if LONG.split_ascii_whitespace().any(|known| known == word) => {}
                    _ => return Err(word.clone()),
                },
                (None, Some(letters)) if !letters.is_empty() => {
                    told.letters(run, letters, &mut at).ok_or_else(|| word.clone())?;
                }
                (None, _) => told.operands.push((at - 1, word)),
            }
        }
        if told.scripts.is_empty() && !told.operands.is_empty() {
            told.scripts.push(told.operands.remove(0));
        }
        // A backup elsewhere is a file that nobody named.
        match told.in_place {
            Some(ending) if ending.contains(['/', '*']) => Err(format!("-i{ending}")),
            Some(_) | None => Ok(told),
        }
    }

    /// Options of one letter, which may stand together; the last may have a value.
    fn letters(&mut self, run: &'a Run, letters: &'a str, at: &mut usize) -> Option<()> {
        for (place, letter) in letters.char_indices() {
            let rest = &letters[place + letter.len_utf8()..];
            match letter {
                'n' | 'E' | 'r' | 's' | 'u' | 'z' => {}
                'i' => {
                    self.in_place = Some(rest);
                    return Some(());
                }
                'e' if rest.is_empty() => {
                    self.script(run, at);
                    return Some(());
                }
                'e' => {
                    self.scripts.push((*at - 1, rest));
                    return Some(());
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// The next word is a script.
    fn script(&mut self, run: &'a Run, at: &mut usize) {
        self.scripts.extend(run.argv.get(*at).map(|word| (*at, word.as_str())));
        *at += 1;
    }

    /// The files that are edited where they lie, and their backups.
    fn written(&self) -> Vec<String> {
        let Some(ending) = self.in_place else { return Vec::new() };
        let backup = |name: &str| (!ending.is_empty()).then(|| format!("{name}{ending}"));
        let files = self.operands.iter();
        files
            .flat_map(|(_, name)| std::iter::once((*name).to_owned()).chain(backup(name)))
            .collect()
    }
}

fn text((place, word): (usize, &String)) -> (usize, &str) {
    (place, word)
}

/// What is left to read of a script for `sed`.
struct Script<'a>(&'a str);

/// What was read of a script.
enum Ends {
    Command,
    /// The beginning of a group.
    Group,
}

impl Script<'_> {
    /// Whether all its commands are known to run and write nothing.
    fn edits(mut self) -> bool {
        loop {
            self.0 = self.0.trim_start_matches([' ', '\t', '\n', ';', '}']);
            if self.0.is_empty() {
                return true;
            }
            match self.command() {
                None => return false,
                // What follows is the next command.
                Some(Ends::Group) => continue,
                Some(Ends::Command) => {}
            }
            self.0 = self.0.trim_start_matches([' ', '\t', '}']);
            if !(self.0.is_empty() || self.0.starts_with([';', '\n'])) {
                return false;
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.0.chars().next()?;
        self.0 = &self.0[c.len_utf8()..];
        Some(c)
    }

    fn command(&mut self) -> Option<Ends> {
        if !self.address() {
            return None;
        }
        self.0 = self.0.trim_start_matches([' ', '!']);
        let known = match self.next()? {
            '{' => return Some(Ends::Group),
            's' => self.parts(2) && self.flags(),
            'y' => self.parts(2),
            'p' | 'd' | 'q' | 'Q' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'P' | 'D'
            | 'l' | 'z' => true,
            // A label, which some end at a semicolon and some do not: plain letters are either.
            ':' | 'b' | 't' | 'T' => {
                self.0 = self.0.trim_start_matches(' ');
                self.0 = self.0.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
                true
            }
            // A text up to the end of the line.
            'a' | 'i' | 'c' => {
                let end = self.0.find('\n').unwrap_or(self.0.len());
                let (text, rest) = self.0.split_at(end);
                self.0 = rest;
                !text.contains('\\') && !text.trim().is_empty()
            }
            _ => false,
        };
        known.then_some(Ends::Command)
    }

    /// `1`, `$`, `/…/`, and two of them with a comma.
    fn address(&mut self) -> bool {
        loop {
            match self.0.chars().next() {
                Some('0'..='9') => self.0 = self.0.trim_start_matches(|c: char| c.is_ascii_digit()),
                Some('$') => self.0 = &self.0[1..],
                Some('/') => {
                    if !self.parts(1) {
                        return false;
                    }
                }
                Some(_) | None => return true,
            }
            self.0 = self.0.trim_start_matches(' ');
            match self.0.strip_prefix(',') {
                Some(rest) => self.0 = rest.trim_start_matches([' ', '+', '~']),
                None => return true,
            }
        }
    }

    /// So many parts, each ended by the character that comes first.
    fn parts(&mut self, n_parts: usize) -> bool {
        let Some(delimiter) = self.next() else { return false };
        if delimiter.is_alphanumeric() || matches!(delimiter, '\\' | '\n' | ' ') {
            return false;
        }
        for _ in 0..n_parts {
            loop {
                match self.next() {
                    Some('\\') => {
                        self.next();
                    }
                    // Whether the delimiter ends a part within brackets is read differently.
                    Some('[') if delimiter != '[' && self.bracket(delimiter) => return false,
                    Some('\n') | None => return false,
                    Some(c) if c == delimiter => break,
                    Some(_) => {}
                }
            }
        }
        true
    }

    /// Whether a bracket expression holds the delimiter.
    fn bracket(&self, delimiter: char) -> bool {
        let inside = self.0.strip_prefix('^').unwrap_or(self.0);
        let inside = inside.strip_prefix(']').unwrap_or(inside);
        inside.split(']').next().unwrap_or(inside).contains(delimiter)
    }

    /// `g`, `p`, `i` and a number; `e` runs and `w` writes.
    fn flags(&mut self) -> bool {
        self.0 = self.0.trim_start_matches([
            'g', 'p', 'i', 'I', 'm', 'M', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
        ]);
        true
    }
}

#[cfg(test)]
mod tests;
