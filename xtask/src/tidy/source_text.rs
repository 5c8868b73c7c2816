//! Sources without their comments and strings, so that only code is searched.

/// Rust code: comments, strings and character literals become spaces.
pub(crate) fn strip_rust(text: &str) -> String {
    let mut scanner = Scanner::new(text);
    while let Some(c) = scanner.peek(0) {
        match c {
            '/' if scanner.peek(1) == Some('/') => scanner.blank_line(),
            '/' if scanner.peek(1) == Some('*') => scanner.blank_block_comment(Nesting::Nested),
            '"' => scanner.blank_quoted('"'),
            'r' if scanner.raw_string_hashes().is_some() => scanner.blank_raw_string(),
            '\'' if scanner.is_char_literal() => scanner.blank_quoted('\''),
            _ if is_identifier(c) => scanner.keep_identifier(),
            _ => scanner.keep(),
        }
    }
    scanner.out
}

/// TypeScript code: comments and strings become spaces. Expressions in template strings
/// stay. Regular expressions are not recognized; one that holds a quote would hide the
/// rest of its line, never more.
pub(crate) fn strip_typescript(text: &str) -> String {
    let mut scanner = Scanner::new(text);
    // One entry per open template expression: the number of open braces in it.
    let mut templates: Vec<usize> = Vec::new();
    while let Some(c) = scanner.peek(0) {
        match c {
            '/' if scanner.peek(1) == Some('/') => scanner.blank_line(),
            '/' if scanner.peek(1) == Some('*') => scanner.blank_block_comment(Nesting::Flat),
            '"' | '\'' => scanner.blank_quoted_on_line(c),
            '`' => {
                scanner.blank();
                if scanner.blank_template_text() {
                    templates.push(0);
                }
            }
            '}' if templates.last() == Some(&0) => {
                templates.pop();
                scanner.blank();
                if scanner.blank_template_text() {
                    templates.push(0);
                }
            }
            '{' | '}' => {
                if let Some(open) = templates.last_mut() {
                    *open = if c == '{' { *open + 1 } else { open.saturating_sub(1) };
                }
                scanner.keep();
            }
            _ if is_identifier(c) => scanner.keep_identifier(),
            _ => scanner.keep(),
        }
    }
    scanner.out
}

/// The scripts of a Svelte component; its markup is prose to a large part.
pub(crate) fn svelte_scripts(text: &str) -> String {
    let mut scripts = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("<script") {
        let Some(open) = rest[start..].find('>') else { break };
        let body = &rest[start + open + 1..];
        let end = body.find("</script>").unwrap_or(body.len());
        scripts.push_str(&body[..end]);
        scripts.push('\n');
        rest = &body[end..];
    }
    scripts
}

pub(super) fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Whether block comments nest: they do in Rust.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Nested,
    Flat,
}

/// Reads characters, and writes each as it is or as a space.
struct Scanner {
    chars: Vec<char>,
    position: usize,
    out: String,
}

impl Scanner {
    fn new(text: &str) -> Self {
        Self { chars: text.chars().collect(), position: 0, out: String::with_capacity(text.len()) }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.position + ahead).copied()
    }

    fn keep(&mut self) {
        self.out.extend(self.peek(0));
        self.position += 1;
    }

    /// Skips a character; line breaks are kept.
    fn blank(&mut self) {
        match self.peek(0) {
            Some('\n') => self.out.push('\n'),
            Some(_) => self.out.push(' '),
            None => {}
        }
        self.position += 1;
    }

    fn blank_many(&mut self, count: usize) {
        (0..count).for_each(|_| self.blank());
    }

    /// Keeps a whole word, so that the `r` of `for` does not start a raw string.
    fn keep_identifier(&mut self) {
        while self.peek(0).is_some_and(is_identifier) {
            // A prefix such as `b"…"` or `br#"…"#` belongs to the string.
            if self.peek(0) == Some('r') && self.raw_string_hashes().is_some() {
                return;
            }
            self.keep();
        }
    }

    fn blank_line(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.blank();
        }
    }

    fn blank_block_comment(&mut self, nesting: Nesting) {
        let mut depth = 0_usize;
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('*')) if depth == 0 || nesting == Nesting::Nested => {
                    depth += 1;
                    self.blank_many(2);
                }
                ('*', Some('/')) => {
                    depth -= 1;
                    self.blank_many(2);
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.blank(),
            }
        }
    }

    /// A string or character literal, which may span lines.
    fn blank_quoted(&mut self, quote: char) {
        self.blank();
        while let Some(c) = self.peek(0) {
            match c {
                '\\' => self.blank_many(2),
                _ if c == quote => return self.blank(),
                _ => self.blank(),
            }
        }
    }

    /// A string that cannot span lines.
    fn blank_quoted_on_line(&mut self, quote: char) {
        self.blank();
        while let Some(c) = self.peek(0) {
            match c {
                '\n' => return,
                '\\' => self.blank_many(2),
                _ if c == quote => return self.blank(),
                _ => self.blank(),
            }
        }
    }

    /// Text of a template string up to its end, or up to an expression: `true` then.
    fn blank_template_text(&mut self) -> bool {
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('\\', _) => self.blank_many(2),
                ('`', _) => {
                    self.blank();
                    return false;
                }
                ('$', Some('{')) => {
                    self.blank_many(2);
                    return true;
                }
                _ => self.blank(),
            }
        }
        false
    }

    /// The number of `#` of a raw string that starts here with `r`.
    fn raw_string_hashes(&self) -> Option<usize> {
        let hashes = (1..=255).take_while(|ahead| self.peek(*ahead) == Some('#')).count();
        (self.peek(0) == Some('r') && self.peek(1 + hashes) == Some('"')).then_some(hashes)
    }

    fn blank_raw_string(&mut self) {
        let hashes = self.raw_string_hashes().unwrap_or(0);
        self.blank_many(hashes + 2);
        while let Some(c) = self.peek(0) {
            let closes = c == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
            self.blank();
            if closes {
                return self.blank_many(hashes);
            }
        }
    }

    /// `'x'` and `'\n'` are literals, `'static` is a lifetime.
    fn is_char_literal(&self) -> bool {
        self.peek(1) == Some('\\') || self.peek(2) == Some('\'')
    }
}

#[cfg(test)]
mod tests {
    use super::super::identifiers::identifiers;
    use super::*;

    fn words(code: &str) -> Vec<&str> {
        identifiers(code).collect()
    }

    #[test]
    fn only_the_code_of_rust_is_left() {
        for (text, expected) in [
            ("a // Wall\nb", &["a", "b"][..]),
            ("a /* Wall /* Pen */ Desk */ b", &["a", "b"]),
            ("a(\"Wall \\\" Pen\", b)", &["a", "b"]),
            ("r\"Wall\" a r#\"Pen \" Desk\"# b", &["a", "b"]),
            ("for x in br#\"Wall\"# {}", &["for", "x", "in", "b"]),
            ("b\"Wall\" c\"Pen\" x", &["b", "c", "x"]),
            (
                "fn f<'a>(c: char) -> &'a str { '\"' ; '\\'' ; 'x' }",
                &["fn", "f", "a", "c", "char", "a", "str"],
            ),
            ("r#type.wall", &["r", "type", "wall"]),
            ("/// Wall\nstruct Sandbox;", &["struct", "Sandbox"]),
        ] {
            let code = strip_rust(text);
            assert_eq!(words(&code), expected, "{text}");
            assert_eq!(code.lines().count(), text.lines().count(), "{text}");
        }
    }

    #[test]
    fn only_the_code_of_typescript_is_left() {
        for (text, expected) in [
            ("a // Wall\nb", &["a", "b"][..]),
            ("a /* Wall /* Pen */ b", &["a", "b"]),
            ("f('Wall', \"Pen\", x)", &["f", "x"]),
            ("`Wall ${a({ b: `Pen ${c}` })} Desk` + d", &["a", "b", "c", "d"]),
            ("it's\nnext", &["it", "next"]),
        ] {
            assert_eq!(words(&strip_typescript(text)), expected, "{text}");
        }
    }

    #[test]
    fn of_a_component_only_the_scripts_count() {
        let text = "<script lang=\"ts\">let a</script>\n<p>Wall</p>\n<script module>let b</script>";
        assert_eq!(words(&svelte_scripts(text)), ["let", "a", "let", "b"]);
    }
}
