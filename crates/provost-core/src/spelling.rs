//! Suggestions for misspelled names.

/// The most edits between a typo and the name that is suggested.
const MAX_TYPOS: usize = 3;

/// The known name with the most similar spelling, if there is one.
pub(crate) fn nearest_name<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A longer name is not a typo of a known one, and the comparison takes quadratic time.
    if name.len() > 64 {
        return None;
    }
    let wanted = name.to_lowercase();
    let most = MAX_TYPOS.min(wanted.chars().count() / 2);
    known
        .into_iter()
        .map(|known| (edit_distance(&wanted, &known.to_lowercase()), known))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// The number of insertions, deletions, replacements and swaps of adjacent characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut fewest = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                fewest = fewest.min(before[j - 1] + 1);
            }
            row.push(fewest);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// `; did you mean `x`?`, or nothing.
pub(crate) fn suggestion(similar: Option<&str>) -> String {
    similar.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_name_that_was_meant_and_a_strange_name_none() {
        let known = ["fs.read", "fs.readFile", "terminal.runCommand", "id"];
        for (name, expected) in [
            ("fs.raed", Some("fs.read")),
            ("fs.readfile", Some("fs.readFile")),
            ("terminal.run_command", Some("terminal.runCommand")),
            ("x", None),
            ("network.all", None),
            ("", None),
        ] {
            assert_eq!(nearest_name(name, known), expected, "{name}");
        }
        assert_eq!(nearest_name(&"x".repeat(1_000_000), known), None);
    }
}
