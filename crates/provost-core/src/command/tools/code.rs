//! `awk` and `sed`: small languages, of which the harmless part is known.

use super::super::Why;
use super::super::reader::Reader;
use super::options::{End, Grammar};
use super::{Run, never, plain, unknown};

/// `awk PROGRAM FILES`, where the program only reads and prints.
pub(super) fn awk(reader: &mut Reader, run: Run) {
    const AWK: Grammar =
        Grammar { flags: "", valued: "-F -v --field-separator --assign", operands: 0 };
    let at = match AWK.options(&run.argv) {
        End::At(at) => at,
        End::Unknown(option) => return unknown(reader, run, option),
    };
    match run.argv.get(at) {
        // Commands are run by these, and files written; indirect calls could name one.
        Some(program)
            if ["system", "getline", "|", ">", "@", "close", "fflush", "ENVIRON", "/inet"]
                .iter()
                .any(|risky| program.contains(risky)) =>
        {
            never(reader, run, Why::Code);
        }
        Some(_) => plain(reader, run),
        None => never(reader, run, Why::Code),
    }
}

/// `sed SCRIPT FILES`, where the script only edits what passes.
pub(super) fn sed(reader: &mut Reader, run: Run) {
    const FLAGS: &str = "-n -E -r -s -u -z --quiet --silent --regexp-extended --separate --null-data \
                         --unbuffered --posix --debug --sandbox --in-place";
    let mut scripts: Vec<&String> = Vec::new();
    let (mut operands, mut in_place, mut at) = (Vec::new(), false, 1);
    while let Some(word) = run.argv.get(at) {
        at += 1;
        match word.as_str() {
            "-e" | "--expression" => {
                scripts.extend(run.argv.get(at));
                at += 1;
            }
            "--" => {
                operands.extend(run.argv[at..].iter());
                break;
            }
            "-i" | "--in-place" => in_place = true,
            word if FLAGS.split_whitespace().any(|flag| flag == word) => {}
            option if option.starts_with('-') && option != "-" => {
                let option = option.to_owned();
                return unknown(reader, run, option);
            }
            _ => operands.push(word),
        }
    }
    if scripts.is_empty() && !operands.is_empty() {
        scripts.push(operands.remove(0));
    }
    let harmless = !scripts.is_empty() && scripts.iter().all(|script| Script(script).edits());
    let written: Vec<String> =
        if in_place { operands.into_iter().cloned().collect() } else { Vec::new() };
    if harmless {
        plain(reader, run);
    } else {
        never(reader, run, Why::Code);
    }
    for path in written {
        reader.writes(&path);
    }
}

/// What is left to read of a script for `sed`.
struct Script<'a>(&'a str);

impl Script<'_> {
    /// Whether all its commands are known to run and write nothing.
    fn edits(mut self) -> bool {
        loop {
            self.0 = self.0.trim_start_matches([' ', '\t', '\n', ';']);
            if self.0.is_empty() {
                return true;
            }
            if !self.command() {
                return false;
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

    fn command(&mut self) -> bool {
        if !self.address() {
            return false;
        }
        self.0 = self.0.trim_start_matches([' ', '!']);
        match self.next() {
            Some('s') => self.parts(2) && self.flags(),
            Some('y') => self.parts(2),
            Some(
                'p' | 'd' | 'q' | 'Q' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'P' | 'D',
            ) => true,
            Some(_) | None => false,
        }
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
mod tests {
    use super::Script;

    #[test]
    fn only_scripts_that_edit_what_passes_are_taken() {
        for script in [
            "s/a/b/",
            "s|a|b|g",
            "1,5p",
            "$p",
            "/x/d",
            "/a/,/b/p",
            "1d;$d",
            "s/a/b/;s/c/d/2g",
            "y/abc/def/",
            "1!G;h;$!d",
            "10q",
        ] {
            assert!(Script(script).edits(), "{script}");
        }
        for script in [
            "s/a/b/e",
            "s/a/id/ge",
            "s/a/b/w out",
            "w out",
            "1e id",
            "e",
            "r /etc/passwd",
            "1,2w x",
            "/a/e",
            "s/a/b/;e",
            "s/a/b\\/e",
            "a\\\nx",
            "s/[/]/x/e",
            "s\na\nb\n",
        ] {
            assert!(!Script(script).edits(), "{script}");
        }
    }
}
