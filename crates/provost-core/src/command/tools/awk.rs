//! `awk`: programs that only read, compute and print are recognized.

use super::option_grammar::{OptionGrammar, OptionsEnd};
use super::{CommandInvocation, add_invocation, add_unbounded_invocation, add_unknown_option};
use crate::command::OpaqueReason;
use crate::command::parse::analyzer::CommandAnalyzer;

/// `awk PROGRAM FILES`, where the program runs nothing and writes only files that it names.
pub(super) fn analyze_awk(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const AWK: OptionGrammar =
        OptionGrammar { flags: "", valued: "-F -v --field-separator --assign", operands: 0 };
    let at = match AWK.find_options_end(&run.argv) {
        OptionsEnd::At(at) => at,
        OptionsEnd::UnknownOption(option) => return add_unknown_option(reader, run, option),
    };
    let known = run.unknown.iter().all(|index| *index > at);
    let written = run
        .argv
        .get(at)
        .filter(|_| known)
        .and_then(|text| AwkProgram::new(text).find_written_paths());
    let Some(written) = written else {
        return add_unbounded_invocation(reader, run, OpaqueReason::Code);
    };
    add_invocation(reader, run);
    for path in written {
        reader.add_written_path(&path);
    }
}

/// Names that can run a command, open an unnamed file, or read the environment.
const RISKY_NAMES: &[&str] =
    &["system", "getline", "close", "fflush", "ENVIRON", "ARGV", "ARGC", "PROCINFO", "SYMTAB"];

/// The preceding token, as far as it determines the meaning of `/` and `>`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PrecedingToken {
    /// A value: a slash divides it.
    Value,
    /// Anything else: a slash begins a regular expression.
    Other,
    /// `++` or `--`: ambiguous.
    Increment,
}

/// A scanner for a program.
struct AwkProgram<'a> {
    rest: &'a str,
    before: PrecedingToken,
    /// Open brackets.
    depth: usize,
    /// The bracket depth at which a `print` began.
    printing: Option<usize>,
    written_paths: Vec<String>,
}

impl<'a> AwkProgram<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            before: PrecedingToken::Other,
            depth: 0,
            printing: None,
            written_paths: Vec::new(),
        }
    }

    /// The files that it writes; `None` if it may do anything else.
    fn find_written_paths(mut self) -> Option<Vec<String>> {
        while let Some(c) = self.rest.chars().next() {
            self.scan_token(c)?;
        }
        Some(self.written_paths)
    }

    fn scan_token(&mut self, c: char) -> Option<()> {
        match c {
            ' ' | '\t' => self.skip_bytes(1),
            '#' => self.skip_bytes(self.rest.find('\n').unwrap_or(self.rest.len())),
            '"' => {
                self.scan_string()?;
                self.before = PrecedingToken::Value;
            }
            '/' => self.scan_slash()?,
            'a'..='z' | 'A'..='Z' | '_' => self.scan_word()?,
            '0'..='9' | '.' => {
                let number = |c: char| c.is_ascii_alphanumeric() || c == '.';
                self.skip_bytes(self.rest.find(|c| !number(c)).unwrap_or(self.rest.len()));
                self.before = PrecedingToken::Value;
            }
            '>' => self.scan_redirect()?,
            // `||` is an operator, `|` runs a command.
            '|' if self.rest.starts_with("||") => self.scan_operator(2),
            // An indirect call, an extension, or a continued line.
            '|' | '@' | '\\' | '`' | '\'' => return None,
            '+' | '-' if self.rest.starts_with([c, c].iter().collect::<String>().as_str()) => {
                self.skip_bytes(2);
                self.before = PrecedingToken::Increment;
            }
            '(' | '[' => {
                self.depth += 1;
                self.scan_operator(1);
            }
            ')' | ']' => {
                self.depth = self.depth.checked_sub(1)?;
                self.skip_bytes(1);
                self.before = PrecedingToken::Value;
            }
            '{' | '}' | ';' | '\n' => {
                self.printing = None;
                self.scan_operator(1);
            }
            c if c.is_ascii_graphic() => self.scan_operator(1),
            _ => return None,
        }
        Some(())
    }

    fn skip_bytes(&mut self, n_bytes: usize) {
        self.rest = self.rest.get(n_bytes..).unwrap_or_default();
    }

    fn scan_operator(&mut self, n_bytes: usize) {
        self.skip_bytes(n_bytes);
        self.before = PrecedingToken::Other;
    }

    fn scan_word(&mut self) -> Option<()> {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !letter(c)).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        if RISKY_NAMES.contains(&word) {
            return None;
        }
        if matches!(word, "print" | "printf") {
            self.printing = Some(self.depth);
        }
        self.before = match word {
            "print" | "printf" | "return" | "if" | "while" | "for" | "else" | "do" | "in"
            | "case" | "exit" | "delete" | "BEGIN" | "END" => PrecedingToken::Other,
            _ => PrecedingToken::Value,
        };
        self.skip_bytes(end);
        Some(())
    }

    /// A string without its quotes.
    fn scan_string(&mut self) -> Option<&'a str> {
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

    /// A division, or a regular expression up to the next slash.
    fn scan_slash(&mut self) -> Option<()> {
        match self.before {
            PrecedingToken::Value => {
                self.scan_operator(1);
                return Some(());
            }
            PrecedingToken::Increment => return None,
            PrecedingToken::Other => {}
        }
        let inner = &self.rest[1..];
        let mut escaped = false;
        let end = inner.find(|c: char| {
            let ends = c == '/' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        let pattern = &inner[..end];
        // Implementations differ in whether a slash within brackets ends it.
        let open = pattern.rfind('[').is_some_and(|at| !pattern[at..].contains(']'));
        if open || pattern.contains('\n') {
            return None;
        }
        self.rest = &inner[end + 1..];
        self.before = PrecedingToken::Value;
        Some(())
    }

    /// A comparison or, after `print`, the file that it writes to.
    fn scan_redirect(&mut self) -> Option<()> {
        if self.printing != Some(self.depth) {
            self.scan_operator(1);
            return Some(());
        }
        self.rest = self.rest.trim_start_matches('>').trim_start_matches([' ', '\t']);
        let path = self.scan_string()?;
        let after = self.rest.trim_start_matches([' ', '\t']);
        let ends = after.is_empty() || after.starts_with([';', '}', '\n']);
        // `/inet/tcp/…` is a network connection.
        if !ends || path.contains('\\') || path.starts_with("/inet") || path.is_empty() {
            return None;
        }
        self.before = PrecedingToken::Value;
        self.written_paths.push(path.to_owned());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::AwkProgram;

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
            assert_eq!(
                AwkProgram::new(program).find_written_paths(),
                Some(Vec::new()),
                "{program}"
            );
        }
        for (program, path) in [
            ("{ print $1 > \"out.txt\" }", "out.txt"),
            ("{ print $1, $2 >> \"a/b\" } END { print 1 }", "a/b"),
            ("{ if ($1 > 2) printf(\"%s\", $1) > \"x\"; y = 1 }", "x"),
        ] {
            assert_eq!(
                AwkProgram::new(program).find_written_paths(),
                Some(vec![path.to_owned()]),
                "{program}"
            );
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
            assert_eq!(AwkProgram::new(program).find_written_paths(), None, "{program}");
        }
    }
}
