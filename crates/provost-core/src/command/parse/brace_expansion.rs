//! Brace expansion, as far as it is certain: `{a,b}` and `{1..3}` of plain characters.

/// The most words that one may expand to.
const MAX_EXPANDED_WORDS: usize = 64;

/// The words that bash expands a word with braces to. `None` where that is uncertain: quotes,
/// variables or globs in it, nested braces, or too many.
pub(crate) fn expand_braces(raw: &str) -> Option<Vec<String>> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,+@%:{}".contains(c);
    if !raw.chars().all(plain) {
        return None;
    }
    let mut words = vec![String::new()];
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, behind) = after.split_once('}')?;
        if before.contains('}') || inside.contains('{') {
            return None;
        }
        let choices = parse_brace_choices(inside)?;
        if words.len() * choices.len() > MAX_EXPANDED_WORDS {
            return None;
        }
        let each = |word: &String| {
            let choices = choices.iter();
            choices.map(|choice| format!("{word}{before}{choice}")).collect::<Vec<_>>()
        };
        words = words.iter().flat_map(each).collect();
        rest = behind;
    }
    if rest.contains('}') {
        return None;
    }
    for word in &mut words {
        word.push_str(rest);
    }
    // Bash drops empty unquoted words.
    words.retain(|word| !word.is_empty());
    Some(words)
}

fn parse_brace_choices(inside: &str) -> Option<Vec<String>> {
    if inside.contains(',') {
        return Some(inside.split(',').map(str::to_owned).collect());
    }
    let (from, to) = inside.split_once("..")?;
    let number = |text: &str| {
        let plain = text.len() <= 4 && !(text.len() > 1 && text.starts_with('0'));
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if plain && digits { text.parse::<usize>().ok() } else { None }
    };
    let (from, to) = (number(from)?, number(to)?);
    if from.abs_diff(to) >= MAX_EXPANDED_WORDS {
        return None;
    }
    let up = (from.min(to)..=from.max(to)).map(|n| n.to_string());
    Some(if from <= to { up.collect() } else { up.rev().collect() })
}

#[cfg(test)]
mod tests {
    use super::expand_braces;

    #[test]
    fn what_is_certain_is_written_out_and_nothing_else() {
        for (raw, words) in [
            ("{.,x}", ". x"),
            ("src/{a,b}.rs", "src/a.rs src/b.rs"),
            ("{a,b}{c,d}", "ac ad bc bd"),
            ("f{1..3}", "f1 f2 f3"),
            ("{3..1}", "3 2 1"),
            ("{a,}", "a"),
        ] {
            assert_eq!(
                expand_braces(raw).map(|words| words.join(" ")).as_deref(),
                Some(words),
                "{raw}"
            );
        }
        for raw in ["{a,{b,c}}", "{$x,b}", "{a", "{a,b}}", "{01..3}", "{1..999}", "{a..c}", "{a}"] {
            assert_eq!(expand_braces(raw), None, "{raw}");
        }
    }
}
