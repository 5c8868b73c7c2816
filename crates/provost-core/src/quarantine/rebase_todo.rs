//! The commands of a rebase that is under way: `git rebase --continue` runs its `exec` lines.

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
}
