//! `git`: options and subcommands that run something else than git.

use super::super::Why;
use super::super::reader::Reader;
use super::options::{End, Grammar, any_of};
use super::{Run, never, plain};

/// Options before the subcommand that run nothing and set nothing.
const BEFORE: Grammar = Grammar {
    flags: "-P --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice \
            --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs -v --version \
            -h --help --exec-path --html-path --man-path --info-path",
    valued: "-C",
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

/// Looks for what runs something else.
pub(super) fn look(reader: &mut Reader, run: Run) {
    let at = match BEFORE.options(&run.argv) {
        End::At(at) => at,
        End::Unknown(option) => {
            // `-c core.pager=sh`, `--exec-path=.`, `--git-dir=…`, `-p`: settings and programs.
            reader.open(Why::Code, option);
            return plain(reader, run);
        }
    };
    let Some(subcommand) = run.argv.get(at).cloned() else { return plain(reader, run) };
    if RUNNING.contains(&subcommand.as_str()) {
        return never(reader, run, Why::Code);
    }
    let harmless = HARMLESS.iter().filter(|(name, _)| *name == subcommand);
    let harmless: Vec<&str> = harmless.flat_map(|(_, letters)| letters.split(' ')).collect();
    let own = if subcommand == "clone" { Some("-u") } else { None };
    let after: Vec<&str> =
        AFTER.split_whitespace().filter(|option| !harmless.contains(option)).chain(own).collect();
    if let Some(option) = any_of(&run.argv[at..], &after.join(" ")) {
        reader.open(Why::Code, option.clone());
    }
    // `ext::sh -c …` is a remote that is a command.
    if let Some(remote) = run.argv[at..].iter().find(|word| word.contains("::")) {
        reader.open(Why::Code, remote.clone());
    }
    plain(reader, run);
}
