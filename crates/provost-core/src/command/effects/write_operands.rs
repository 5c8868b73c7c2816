//! The operands that well-known programs write, for rules about paths.
//!
//! It lists too many rather than too few; of other programs no operand counts as written.

/// Which operands a program writes.
#[derive(Clone, Copy)]
enum WriteOperands {
    All,
    AllButFirst,
    /// The last or, if that is a folder, the files in it that have the names of the others.
    Destination,
    /// All: a moved file is removed at its old path.
    AllAndDestination,
}

const WRITING_PROGRAMS: &[(&str, WriteOperands)] = &[
    ("tee", WriteOperands::All),
    ("touch", WriteOperands::All),
    ("mkdir", WriteOperands::All),
    ("rmdir", WriteOperands::All),
    ("rm", WriteOperands::All),
    ("unlink", WriteOperands::All),
    ("shred", WriteOperands::All),
    ("truncate", WriteOperands::All),
    ("mv", WriteOperands::AllAndDestination),
    ("sponge", WriteOperands::All),
    ("gzip", WriteOperands::All),
    ("gunzip", WriteOperands::All),
    ("chmod", WriteOperands::AllButFirst),
    ("chown", WriteOperands::AllButFirst),
    ("chgrp", WriteOperands::AllButFirst),
    ("rsync", WriteOperands::Destination),
    ("scp", WriteOperands::Destination),
    ("cp", WriteOperands::Destination),
    ("ln", WriteOperands::Destination),
    ("install", WriteOperands::Destination),
    ("patch", WriteOperands::All),
];

/// The programs that delete what they write.
const DELETING_PROGRAMS: &[&str] = &["rm", "rmdir", "unlink", "shred"];

/// Whether a program deletes its operands.
pub(crate) fn deletes_operands(program: &str) -> bool {
    DELETING_PROGRAMS.contains(&program)
}

/// Options whose value is written: program, short, long.
const OUTPUT_OPTIONS: &[(&str, &str, &str)] = &[
    ("sort", "-o", "--output"),
    ("curl", "-o", "--output"),
    ("curl", "-D", "--dump-header"),
    ("curl", "-c", "--cookie-jar"),
    ("wget", "-O", "--output-document"),
    ("wget", "-o", "--output-file"),
    ("wget", "-P", "--directory-prefix"),
    ("git", "-o", "--output"),
    ("cp", "-t", "--target-directory"),
    ("mv", "-t", "--target-directory"),
    ("ln", "-t", "--target-directory"),
    ("install", "-t", "--target-directory"),
    ("tar", "-C", "--directory"),
    ("unzip", "-d", "--directory"),
    ("patch", "-o", "--output"),
];

/// The paths that a program writes.
pub(crate) fn find_written_paths(program: &str, arguments: &[String]) -> Vec<String> {
    let mut paths = Vec::new();
    if program == "dd" {
        paths.extend(
            arguments.iter().filter_map(|word| word.strip_prefix("of=").map(str::to_owned)),
        );
    }
    if let Some((_, which)) = WRITING_PROGRAMS.iter().find(|(name, _)| *name == program) {
        let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let operands = arguments.iter().enumerate().filter(|(at, word)| {
            *at > end || *at < end && (!word.starts_with('-') || *word == "-")
        });
        let operands: Vec<&String> = operands.map(|(_, word)| word).collect();
        match which {
            WriteOperands::All => paths.extend(operands.into_iter().cloned()),
            WriteOperands::AllButFirst => paths.extend(operands.into_iter().skip(1).cloned()),
            WriteOperands::Destination => paths.extend(destination_paths(&operands)),
            WriteOperands::AllAndDestination => {
                paths.extend(operands.iter().map(|word| (*word).clone()));
                paths.extend(destination_paths(&operands));
            }
        }
    }
    for (_, short, long) in OUTPUT_OPTIONS.iter().filter(|(name, ..)| *name == program) {
        paths.extend(option_values(arguments, short, long));
    }
    let mut seen = std::collections::BTreeSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    paths
}

/// The last operand, and the others inside it.
fn destination_paths(operands: &[&String]) -> Vec<String> {
    let Some((folder, others)) = operands.split_last() else { return Vec::new() };
    let name = |path: &&String| path.trim_end_matches('/').rsplit('/').next().map(str::to_owned);
    let inside = others.iter().filter_map(name);
    let inside = inside.map(|name| format!("{}/{name}", folder.trim_end_matches('/')));
    std::iter::once((*folder).clone()).chain(inside).collect()
}

/// All values of an option; a short one may be combined with others.
fn option_values<'a>(
    arguments: &'a [String],
    short: &'a str,
    long: &'a str,
) -> impl Iterator<Item = String> + 'a {
    arguments.iter().enumerate().filter_map(move |(at, word)| {
        let next = || arguments.get(at + 1).cloned();
        let rest = if word.starts_with("--") {
            word.strip_prefix(long)?
        } else {
            word.strip_prefix('-')?.split_once(short.strip_prefix('-')?)?.1
        };
        let rest = rest.strip_prefix('=').unwrap_or(rest);
        if rest.is_empty() { next() } else { Some(rest.to_owned()) }
    })
}
