//! The operands by which well-known programs write, for rules about paths.
//!
//! It rather names too many than too few; for a program that is not here, only
//! its arguments speak.

/// Which operands of a program are written.
#[derive(Clone, Copy)]
enum Operands {
    All,
    Last,
}

const PROGRAMS: &[(&str, Operands)] = &[
    ("tee", Operands::All),
    ("touch", Operands::All),
    ("mkdir", Operands::All),
    ("rmdir", Operands::All),
    ("rm", Operands::All),
    ("unlink", Operands::All),
    ("shred", Operands::All),
    ("truncate", Operands::All),
    ("mv", Operands::All),
    ("cp", Operands::Last),
    ("ln", Operands::Last),
    ("install", Operands::Last),
];

/// Options whose value is written: program, short, long.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("sort", "-o", "--output"),
    ("curl", "-o", "--output"),
    ("wget", "-O", "--output-document"),
    ("cp", "-t", "--target-directory"),
    ("mv", "-t", "--target-directory"),
    ("ln", "-t", "--target-directory"),
    ("install", "-t", "--target-directory"),
];

/// The paths that a program writes.
pub(super) fn written(program: &str, arguments: &[String]) -> Vec<String> {
    let mut paths = Vec::new();
    if program == "dd" {
        paths.extend(
            arguments.iter().filter_map(|word| word.strip_prefix("of=").map(str::to_owned)),
        );
    }
    if let Some((_, which)) = PROGRAMS.iter().find(|(name, _)| *name == program) {
        let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let operands = arguments.iter().enumerate().filter(|(at, word)| {
            *at > end || *at < end && (!word.starts_with('-') || *word == "-")
        });
        let operands: Vec<&String> = operands.map(|(_, word)| word).collect();
        match which {
            Operands::All => paths.extend(operands.into_iter().cloned()),
            Operands::Last => paths.extend(operands.last().map(|word| (*word).clone())),
        }
    }
    for (_, short, long) in OPTIONS.iter().filter(|(name, ..)| *name == program) {
        paths.extend(value(arguments, short, long));
    }
    paths.dedup();
    paths
}

/// The values of an option, wherever they stand.
fn value<'a>(
    arguments: &'a [String],
    short: &'a str,
    long: &'a str,
) -> impl Iterator<Item = String> + 'a {
    arguments.iter().enumerate().filter_map(move |(at, word)| {
        if word == short || word == long {
            return arguments.get(at + 1).cloned();
        }
        let attached = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        attached.or_else(|| word.strip_prefix(short)).map(str::to_owned)
    })
}
