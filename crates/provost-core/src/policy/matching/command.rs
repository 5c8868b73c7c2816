//! Whether a rule matches a command.

use super::is_fully_known;
use crate::command::{CommandInvocation, program_basename};
use crate::glob::WordPattern;
use crate::policy::aliases;
use crate::policy::rule::{PolicyRule, RuleSelector};
use crate::policy::rule_match::MatchCertainty;

impl PolicyRule {
    /// Whether a rule that allows matches this command, and nothing of the command is unknown.
    pub(super) fn certainly_matches(&self, run: &CommandInvocation) -> bool {
        let RuleSelector::Command { argv, with, without, hosts } = &self.select else {
            return false;
        };
        is_fully_known(run)
            && argv.as_ref().is_none_or(|pattern| pattern.matches(&run.argv))
            && with.as_ref().is_none_or(|with| has_any_option(with, &run.argv))
            && !has_any_argument(without, &run.argv)
            && hosts.as_ref().is_none_or(|hosts| {
                !run.hosts.is_empty() && run.hosts.iter().all(|host| matches_any_host(hosts, host))
            })
    }

    /// Whether a rule that denies or asks may match this command, or one embedded in its words.
    pub(super) fn match_leniently(&self, run: &CommandInvocation) -> Option<MatchCertainty> {
        self.match_invocation(run).or_else(|| self.match_embedded_commands(run))
    }

    fn match_embedded_commands(&self, run: &CommandInvocation) -> Option<MatchCertainty> {
        // A rule without a pattern is about hosts, and those belong to the whole command.
        let RuleSelector::Command { argv: Some(argv), .. } = &self.select else { return None };
        let starts = |at: &usize| {
            argv.may_match_from(run, *at).is_some()
                && self.match_invocation(&run.invocation_from(*at)).is_some()
        };
        let texts = |text: &CommandInvocation| self.match_invocation(text).is_some();
        let carried = &run.carried;
        let found = carried.starts.iter().any(starts) || carried.texts.iter().any(texts);
        found.then_some(MatchCertainty::Possible)
    }

    fn match_invocation(&self, run: &CommandInvocation) -> Option<MatchCertainty> {
        let RuleSelector::Command { argv, with, without, hosts } = &self.select else {
            return None;
        };
        let possible = |holds: bool| holds.then_some(MatchCertainty::Possible);
        let words = match argv {
            None => MatchCertainty::Certain,
            Some(pattern)
                if run.through.iter().any(|name| pattern.matches_every_command_of(name)) =>
            {
                MatchCertainty::Certain
            }
            Some(pattern) => {
                let words = pattern.may_match(run)?;
                if has_any_argument(without, &run.argv) {
                    return None;
                }
                match with {
                    Some(with) if !has_any_option(with, &run.argv) => {
                        let may = run.may_gain_options() || may_abbreviate_any(with, &run.argv);
                        words.max(possible(may)?)
                    }
                    Some(_) | None => words,
                }
            }
        };
        match hosts {
            Some(hosts) if !run.hosts.iter().any(|host| matches_any_host(hosts, host)) => {
                let unknown = !run.unknown.is_empty() && is_network_program(run);
                possible(unknown || reads_hosts_from_file(run))
            }
            Some(_) | None => Some(words),
        }
    }
}

/// Whether the arguments contain one of these options. `-*r*` is about short options and does
/// not match `--current`.
fn has_any_option(words: &[WordPattern], argv: &[String]) -> bool {
    argv.iter().skip(1).any(|argument| {
        let means = |word: &WordPattern| !(word.is_short_option() && argument.starts_with("--"));
        words.iter().any(|word| means(word) && word.matches(argument))
    })
}

/// Whether an argument may abbreviate one of these options: `git push --forc`.
fn may_abbreviate_any(words: &[WordPattern], argv: &[String]) -> bool {
    let mut arguments = argv.iter().skip(1);
    arguments.any(|argument| {
        words
            .iter()
            .filter_map(WordPattern::exact)
            .any(|option| aliases::may_abbreviate(argument, option))
    })
}

fn has_any_argument(words: &[WordPattern], argv: &[String]) -> bool {
    let mut arguments = argv.iter().skip(1);
    arguments.any(|argument| words.iter().any(|word| word.matches(argument)))
}

fn matches_any_host(hosts: &[WordPattern], host: &str) -> bool {
    let host = host.trim_end_matches('.');
    hosts.iter().any(|pattern| pattern.matches(host))
}

/// Programs whose arguments name the host that they connect to.
const NETWORK_PROGRAMS: &[&str] = &[
    "curl", "wget", "http", "https", "xh", "nc", "ncat", "socat", "telnet", "ssh", "scp", "sftp",
    "rsync", "ftp", "git", "ping", "dig", "nslookup", "host", "npm", "pip", "pip3", "docker", "gh",
];

/// Options that name a file with the hosts to connect to.
const HOST_FILE_OPTIONS: &[(&str, char, &[&str])] = &[
    ("curl", 'K', &["--config"]),
    ("wget", 'i', &["--input-file", "--config", "--execute"]),
    ("aria2c", 'i', &["--input-file", "--conf-path"]),
];

fn reads_hosts_from_file(run: &CommandInvocation) -> bool {
    let Some((program, words)) = run.argv.split_first() else { return false };
    let Some((_, short, long)) =
        HOST_FILE_OPTIONS.iter().find(|(name, ..)| *name == program_basename(program))
    else {
        return false;
    };
    words.iter().any(|word| match word.strip_prefix('-') {
        Some(rest) if rest.starts_with('-') => {
            long.iter().any(|option| aliases::may_abbreviate(word, option))
        }
        Some(rest) => rest.contains(*short),
        None => false,
    })
}

fn is_network_program(run: &CommandInvocation) -> bool {
    run.argv.first().is_some_and(|program| NETWORK_PROGRAMS.contains(&program_basename(program)))
}
