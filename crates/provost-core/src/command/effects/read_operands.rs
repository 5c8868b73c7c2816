//! The operands that well-known programs read, for rules about paths.
//!
//! Only literal names count. Files that a program finds by itself (`grep -r x .`) or that a
//! script opens are not visible here. Of an unknown program, every word may be a path: see
//! [`possible_read_paths`].

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::command::tools::git_search;

/// Which operands a program reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadOperands {
    All,
    /// The first is a pattern or a script.
    AllButFirst,
    /// The last is written.
    AllButLast,
}

const READING_PROGRAMS: &[(&str, ReadOperands)] = &[
    (
        "cat head tail less more bat batcat nl tac rev wc sort uniq cut paste join comm diff cmp \
         md5sum sha1sum sha256sum sha512sum b2sum cksum base64 base32 xxd od hexdump strings column fold fmt \
         expand unexpand iconv pr view vim vi nvim nano tar zip gzip bzip2 xz zstd source . open \
         xdg-open openssl gpg",
        ReadOperands::All,
    ),
    ("grep egrep fgrep rg ag ack awk gawk mawk sed jq yq perl", ReadOperands::AllButFirst),
    ("cp mv ln install scp rsync", ReadOperands::AllButLast),
];

static READ_OPERANDS_BY_NAME: LazyLock<HashMap<&'static str, ReadOperands>> = LazyLock::new(|| {
    let each = |(names, which): &(&'static str, ReadOperands)| {
        let which = *which;
        names.split_whitespace().map(move |name| (name, which)).collect::<Vec<_>>()
    };
    READING_PROGRAMS.iter().flat_map(each).collect()
});

/// Options whose value is a file that is read, for all programs: `--env-file=.env`, `-d @.env`.
const FILE_OPTIONS: &[&str] = &[
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
    "--files0-from",
    "--to-file",
    "--pathspec-from-file",
    "--arg-file",
    "--fromfile",
    "--config-file",
    "--requirement",
    "--exclude-from",
    "--include-from",
    "--rcfile",
    "--init-file",
    "--include",
    "--glob",
    "--iglob",
    "-d",
    "-F",
    "-T",
    "-f",
];

/// `-e`, `-nf`, `--regexp=x`: the pattern or script is not an operand.
pub(crate) fn is_pattern_option(word: &str) -> bool {
    const LONG: [&str; 4] = ["--regexp", "--file", "--expression", "--from-file"];
    match word.strip_prefix("--") {
        Some(_) => LONG.iter().any(|long| word.starts_with(long)),
        None => word.starts_with('-') && word.contains(['e', 'f']),
    }
}

/// `-t folder`: the last operand is read as well.
fn is_target_option(word: &str) -> bool {
    word.starts_with("--t")
        || word.starts_with('-') && !word.starts_with("--") && word.contains('t')
}

/// Programs that do not read what their words name.
const NAME_ONLY_PROGRAMS: &str = "echo printf ls dir vdir ll exa eza lsd stat df test [ cd pushd popd pwd \
     which whereis type whatis apropos help command hash basename dirname realpath readlink \
     mkdir rmdir rm unlink touch truncate chmod chown chgrp mktemp mkfifo find fd fdfind locate tee \
     export unset declare local readonly typeset read alias unalias set shift trap wait kill pkill \
     killall pgrep ps sleep seq expr true false : exit return break continue id whoami hostname \
     uname tput say notify-send brew apt apt-get apt-cache dnf yum pacman snap gem dd \
     eval code sudo doas env nice nohup timeout";

/// Programs whose words are targets and tasks: only words that look like paths are paths.
const TASK_PROGRAMS: &str = "cargo rustup npm pnpm yarn bun npx bunx make gmake just task rake ninja meson \
     gradle gradlew mvn mvnw go dotnet mix tox nox poetry uv uvx pipx docker podman kubectl gh helm \
     terraform systemctl";

/// Subcommands of `git` that do not show the content of what they name.
const NAME_ONLY_GIT_SUBCOMMANDS: &str = "add rm mv checkout switch restore branch tag commit status remote fetch pull push \
     clone init ls-files ls-tree ls-remote check-ignore check-attr rev-parse rev-list merge rebase \
     stash reset clean worktree config bisect cherry-pick revert describe submodule gc fsck prune \
     reflog symbolic-ref update-ref update-index read-tree write-tree for-each-ref";

static KNOWN_NAMES: LazyLock<[HashSet<&'static str>; 3]> = LazyLock::new(|| {
    [NAME_ONLY_PROGRAMS, TASK_PROGRAMS, NAME_ONLY_GIT_SUBCOMMANDS]
        .map(|names| names.split_whitespace().collect())
});

/// Which words of a program may be paths that it reads.
enum PathWords {
    None,
    PathLike,
    All,
}

fn classify_path_words(program: &str, arguments: &[String]) -> PathWords {
    let [names, tasks, git] = &*KNOWN_NAMES;
    if READ_OPERANDS_BY_NAME.contains_key(program) || names.contains(program) {
        return PathWords::None;
    }
    if program == "git" {
        // Options before the subcommand may have values, so each of these words may be it.
        let is_shown = |at: usize| !git.contains(arguments[at].as_str());
        let shown =
            super::embedded_commands::possible_subcommands(arguments).into_iter().any(is_shown);
        return if shown { PathWords::All } else { PathWords::None };
    }
    if tasks.contains(program) { PathWords::PathLike } else { PathWords::All }
}

/// The paths that the words of an unknown program may name: the word itself, and what follows
/// `=`, `@` and `:` in it, or the letter of an option.
pub(crate) fn possible_read_paths(program: &str, arguments: &[String]) -> Vec<String> {
    let like_paths = match classify_path_words(program, arguments) {
        PathWords::None => return Vec::new(),
        PathWords::PathLike => true,
        PathWords::All => false,
    };
    let looked_for =
        if program == "git" { git_search::search_term_positions(arguments) } else { Vec::new() };
    let mut paths = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        if looked_for.contains(&at) {
            continue;
        }
        let word = word.strip_prefix("file://").unwrap_or(word);
        if word.is_empty() || word.contains("://") || word.contains('\n') {
            continue;
        }
        let joined = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let joined = joined.and_then(|rest| rest.get(1..));
        let whole = (!word.starts_with('-')).then_some(word);
        let after = ['=', '@', ':'].map(|c| word.split_once(c).map(|(_, after)| after));
        let last = word.rsplit_once('@').map(|(_, after)| after);
        for path in [whole, joined, last].into_iter().chain(after).flatten() {
            let path = path.trim_start_matches(['@', '=', ':']);
            if !path.is_empty() && (!like_paths || path.contains(['/', '.'])) {
                paths.push(path.to_owned());
            }
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// The paths that a program reads.
pub(crate) fn find_read_paths(program: &str, arguments: &[String]) -> Vec<String> {
    let mut paths = Vec::new();
    if program == "dd" {
        let from = arguments.iter().filter_map(|word| word.strip_prefix("if="));
        paths.extend(from.map(str::to_owned));
    }
    // What follows `-e` is a pattern or a script; for other programs it is an option.
    let looks_for = matches!(program, "grep" | "egrep" | "fgrep" | "rg" | "sed");
    if let Some(which) = READ_OPERANDS_BY_NAME.get(program) {
        let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let operands = arguments
            .iter()
            .enumerate()
            .filter(|(at, word)| *at > end || *at < end && !word.starts_with('-'))
            .filter(|(at, _)| *at > end || *at == 0 || arguments[at - 1] != "-e" || !looks_for);
        let mut operands: Vec<&String> = operands.map(|(_, word)| word).collect();
        match which {
            ReadOperands::All => {}
            // With `-e` or `-f`, the first operand is a file as well; too many are better than
            // too few.
            ReadOperands::AllButFirst if arguments.iter().any(|word| is_pattern_option(word)) => {}
            ReadOperands::AllButFirst => drop((!operands.is_empty()).then(|| operands.remove(0))),
            ReadOperands::AllButLast if arguments.iter().any(|word| is_target_option(word)) => {}
            ReadOperands::AllButLast => drop(operands.pop()),
        }
        paths.extend(operands.into_iter().cloned());
    }
    for (at, word) in arguments.iter().enumerate().filter(|(_, word)| word.starts_with('-')) {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), arguments.get(at + 1).map(String::as_str)),
        };
        // `test -f` does not read the file.
        if FILE_OPTIONS.contains(&name)
            && !matches!(program, "test" | "[")
            && let Some(value) = value
        {
            let file = value.rsplit_once('@').map_or(value, |(_, file)| file);
            paths.push(file.to_owned());
        }
        // `-F.env`, `-vf.env`: the value follows the letter in the same word.
        if !word.starts_with("--")
            && matches!(classify_path_words(program, arguments), PathWords::None)
        {
            let joined = word.char_indices().skip(1).filter(|(_, c)| "fFdT".contains(*c));
            let joined = joined.filter_map(|(at, _)| word.get(at + 1..));
            paths.extend(joined.filter(|it| it.contains(['.', '/'])).map(str::to_owned));
        }
    }
    paths.sort();
    paths.dedup();
    paths
}
