//! `awk`: a small language, of which what only reads, computes and prints is known.

use super::super::Why;
use super::super::reader::Reader;
use super::options::{End, Grammar};
use super::{Run, never, plain, unknown};

/// `awk PROGRAM FILES`, where the program runs nothing and writes only what it names.
pub(super) fn look(reader: &mut Reader, run: Run) {
    const AWK: Grammar =
        Grammar { flags: "", valued: "-F -v --field-separator --assign", operands: 0 };
    let at = match AWK.options(&run.argv) {
        End::At(at) => at,
        End::Unknown(option) => return unknown(reader, run, option),
    };
    let known = run.unknown.iter().all(|place| *place > at);
    let written = run.argv.get(at).filter(|_| known).and_then(|text| Program::new(text).written());
    let Some(written) = written else { return never(reader, run, Why::Code) };
    plain(reader, run);
    for path in written {
        reader.writes(&path);
    }
}

/// What can run a command, open a file that is not named, or tell what is in the environment.
const RISKY: &[&str] =
    &["system", "getline", "close", "fflush", "ENVIRON", "ARGV", "ARGC", "PROCINFO", "SYMTAB"];

/// What came before, as far as it decides what a slash or an angle means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A value: a slash divides it.
    Value,
    /// Anything else: a slash begins a pattern.
    Other,
    /// `++` or `--`: it depends.
    Step,
}

/// A program, read from left to right.
struct Program<'a> {
    rest: &'a str,
    before: Before,
    /// Brackets that are open.
    depth: usize,
    /// Where a `print` began, in brackets.
    printing: Option<usize>,
    written: Vec<String>,
}

impl<'a> Program<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text, before: Before::Other, depth: 0, printing: None, written: Vec::new() }
    }

    /// The files that it writes; `None` if it may do something that is not known.
    fn written(mut self) -> Option<Vec<String>> {
        while let Some(c) = self.rest.chars().next() {
            self.token(c)?;
        }
        Some(self.written)
    }

    fn token(&mut self, c: char) -> Option<()> {
        match c {
            ' ' | '\t' => self.skip(1),
            '#' => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
            '"' => {
                self.string()?;
                self.before = Before::Value;
            }
            '/' => self.slash()?,
            'a'..='z' | 'A'..='Z' | '_' => self.word()?,
            '0'..='9' | '.' => {
                let number = |c: char| c.is_ascii_alphanumeric() || c == '.';
                self.skip(self.rest.find(|c| !number(c)).unwrap_or(self.rest.len()));
                self.before = Before::Value;
            }
            '>' => self.angle()?,
            // `||` compares, `|` runs a command.
            '|' if self.rest.starts_with("||") => self.operator(2),
            // An indirect call, or what loads code; a line that goes on is read by nobody else.
            '|' | '@' | '\\' | '`' | '\'' => return None,
            '+' | '-' if self.rest.starts_with([c, c].iter().collect::<String>().as_str()) => {
                self.skip(2);
                self.before = Before::Step;
            }
            '(' | '[' => {
                self.depth += 1;
                self.operator(1);
            }
            ')' | ']' => {
                self.depth = self.depth.checked_sub(1)?;
                self.skip(1);
                self.before = Before::Value;
            }
            '{' | '}' | ';' | '\n' => {
                self.printing = None;
                self.operator(1);
            }
            c if c.is_ascii_graphic() => self.operator(1),
            _ => return None,
        }
        Some(())
    }

    fn skip(&mut self, n_bytes: usize) {
        self.rest = self.rest.get(n_bytes..).unwrap_or_default();
    }

    fn operator(&mut self, n_bytes: usize) {
        self.skip(n_bytes);
        self.before = Before::Other;
    }

    fn word(&mut self) -> Option<()> {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !letter(c)).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        if RISKY.contains(&word) {
            return None;
        }
        if matches!(word, "print" | "printf") {
            self.printing = Some(self.depth);
        }
        self.before = match word {
            "print" | "printf" | "return" | "if" | "while" | "for" | "else" | "do" | "in"
            | "case" | "exit" | "delete" | "BEGIN" | "END" => Before::Other,
            _ => Before::Value,
        };
        self.skip(end);
        Some(())
    }

    /// A text in quotes, without them.
    fn string(&mut self) -> Option<&'a str> {
        let inner = self.rest.strip_prefix('"')?;
        let mut escaped = false;
        let end = inner.find(|c: char| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        self.rest = &inner[end + 1..];
        Some(&inner[..end]).filter(|text| !text.contains('\n'))
    }

    /// A division, or a pattern up to the next slash.
    fn slash(&mut self) -> Option<()> {
        match self.before {
            Before::Value => {
                self.operator(1);
                return Some(());
            }
            Before::Step => return None,
            Before::Other => {}
        }
        let inner = &self.rest[1..];
        let mut escaped = false;
        let end = inner.find(|c: char| {
            let ends = c == '/' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        let pattern = &inner[..end];
        // Whether a slash within brackets ends it is read differently.
        let open = pattern.rfind('[').is_some_and(|at| !pattern[at..].contains(']'));
        if open || pattern.contains('\n') {
            return None;
        }
        self.rest = &inner[end + 1..];
        self.before = Before::Value;
        Some(())
    }

    /// A comparison, or behind `print` the file that it is written to.
    fn angle(&mut self) -> Option<()> {
        if self.printing != Some(self.depth) {
            self.operator(1);
            return Some(());
        }
        self.rest = self.rest.trim_start_matches('>').trim_start_matches([' ', '\t']);
        let path = self.string()?;
        let after = self.rest.trim_start_matches([' ', '\t']);
        let ends = after.is_empty() || after.starts_with([';', '}', '\n']);
        // `/inet/tcp/…` is a connection.
        if !ends || path.contains('\\') || path.starts_with("/inet") || path.is_empty() {
            return None;
        }
        self.before = Before::Value;
        self.written.push(path.to_owned());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::Program;

    #[test]
    fn a_program_that_only_reads_and_prints_is_told_from_one_that_does_more() {
        for program in [
            "{print $1}",
            "$3 > 5 {print $1}",
            "$3 >= 5 && $2 < 1 {print $1, $2}",
            "{ if ($3 > 5) print $1 }",
            "{ x = $1 > 5; print x }",
            "{ print ($1 > 5) }",
            "/a|b/ {print}",
            "/>/ && !/|/",
            "$1 ~ /^x/ || $2 == \"|\" { n++ } END { print n / 2 }",
            "BEGIN { FS = \":\" } { s += $2 } END { printf \"%d > %d\\n\", s, 1 }",
            "NR > 1 && length($0) > 80",
            "# a comment > with | things\n{ print }",
            "{ a[$1] = a[$1] \"/\" $2 } END { for (k in a) print k, a[k] }",
        ] {
            assert_eq!(Program::new(program).written(), Some(Vec::new()), "{program}");
        }
        for (program, path) in [
            ("{ print $1 > \"out.txt\" }", "out.txt"),
            ("{ print $1, $2 >> \"a/b\" } END { print 1 }", "a/b"),
            ("{ if ($1 > 2) printf(\"%s\", $1) > \"x\"; y = 1 }", "x"),
        ] {
            assert_eq!(Program::new(program).written(), Some(vec![path.to_owned()]), "{program}");
        }
        for program in [
            "BEGIN { system(\"id\") }",
            "{ print | \"sh\" }",
            "{ print |& \"sh\" }",
            "{ \"id\" | getline }",
            "{ print > $1 }",
            "{ print > \"a\" $1 }",
            "{ print $1 > (\"a\") }",
            "{ print > \"/inet/tcp/0/x/1\" }",
            "{ x++ / 2 | \"sh\" / 1 }",
            "{ a / b | \"sh\" / c }",
            "@load \"x\"",
            "BEGIN { f = \"system\"; @f(\"id\") }",
            "BEGIN { ARGV[1] = \".env\"; ARGC = 2 } 1",
            "{ while ((getline line < \".env\") > 0) print line }",
            "/[/]/ { print | \"sh\" } /x/",
            "{ print \"a",
        ] {
            assert_eq!(Program::new(program).written(), None, "{program}");
        }
    }
}
