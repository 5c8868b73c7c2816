//! Settings of `git`: those that a command sets, and `git config`.

use crate::command::parse::analyzer::CommandAnalyzer;
use crate::command::{CodeInjection, CommandInvocation, OpaqueReason};

/// Prefixes of settings that name no command, file or remote.
const HARMLESS_KEYS: &str = "color. advice. user.name user.email status. column. grep. blame. init.defaultbranch \
     core.quotepath core.abbrev core.autocrlf core.eol core.filemode core.ignorecase core.longpaths \
     core.precomposeunicode core.safecrlf core.whitespace core.commentchar diff.renames diff.algorithm \
     diff.context diff.colormoved diff.noprefix diff.mnemonicprefix diff.wserrorhighlight log. gc.auto \
     pull.rebase pull.ff merge.ff merge.conflictstyle rebase.autostash push.default fetch.prune \
     protocol.version format.pretty commit.verbose versionsort.";

/// Values with which any setting is harmless: `cat`, or none.
const DISABLING_VALUES: [&str; 8] = ["", "cat", "true", "false", ":", "0", "no", "off"];
const DISABLEABLE_KEYS: &str = "core.pager pager. core.editor sequence.editor commit.gpgsign tag.gpgsign \
     push.gpgsign core.fsmonitor credential.helper";

/// Analyzes `-c KEY=VALUE` among the options before an index: the value can be a command.
pub(super) fn analyze_config_options(
    reader: &mut CommandAnalyzer,
    run: &CommandInvocation,
    end: usize,
) {
    let mut at = 1;
    while at < end.min(run.argv.len()) {
        let word = run.argv[at].as_str();
        if word == "-c" {
            let setting = run.argv.get(at + 1).map_or("", String::as_str);
            if is_harmless_setting(setting) && !run.unknown.contains(&(at + 1)) {
                reader.mark_arguments_uncertain(OpaqueReason::Code, setting);
            } else {
                reader.mark_programs_uncertain(
                    OpaqueReason::CodeInjection(CodeInjection::Settings),
                    format!("-c {setting}"),
                );
            }
        }
        at += if matches!(word, "-c" | "-C") { 2 } else { 1 };
    }
}

fn is_harmless_setting(setting: &str) -> bool {
    let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
    let key = key.to_ascii_lowercase();
    let is = |keys: &str| {
        keys.split_ascii_whitespace()
            .any(|known| if known.ends_with('.') { key.starts_with(known) } else { key == known })
    };
    is(HARMLESS_KEYS) || is(DISABLEABLE_KEYS) && DISABLING_VALUES.contains(&value)
}

/// Whether `git config` with these words only reads.
pub(super) fn is_config_query(words: &[String]) -> bool {
    const ASKING: &str = "--get --get-all --get-regexp --get-urlmatch --list -l";
    const ALSO: &str = "-z --null --name-only --show-origin --show-scope --local --global --system \
         --worktree --includes --no-includes --bool --int --bool-or-int --path --expiry-date --all \
         --regexp --fixed-value";
    // Not `--blob`, which names a file in a way of its own.
    const VALUED: &str = "-f --file --type --default --url --value";
    let is = |options: &str, word: &str| options.split_ascii_whitespace().any(|it| it == word);
    let (mut asks, mut operands, mut at) = (false, Vec::new(), 0);
    while let Some(word) = words.get(at) {
        at += 1;
        if !word.starts_with('-') {
            operands.push(word.as_str());
        } else if is(ASKING, word) {
            asks = true;
        } else if is(VALUED, word) {
            at += 1;
        } else if !is(ALSO, word) && !word.split_once('=').is_some_and(|(name, _)| is(VALUED, name))
        {
            return false;
        }
    }
    match operands.as_slice() {
        ["get" | "list", ..] => true,
        // `git config user.name` reads, with one more word it writes.
        [key] => asks || key.contains('.'),
        [] | [..] => asks,
    }
}

/// Whether `git submodule` with these words only reports.
pub(super) fn is_submodule_query(words: &[String]) -> bool {
    const OPTIONS: [&str; 5] = ["--quiet", "-q", "--cached", "--recursive", "--files"];
    let mut operands = words.iter().filter(|word| !word.starts_with('-'));
    let options = words.iter().filter(|word| word.starts_with('-'));
    operands.next().is_none_or(|word| word == "status" || word == "summary")
        && options.into_iter().all(|word| OPTIONS.contains(&word.as_str()))
}
