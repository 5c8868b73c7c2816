//! `git`: options and subcommands that run something else than git.

use super::super::reader::Reader;
use super::super::{Loads, Why};
use super::options::{End, Grammar, any_of};
use super::{Run, git_config, git_search, never, plain};

/// Options before the subcommand that are known; what `-c` sets is looked at.
const BEFORE: Grammar = Grammar {
    flags: "-P --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice \
            --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs -v --version \
            -h --help --exec-path --html-path --man-path --info-path",
    valued: "-C -c",
    operands: 0,
};

/// Subcommands that run commands, or are the entry to ones that do.
const RUNNING: &[&str] = &[
    "filter-branch",
    "submodule",
    "difftool",
    "mergetool",
    "bisect",
    "daemon",
    "instaweb",
    "gui",
    "citool",
    "gitk",
    "send-email",
    "svn",
    "p4",
    "cvsimport",
    "cvsserver",
    "cvsexportcommit",
    "fast-import",
    "merge-index",
    "hook",
    "shell",
    "upload-pack",
    "receive-pack",
    "upload-archive",
    "http-backend",
    "for-each-repo",
    "config",
    "maintenance",
    "credential",
    "web--browse",
    "help",
    "replay",
    "remote-ext",
    "remote-fd",
    "var",
    "imap-send",
    "quiltimport",
    "update-server-info",
    "sh-setup",
    "sh-i18n",
    "lfs",
    "annex",
    "flow",
];

/// The other subcommands that git has. One that is not among them is an alias, which
/// may be a command of the shell, or a program that somebody put on the path.
const KNOWN: &str = "add am annotate apply archive blame branch bugreport bundle cat-file check-attr \
     check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone \
     column commit commit-graph commit-tree count-objects credential-cache credential-store describe \
     diagnose diff diff-files diff-index diff-tree fast-export fetch fetch-pack fmt-merge-msg \
     for-each-ref format-patch fsck fsck-objects gc get-tar-commit-id grep hash-object http-fetch \
     http-push index-pack init init-db interpret-trailers log ls-files ls-remote ls-tree mailinfo \
     mailsplit merge merge-base merge-file merge-one-file merge-tree mktag mktree \
     multi-pack-index mv name-rev notes pack-objects pack-redundant pack-refs patch-id prune \
     prune-packed pull push range-diff read-tree rebase reflog refs remote repack replace \
     request-pull rerere reset restore rev-list rev-parse revert rm scalar send-pack shortlog show \
     show-branch show-index show-ref sparse-checkout stage stash status stripspace subtree switch \
     symbolic-ref tag unpack-file unpack-objects update-index update-ref verify-commit verify-pack \
     verify-tag version whatchanged worktree write-tree";

/// Subcommands that push, by another name.
fn pushes(subcommand: &str, words: &[String]) -> bool {
    match subcommand {
        "send-pack" | "http-push" => true,
        "subtree" => words.iter().any(|word| word == "push"),
        other => other.starts_with("remote-"),
    }
}

/// Options after the subcommand that name a command or a setting.
const AFTER: &str = "-c -O -x -X --exec --ext-diff --textconv --open-files-in-pager --upload-pack \
                     --receive-pack --config --template --tool --extcmd --edit --interactive \
                     --strategy --gpg-sign --signed --editor --paginate --filter-process \
                     --server-option --remote --trailer";

/// Subcommands for which a letter of [`AFTER`] means something harmless, and which.
const HARMLESS: &[(&str, &str)] = &[
    ("switch", "-c"),
    ("log", "-c"),
    ("show", "-c"),
    ("diff", "-O"),
    ("commit", "-c"),
    ("clean", "-x -X"),
    ("merge", "-X"),
    ("cherry-pick", "-x -X"),
    ("grep", "-c"),
    ("ls-files", "-c -x -X"),
    ("shortlog", "-c"),
];

/// `git-push`, `/usr/lib/git-core/git-push`: git by another name. What its words may be is
/// the same with `git` before it; a file of that name can be anything.
pub(super) fn by_its_name(reader: &mut Reader, mut run: Run, subcommand: &str) {
    let words = ["git", subcommand].into_iter().map(str::to_owned);
    let argv = words.chain(run.argv[1..].iter().cloned()).collect();
    run.carried.texts.push(Run { argv, folders: reader.folders.to_vec(), ..Run::default() });
    if pushes(subcommand, &run.argv) {
        let argv = ["git", "push"].map(str::to_owned).to_vec();
        run.carried.texts.push(Run { argv, folders: reader.folders.to_vec(), ..Run::default() });
    }
    if RUNNING.contains(&subcommand) {
        return never(reader, run, Why::Code);
    }
    plain(reader, run);
}

/// Looks for what runs something else.
pub(super) fn look(reader: &mut Reader, mut run: Run) {
    let at = match BEFORE.options(&run.argv) {
        End::At(at) => at,
        End::Unknown(option) => {
            // `--exec-path=.`, `--git-dir=…`, `-p`: settings and programs.
            let setting = ["--exec-path", "--git-dir", "--config-env"];
            let sets = setting.iter().any(|name| option.starts_with(name));
            let why = if sets { Why::Loads(Loads::Settings) } else { Why::Code };
            reader.open(why, option);
            return plain(reader, run);
        }
    };
    git_config::set(reader, &run, at);
    let Some(subcommand) = run.argv.get(at).cloned() else { return plain(reader, run) };
    if pushes(&subcommand, &run.argv[at..]) {
        let words = ["git", "push"].into_iter().map(str::to_owned);
        let argv = words.chain(run.argv[at + 1..].iter().cloned()).collect();
        run.carried.texts.push(Run { argv, folders: reader.folders.to_vec(), ..Run::default() });
    }
    let is_known = KNOWN.split_whitespace().any(|known| known == subcommand);
    let words = &run.argv[at + 1..];
    let looks = run.unknown.iter().all(|place| *place < at)
        && match subcommand.as_str() {
            "config" => git_config::asks(words),
            "submodule" => git_config::tells(words),
            _ => false,
        };
    if looks {
        return plain(reader, run);
    }
    if RUNNING.contains(&subcommand.as_str()) || !is_known && !run.unknown.contains(&at) {
        return never(reader, run, Why::Code);
    }
    let harmless = HARMLESS.iter().filter(|(name, _)| *name == subcommand);
    let harmless: Vec<&str> = harmless.flat_map(|(_, letters)| letters.split(' ')).collect();
    let own = if subcommand == "clone" { Some("-u") } else { None };
    let after: Vec<&str> =
        AFTER.split_whitespace().filter(|option| !harmless.contains(option)).chain(own).collect();
    let looked_for = git_search::looked_for(&run.argv[1..]);
    let words = run.argv.iter().enumerate().skip(at);
    let words = words.filter(|(place, _)| !looked_for.contains(&(place - 1)));
    let words: Vec<String> = words.map(|(_, word)| word.clone()).collect();
    if let Some(option) = any_of(&words, &after.join(" ")) {
        reader.open(Why::Code, option.clone());
    }
    // `ext::sh -c …` is a remote that is a command.
    if let Some(remote) = run.argv[at..].iter().find(|word| word.contains("::")) {
        reader.open(Why::Code, remote.clone());
    }
    plain(reader, run);
}
