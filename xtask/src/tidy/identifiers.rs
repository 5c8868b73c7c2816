//! The identifiers of code without comments and strings, and what they name.

use super::source_text::is_identifier;

/// The identifiers of stripped code.
pub(crate) fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !is_identifier(c)).filter(|word| !word.is_empty())
}

/// The identifiers of stripped Rust code, and whether each may be a field: after a `.` or before
/// a `:`.
pub(crate) fn rust_identifiers(code: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut end = 0;
    identifiers(code).map(move |word| {
        let start = end + code[end..].find(word).unwrap_or(0);
        end = start + word.len();
        (word, code[..start].ends_with('.') || code[end..].starts_with(':'))
    })
}

/// The names of the functions and methods that stripped TypeScript code defines.
pub(crate) fn typescript_functions(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| find_typescript_function(line.trim()))
}

fn find_typescript_function(mut line: &str) -> Option<&str> {
    const MODIFIERS: &[&str] =
        &["export ", "default ", "async ", "private ", "public ", "protected ", "static ", "#"];
    const STATEMENTS: &[&str] = &["if", "for", "while", "switch", "catch", "with"];
    while let Some(rest) = MODIFIERS.iter().find_map(|modifier| line.strip_prefix(modifier)) {
        line = rest;
    }
    let function = line.strip_prefix("function");
    if let Some(rest) = function.filter(|rest| rest.starts_with([' ', '*'])) {
        return identifiers(rest).next();
    }
    let constant = line.strip_prefix("const ").or_else(|| line.strip_prefix("let "));
    if let Some(rest) = constant {
        let (_, value) = rest.split_once(" = ")?;
        let value = value.strip_prefix("async ").unwrap_or(value);
        let parameters = value.split("=>").next().filter(|_| value.contains("=>"))?.trim_end();
        let is_arrow = parameters.starts_with(['(', '<']) || !parameters.contains(['.', '(', ' ']);
        return identifiers(rest).next().filter(|_| is_arrow);
    }
    let name = identifiers(line).next().filter(|name| line.starts_with(name))?;
    let is_method = line[name.len()..].starts_with(['(', '<']) && line.ends_with('{');
    (is_method && !STATEMENTS.contains(&name)).then_some(name)
}

/// `TerminalSays`, `terminal-says` and `terminal_says` as the last.
pub(crate) fn to_snake_case(name: &str) -> String {
    let mut result = String::new();
    for (index, c) in name.char_indices() {
        if c.is_uppercase() && index > 0 {
            result.push('_');
        }
        result.extend(if c == '-' { '_'.to_lowercase() } else { c.to_lowercase() });
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_fields_are_distinguished_from_other_names() {
        let code = "let a = b.c; D { e: f, g }";
        let fields: Vec<_> = rust_identifiers(code).filter(|(_, field)| *field).collect();
        assert_eq!(fields, [("c", true), ("e", true)]);
        assert_eq!(rust_identifiers(code).count(), 8);
    }

    #[test]
    fn functions_of_typescript_are_found_in_all_their_forms() {
        let code = "export async function a(x) {\nconst b = (x: X) => x\nlet c = 1\n\
                    const i = a.map((x) => x)\nlet j = async x => x\n\
                    const k: (x: X) => X = (x) => x\n  d<T>(x: T) {\n\
                    if (e) {\n  private async f() {\n  g(1)\nfunctional()\n  #h(): void {";
        let names: Vec<_> = typescript_functions(code).collect();
        assert_eq!(names, ["a", "b", "j", "k", "d", "f", "h"]);
    }

    #[test]
    fn names_of_all_styles_are_compared_in_one() {
        for name in ["TerminalSays", "terminal-says", "terminal_says"] {
            assert_eq!(to_snake_case(name), "terminal_says");
        }
    }
}
