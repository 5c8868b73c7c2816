//! Variables in a `.env` file.
//!
//! Most are data for the project's own program, and agents write them often. But editors pass
//! them to what they start when they open the folder, shells run the file when they enter it
//! (autoenv, oh-my-zsh's `dotenv`), and some readers execute what is in `$(…)`.

use crate::action::run_command::is_refused_variable;
use crate::command::environment::code_injection::find_code_injection;

/// Whether a file of this name holds variables; a template of one does not.
pub fn is_env_file(name: &str) -> bool {
    let is_template = |end: &str| {
        let last = end.rsplit('.').next().unwrap_or(end);
        matches!(last, "example" | "sample" | "template" | "dist" | "defaults" | "schema")
    };
    name == ".env" || name.strip_prefix(".env.").is_some_and(|end| !is_template(end))
}

/// What in the content of such a file would run something, if anything does: the line.
pub fn find_code(content: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let assignment = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let Some((name, value)) = assignment.split_once(['=', ':']) else {
            return Some(line.to_owned());
        };
        let (name, mut value) = (name.trim_end(), value.trim().to_owned());
        // A quoted value may have several lines.
        if let Some(quote) = value.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))
        {
            let mut is_closed = value[1..].contains(quote);
            while !is_closed {
                let Some(next) = lines.next() else { return Some(line.to_owned()) };
                is_closed = next.contains(quote);
                value.push('\n');
                value.push_str(next);
            }
        }
        if !is_variable_name(name) || runs_code(name, &value) {
            return Some(line.to_owned());
        }
    }
    None
}

fn is_variable_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    !name.is_empty() && name.chars().all(is_part)
}

fn runs_code(name: &str, value: &str) -> bool {
    // Shells end an assignment where quotes do not hold it together, and run the rest.
    let is_literal = match value.strip_prefix('\'') {
        Some(rest) => rest.find('\'').is_some_and(|end| is_comment(&rest[end + 1..])),
        None => match value.strip_prefix('"') {
            Some(rest) => rest
                .find('"')
                .is_some_and(|end| is_comment(&rest[end + 1..]) && !has_substitution(&rest[..end])),
            None => !has_substitution(value) && !value.contains([';', '|', '&', '<', '>', '(']),
        },
    };
    let (name, plain) = (name.to_ascii_uppercase(), value.trim_matches(['"', '\'']));
    // Of these two only some values run something, and ours run nothing of the agent's.
    let is_refused = is_refused_variable(&name)
        && !matches!(&*name, "ENV" | "PATH")
        && !name.starts_with("PROVOST_");
    !is_literal || is_refused || find_code_injection(&name, Some(plain)).is_some()
}

fn has_substitution(value: &str) -> bool {
    value.contains("$(") || value.contains('`')
}

fn is_comment(rest: &str) -> bool {
    let rest = rest.trim();
    rest.is_empty() || rest.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_stays_and_code_is_found() {
        let harmless = "# comment\n\nA=1\nexport B=two words\nURL=postgres://u:p@h/db?x=1\n\
                        KEY=\"-----BEGIN KEY-----\nabc\n-----END KEY-----\"\nQ='$(not run)'\n\
                        R=\"a;b|c\" # note\nNODE_ENV=development\nENV=production\nPORT: 3000\nEMPTY=\n";
        assert_eq!(find_code(harmless.as_bytes()), None);
        for line in [
            "LD_PRELOAD=./evil.so",
            "export NODE_OPTIONS='--require ./evil.js'",
            "PYTHONPATH=.evil\nPYTHONSTARTUP=x.py",
            "bash_env=./x",
            "A=$(touch x)",
            "A=\"`touch x`\"",
            "A=1; touch x",
            "A='b' touch x",
            "A=\"b\" touch x",
            "touch x",
            "A=1\n. ./evil.sh",
            "A=<(touch x)",
            "A='open\nend",
            "GIT_SSH_COMMAND=./x",
        ] {
            assert!(find_code(line.as_bytes()).is_some(), "{line}");
        }
    }

    #[test]
    fn a_long_value_is_read_once() {
        let open = format!("A='{}", "x\n".repeat(400_000));
        assert!(find_code(open.as_bytes()).is_some());
        assert_eq!(find_code(format!("{open}'").as_bytes()), None);
    }

    #[test]
    fn templates_are_not_read_by_programs() {
        for (name, expected) in [
            (".env", true),
            (".env.local", true),
            (".env.production.local", true),
            (".env.example", false),
            (".env.local.sample", false),
            (".envrc", false),
            ("env", false),
        ] {
            assert_eq!(is_env_file(name), expected, "{name}");
        }
    }
}
