//! `sed`: scripts that only edit the stream are recognized.

use super::{CommandInvocation, add_invocation, add_unbounded_invocation, add_unknown_option};
use crate::command::OpaqueReason;
use crate::command::parse::analyzer::CommandAnalyzer;

/// `sed SCRIPT FILES`, where the script only edits the stream.
pub(super) fn analyze_sed(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    let arguments = match SedArguments::parse(&run) {
        Ok(arguments) => arguments,
        Err(option) => return add_unknown_option(reader, run, option),
    };
    // An unknown part of a script may end it and begin a command, and an unknown word may be `-e`
    // with a script.
    let known = |(index, _): &(usize, &str)| !run.unknown.contains(index);
    let edits = |script: &(usize, &str)| known(script) && SedScript(script.1).only_edits();
    let harmless = !arguments.scripts.is_empty()
        && (arguments.sandbox || arguments.scripts.iter().all(edits) && !run.may_gain_options());
    let argv = [&run.argv[..1], &reader.substituted_arguments(&run)].concat();
    let given = CommandInvocation { argv, ..CommandInvocation::default() };
    let written =
        SedArguments::parse(&given).map(|arguments| arguments.written_paths()).unwrap_or_default();
    if harmless {
        add_invocation(reader, run);
    } else {
        add_unbounded_invocation(reader, run, OpaqueReason::Code);
    }
    for path in written {
        reader.add_written_path(&path);
    }
}

/// The parsed arguments of `sed`.
#[derive(Default)]
struct SedArguments<'a> {
    /// With their indices.
    scripts: Vec<(usize, &'a str)>,
    operands: Vec<(usize, &'a str)>,
    /// The suffix for backups of files that are edited in place.
    in_place: Option<&'a str>,
    /// `sed` itself refuses commands that run or write.
    sandbox: bool,
}

impl<'a> SedArguments<'a> {
    /// Fails with the option that is unknown.
    fn parse(run: &'a CommandInvocation) -> Result<Self, String> {
        const LONG: &str = "--quiet --silent --regexp-extended --separate --null-data --unbuffered \
                            --posix --debug --line-buffered";
        let mut arguments = Self::default();
        let mut at = 1;
        while let Some(word) = run.argv.get(at) {
            at += 1;
            if word == "--" {
                arguments.operands.extend(run.argv.iter().enumerate().skip(at).map(indexed_str));
                break;
            }
            match (word.strip_prefix("--"), word.strip_prefix('-')) {
                (Some("sandbox"), _) => arguments.sandbox = true,
                (Some("in-place"), _) => arguments.in_place = Some(""),
                (Some("expression"), _) => arguments.take_script(run, &mut at),
                (Some(long), _) => match long.split_once('=') {
                    Some(("expression", script)) => arguments.scripts.push((at - 1, script)),
                    Some(("in-place", ending)) => arguments.in_place = Some(ending),
                    _ if LONG.split_ascii_whitespace().any(|known| known == word) => {}
                    _ => return Err(word.clone()),
                },
                (None, Some(letters)) if !letters.is_empty() => {
                    arguments
                        .parse_short_options(run, letters, &mut at)
                        .ok_or_else(|| word.clone())?;
                }
                (None, _) => arguments.operands.push((at - 1, word)),
            }
        }
        if arguments.scripts.is_empty() && !arguments.operands.is_empty() {
            arguments.scripts.push(arguments.operands.remove(0));
        }
        // A backup in another folder is a file that nobody named.
        match arguments.in_place {
            Some(ending) if ending.contains(['/', '*']) => Err(format!("-i{ending}")),
            Some(_) | None => Ok(arguments),
        }
    }

    /// Combined short options; the last may have a value.
    fn parse_short_options(
        &mut self,
        run: &'a CommandInvocation,
        letters: &'a str,
        at: &mut usize,
    ) -> Option<()> {
        for (index, letter) in letters.char_indices() {
            let rest = &letters[index + letter.len_utf8()..];
            match letter {
                'n' | 'E' | 'r' | 's' | 'u' | 'z' => {}
                'i' => {
                    self.in_place = Some(rest);
                    return Some(());
                }
                'e' if rest.is_empty() => {
                    self.take_script(run, at);
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
    fn take_script(&mut self, run: &'a CommandInvocation, at: &mut usize) {
        self.scripts.extend(run.argv.get(*at).map(|word| (*at, word.as_str())));
        *at += 1;
    }

    /// The files that are edited in place, and their backups.
    fn written_paths(&self) -> Vec<String> {
        let Some(ending) = self.in_place else { return Vec::new() };
        let backup = |name: &str| (!ending.is_empty()).then(|| format!("{name}{ending}"));
        let files = self.operands.iter();
        files
            .flat_map(|(_, name)| std::iter::once((*name).to_owned()).chain(backup(name)))
            .collect()
    }
}

fn indexed_str((index, word): (usize, &String)) -> (usize, &str) {
    (index, word)
}

/// The rest of a script.
struct SedScript<'a>(&'a str);

/// One parsed item of a script.
enum SedScriptItem {
    Command,
    /// The beginning of a group.
    GroupStart,
}

impl SedScript<'_> {
    /// Whether all commands are known to run and write nothing.
    fn only_edits(mut self) -> bool {
        loop {
            self.0 = self.0.trim_start_matches([' ', '\t', '\n', ';', '}']);
            if self.0.is_empty() {
                return true;
            }
            match self.parse_command() {
                None => return false,
                // The next command follows.
                Some(SedScriptItem::GroupStart) => continue,
                Some(SedScriptItem::Command) => {}
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

    fn parse_command(&mut self) -> Option<SedScriptItem> {
        if !self.skip_address() {
            return None;
        }
        self.0 = self.0.trim_start_matches([' ', '!']);
        let known = match self.next()? {
            '{' => return Some(SedScriptItem::GroupStart),
            's' => self.skip_delimited_parts(2) && self.skip_flags(),
            'y' => self.skip_delimited_parts(2),
            'p' | 'd' | 'q' | 'Q' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'P' | 'D'
            | 'l' | 'z' => true,
            // A label, which ends at a semicolon in some implementations only: plain letters are
            // the same in all.
            ':' | 'b' | 't' | 'T' => {
                self.0 = self.0.trim_start_matches(' ');
                self.0 = self.0.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
                true
            }
            // Text up to the end of the line.
            'a' | 'i' | 'c' => {
                let end = self.0.find('\n').unwrap_or(self.0.len());
                let (text, rest) = self.0.split_at(end);
                self.0 = rest;
                !text.contains('\\') && !text.trim().is_empty()
            }
            _ => false,
        };
        known.then_some(SedScriptItem::Command)
    }

    /// `1`, `$`, `/…/`, and two of them with a comma.
    fn skip_address(&mut self) -> bool {
        loop {
            match self.0.chars().next() {
                Some('0'..='9') => self.0 = self.0.trim_start_matches(|c: char| c.is_ascii_digit()),
                Some('$') => self.0 = &self.0[1..],
                Some('/') => {
                    if !self.skip_delimited_parts(1) {
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

    /// Skips parts that are delimited by the first character.
    fn skip_delimited_parts(&mut self, n_parts: usize) -> bool {
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
                    // Implementations differ in whether the delimiter ends a part within
                    // brackets.
                    Some('[') if delimiter != '[' && self.bracket_contains(delimiter) => {
                        return false;
                    }
                    Some('\n') | None => return false,
                    Some(c) if c == delimiter => break,
                    Some(_) => {}
                }
            }
        }
        true
    }

    /// Whether a bracket expression contains the delimiter.
    fn bracket_contains(&self, delimiter: char) -> bool {
        let inside = self.0.strip_prefix('^').unwrap_or(self.0);
        let inside = inside.strip_prefix(']').unwrap_or(inside);
        inside.split(']').next().unwrap_or(inside).contains(delimiter)
    }

    /// `g`, `p`, `i` and a number; `e` runs and `w` writes.
    fn skip_flags(&mut self) -> bool {
        self.0 = self.0.trim_start_matches([
            'g', 'p', 'i', 'I', 'm', 'M', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
        ]);
        true
    }
}

#[cfg(test)]
mod tests;
