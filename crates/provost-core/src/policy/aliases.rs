//! Other names of subcommands and long options. A rule that denies or asks matches those too:
//! `npm pub` publishes.

use super::rule_match::MatchCertainty;

/// Subcommands and their aliases.
const SUBCOMMAND_ALIASES: &[(&str, &[(&str, &str)])] = &[
    (
        "npm",
        &[
            ("access", "acc"),
            ("bugs", "issues"),
            ("ci", "clean-install ic install-clean isntall-clean"),
            ("config", "c"),
            ("dedupe", "ddp"),
            ("dist-tag", "dist-tags"),
            ("exec", "x"),
            ("init", "create innit"),
            ("install", "i add in ins inst insta instal isnt isnta isntal isntall"),
            ("install-test", "it"),
            ("install-ci-test", "cit clean-install-test sit"),
            ("link", "ln"),
            ("list", "ls la ll"),
            ("login", "adduser add-user"),
            ("owner", "author"),
            ("rebuild", "rb"),
            ("run", "run-script rum urn"),
            ("search", "find s se"),
            ("test", "t tst"),
            ("uninstall", "unlink remove rm r un"),
            ("update", "up upgrade udpate"),
            ("view", "info show v"),
        ],
    ),
    (
        "pnpm",
        &[
            ("config", "c"),
            ("exec", "x"),
            ("install", "i"),
            ("link", "ln"),
            ("list", "ls la ll"),
            ("rebuild", "rb"),
            ("remove", "rm uninstall un uni"),
            ("run", "run-script"),
            ("test", "t tst"),
            ("update", "up upgrade"),
        ],
    ),
    ("bun", &[("add", "a"), ("install", "i"), ("remove", "rm"), ("create", "c")]),
    (
        "cargo",
        &[
            ("build", "b"),
            ("check", "c"),
            ("doc", "d"),
            ("run", "r"),
            ("remove", "rm"),
            ("test", "t"),
        ],
    ),
    ("helm", &[("uninstall", "un del delete"), ("list", "ls"), ("dependency", "dep dependencies")]),
    ("svn", &[("commit", "ci"), ("checkout", "co"), ("delete", "del remove rm"), ("switch", "sw")]),
];

/// Whether a program accepts a word as this subcommand, and how certain that is.
pub(super) fn match_alias(program: &str, word: &str, subcommand: &str) -> Option<MatchCertainty> {
    let known = SUBCOMMAND_ALIASES
        .iter()
        .find(|(name, _)| *name == program)
        .map_or(&[][..], |(_, rows)| rows);
    let names = |row: &(&str, &str), name: &str| {
        row.0 == name || row.1.split(' ').any(|other| other == name)
    };
    if known.iter().any(|row| names(row, subcommand) && names(row, word)) {
        return Some(MatchCertainty::Certain);
    }
    // npm accepts every prefix that only one of its commands has.
    let begins = program == "npm" && word.len() > 1 && subcommand.starts_with(word);
    begins.then_some(MatchCertainty::Possible)
}

/// Whether a word may abbreviate this long option, which most programs accept.
pub(super) fn may_abbreviate(word: &str, option: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    name.len() > 2 && name.starts_with("--") && option.starts_with(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subcommand_is_known_by_its_other_names_and_npms_by_its_beginning() {
        for (program, word, subcommand, expected) in [
            ("npm", "pub", "publish", Some(MatchCertainty::Possible)),
            ("npm", "p", "publish", None),
            ("npm", "i", "install", Some(MatchCertainty::Certain)),
            ("npm", "i", "add", Some(MatchCertainty::Certain)),
            ("npm", "install", "publish", None),
            ("cargo", "r", "run", Some(MatchCertainty::Certain)),
            ("cargo", "publ", "publish", None),
            ("git", "pus", "push", None),
        ] {
            assert_eq!(match_alias(program, word, subcommand), expected, "{program} {word}");
        }
        assert!(may_abbreviate("--forc", "--force") && may_abbreviate("--fo=x", "--force"));
        assert!(!may_abbreviate("--", "--force") && !may_abbreviate("--forced", "--force"));
    }
}
