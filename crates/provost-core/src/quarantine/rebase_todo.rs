//! The commands of a rebase that is under way: `git rebase --continue` runs its `exec` lines.

use super::git_settings::parse_settings;

/// The same commands without those that run a program, if there are any.
pub fn without_exec_lines(todo: &[u8]) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = todo.split_inclusive(|byte| *byte == b'\n').collect();
    if !lines.iter().any(|line| is_exec(line)) {
        return None;
    }
    Some(lines.into_iter().filter(|line| !is_exec(line)).flatten().copied().collect())
}

fn is_exec(line: &[u8]) -> bool {
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'\x0b' || *byte == 0;
    let start = line.iter().position(|byte| !is_space(byte)).unwrap_or(line.len());
    let rest = &line[start..];
    let word = &rest[..rest.iter().position(is_space).unwrap_or(rest.len())];
    matches!(word, b"exec" | b"x")
}

/// The strategies of git itself; another name is a program `git-merge-NAME`.
const MERGE_STRATEGIES: &[&str] = &["ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// Whether the options of a rebase (`strategy`) or of a cherry-pick (`opts`) name no program.
pub fn names_no_program(options: &[u8]) -> bool {
    let is_own = |name: &str| name.is_empty() || MERGE_STRATEGIES.contains(&name);
    if std::str::from_utf8(options).is_ok_and(|text| is_own(text.trim())) {
        return true;
    }
    let Ok(settings) = parse_settings(options) else { return false };
    settings.iter().all(|setting| setting.name != "strategy" || is_own(&setting.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_run_something_are_removed() {
        assert_eq!(without_exec_lines(b"pick abc exec x\nlabel x\n# x\n"), None);
        for line in ["exec ./x", "x ./x", "\t exec ./x", "  x\t./x", "x"] {
            let todo = format!("pick a b\n{line}\npick c d");
            let kept = without_exec_lines(todo.as_bytes());
            assert_eq!(kept.as_deref(), Some(&b"pick a b\npick c d"[..]), "{line}");
        }
    }

    #[test]
    fn only_a_strategy_of_git_itself_is_no_program() {
        for (options, plain) in [
            ("ort\n", true),
            ("", true),
            ("x/evil\n", false),
            ("[options]\n\tmainline = 1\n\tstrategy = ours\n", true),
            ("[options]\n\tstrategy = x/evil\n", false),
            ("[options]\n\tSTRATEGY = evil\n", false),
            ("[options\n", false),
        ] {
            assert_eq!(names_no_program(options.as_bytes()), plain, "{options}");
        }
    }
}
