//! `git`: options and subcommands that run something other than git.

use super::option_grammar::{OptionGrammar, OptionsEnd, find_any_option};
use super::{CommandInvocation, add_invocation, add_unbounded_invocation, git_config, git_search};
use crate::command::parse::analyzer::CommandAnalyzer;
use crate::command::{CodeInjection, OpaqueReason};

/// Known options before the subcommand; the settings of `-c` are analyzed separately.
const GLOBAL_OPTIONS: OptionGrammar = OptionGrammar {
    flags: "-P --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice \
            --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs -v --version \
            -h --help --exec-path --html-path --man-path --info-path",
    valued: "-C -c",
    operands: 0,
};

/// Subcommands that run commands.
const COMMAND_SUBCOMMANDS: &[&str] = &[
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

/// The other subcommands of git. Any other name is an alias, which may be a shell command, or a
/// program on the path.
const KNOWN_SUBCOMMANDS: &str = "add am annotate apply archive blame branch bugreport bundle cat-file check-attr \
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

/// Subcommands that push under another name.
fn is_push(subcommand: &str, words: &[String]) -> bool {
    match subcommand {
        "send-pack" | "http-push" => true,
        "subtree" => words.iter().any(|word| word == "push"),
        other => other.starts_with("remote-"),
    }
}

/// Options after the subcommand that name a command or a setting.
const RISKY_OPTIONS: &str = "-c -O -x -X --exec --ext-diff --textconv --open-files-in-pager --upload-pack \
                     --receive-pack --config --template --tool --extcmd --edit --interactive \
                     --strategy --gpg-sign --signed --editor --paginate --filter-process \
                     --server-option --remote --trailer";

/// Subcommands for which a letter of [`RISKY_OPTIONS`] is harmless, with those letters.
const HARMLESS_OPTIONS: &[(&str, &str)] = &[
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

/// `git-push`, `/usr/lib/git-core/git-push`: other names for git. Its words are analyzed as if
/// `git` came first; a file of that name can be anything.
pub(super) fn analyze_git_executable(
    reader: &mut CommandAnalyzer,
    mut run: CommandInvocation,
    subcommand: &str,
) {
    let words = ["git", subcommand].into_iter().map(str::to_owned);
    let argv = words.chain(run.argv[1..].iter().cloned()).collect();
    run.carried.texts.push(CommandInvocation {
        argv,
        folders: reader.folders.to_vec(),
        ..CommandInvocation::default()
    });
    if is_push(subcommand, &run.argv) {
        let argv = ["git", "push"].map(str::to_owned).to_vec();
        run.carried.texts.push(CommandInvocation {
            argv,
            folders: reader.folders.to_vec(),
            ..CommandInvocation::default()
        });
    }
    if COMMAND_SUBCOMMANDS.contains(&subcommand) {
        return add_unbounded_invocation(reader, run, OpaqueReason::Code);
    }
    add_invocation(reader, run);
}

/// Analyzes what runs something other than git.
pub(super) fn analyze_git(reader: &mut CommandAnalyzer, mut run: CommandInvocation) {
    let at = match GLOBAL_OPTIONS.find_options_end(&run.argv) {
        OptionsEnd::At(at) => at,
        OptionsEnd::UnknownOption(option) => {
            // `--exec-path=.`, `--git-dir=…`, `-p`: settings and programs.
            let setting = ["--exec-path", "--git-dir", "--config-env"];
            let sets = setting.iter().any(|name| option.starts_with(name));
            let why = if sets {
                OpaqueReason::CodeInjection(CodeInjection::Settings)
            } else {
                OpaqueReason::Code
            };
            reader.mark_programs_uncertain(why, option);
            return add_invocation(reader, run);
        }
    };
    git_config::analyze_config_options(reader, &run, at);
    let Some(subcommand) = run.argv.get(at).cloned() else { return add_invocation(reader, run) };
    if is_push(&subcommand, &run.argv[at..]) {
        let words = ["git", "push"].into_iter().map(str::to_owned);
        let argv = words.chain(run.argv[at + 1..].iter().cloned()).collect();
        run.carried.texts.push(CommandInvocation {
            argv,
            folders: reader.folders.to_vec(),
            ..CommandInvocation::default()
        });
    }
    let is_known = KNOWN_SUBCOMMANDS.split_whitespace().any(|known| known == subcommand);
    let words = &run.argv[at + 1..];
    let only_reads = run.unknown.iter().all(|index| *index < at)
        && match subcommand.as_str() {
            "config" => git_config::is_config_query(words),
            "submodule" => git_config::is_submodule_query(words),
            _ => false,
        };
    if only_reads {
        return add_invocation(reader, run);
    }
    if COMMAND_SUBCOMMANDS.contains(&subcommand.as_str()) || !is_known && !run.unknown.contains(&at)
    {
        return add_unbounded_invocation(reader, run, OpaqueReason::Code);
    }
    let harmless = HARMLESS_OPTIONS.iter().filter(|(name, _)| *name == subcommand);
    let harmless: Vec<&str> = harmless.flat_map(|(_, letters)| letters.split(' ')).collect();
    let own = if subcommand == "clone" { Some("-u") } else { None };
    let after: Vec<&str> = RISKY_OPTIONS
        .split_whitespace()
        .filter(|option| !harmless.contains(option))
        .chain(own)
        .collect();
    let search_terms = git_search::search_term_positions(&run.argv[1..]);
    let words = run.argv.iter().enumerate().skip(at);
    let words = words.filter(|(index, _)| !search_terms.contains(&(index - 1)));
    let words: Vec<String> = words.map(|(_, word)| word.clone()).collect();
    if let Some(option) = find_any_option(&words, &after.join(" ")) {
        reader.mark_programs_uncertain(OpaqueReason::Code, option.clone());
    }
    // `ext::sh -c …` is a remote that runs a command.
    if let Some(remote) = run.argv[at..].iter().find(|word| word.contains("::")) {
        reader.mark_programs_uncertain(OpaqueReason::Code, remote.clone());
    }
    add_invocation(reader, run);
}
