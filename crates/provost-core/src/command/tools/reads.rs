//! The operands that well-known programs read, for rules about paths.
//!
//! Only names that are written out count. What a program finds by itself
//! (`grep -r x .`), or a script opens, cannot be seen here.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Which operands of a program are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    All,
    /// The first is a pattern or a program.
    AllButFirst,
    /// The last is written.
    AllButLast,
}

const PROGRAMS: &[(&str, Operands)] = &[
    (
        "cat head tail less more bat batcat nl tac rev wc sort uniq cut paste join comm diff cmp \
         md5sum sha1sum sha256sum sha512sum b2sum cksum base64 base32 xxd od hexdump strings column fold fmt \
         expand unexpand iconv pr view vim vi nvim nano tar zip gzip bzip2 xz zstd source . open \
         xdg-open openssl gpg",
        Operands::All,
    ),
    ("grep egrep fgrep rg ag ack awk gawk mawk sed jq yq perl", Operands::AllButFirst),
    ("cp mv ln install scp rsync", Operands::AllButLast),
];

static BY_NAME: LazyLock<HashMap<&'static str, Operands>> = LazyLock::new(|| {
    let each = |(names, which): &(&'static str, Operands)| {
        let which = *which;
        names.split_whitespace().map(move |name| (name, which)).collect::<Vec<_>>()
    };
    PROGRAMS.iter().flat_map(each).collect()
});

/// Options whose value is read, for all programs: `--env-file=.env`, `-d @.env`.
const OPTIONS: &[&str] = &[
    "--env-file",
    "--file",
    "--data-binary",
    "--data",
    "--upload-file",
    "--form",
    "--from-file",
    "--netrc-file",
    "--cert",
    "--key",
    "--cacert",
    "--config",
    "--body-file",
    "--input",
    "-d",
    "-F",
    "-T",
    "-f",
];

/// The paths that a program reads.
pub(super) fn read(program: &str, arguments: &[String]) -> Vec<String> {
    let mut paths = Vec::new();
    if program == "dd" {
        let from = arguments.iter().filter_map(|word| word.strip_prefix("if="));
        paths.extend(from.map(str::to_owned));
    }
    if let Some(which) = BY_NAME.get(program) {
        let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let operands = arguments
            .iter()
            .enumerate()
            .filter(|(at, word)| *at > end || *at < end && !word.starts_with('-'));
        let mut operands: Vec<&String> = operands.map(|(_, word)| word).collect();
        match which {
            Operands::All => {}
            // With `-e`, the first is a file as well; it rather names too many.
            Operands::AllButFirst if arguments.iter().any(|word| word.starts_with("-e")) => {}
            Operands::AllButFirst => drop((!operands.is_empty()).then(|| operands.remove(0))),
            Operands::AllButLast => drop(operands.pop()),
        }
        paths.extend(operands.into_iter().cloned());
    }
    for (at, word) in arguments.iter().enumerate().filter(|(_, word)| word.starts_with('-')) {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), arguments.get(at + 1).map(String::as_str)),
        };
        if OPTIONS.contains(&name)
            && let Some(value) = value
        {
            let file = value.rsplit_once('@').map_or(value, |(_, file)| file);
            paths.push(file.to_owned());
        }
    }
    paths.sort();
    paths.dedup();
    paths
}
