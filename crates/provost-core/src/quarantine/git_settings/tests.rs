//! Which settings are harmless, and how a configuration is read.

use super::*;

fn leftovers(before: Option<&str>, after: &str) -> Vec<String> {
    match compare_settings(before.map(str::as_bytes), after.as_bytes(), Some(3)) {
        SettingsChange::Harmless => Vec::new(),
        SettingsChange::Dangerous { names, .. } => names,
        SettingsChange::Unreadable => vec!["unreadable".to_owned()],
    }
}

#[test]
fn what_git_writes_itself_is_harmless() {
    for text in [
        "",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
        "[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        "[remote \"o\"]\n\turl = git@example.com:a/b.git\n[remote \"p\"]\n\turl = /srv/a\n[remote \"q\"]\nurl=../a\n",
        "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        "[submodule \"lib\"]\n\turl = https://example.com/lib\n\tactive = true\n",
        "[core]\n\tworktree = ../../../lib\n",
        "[core]\n\tfsmonitor = false\n",
        "[extensions]\n\tworktreeConfig = true\n[user]\n\tname = A # x\n\temail = a@b\n",
        "; comment\n[CORE] bare\n",
    ] {
        assert!(leftovers(None, text).is_empty(), "{text}: {:?}", leftovers(None, text));
    }
}

#[test]
fn every_other_setting_is_a_leftover_however_it_is_spelled() {
    for (text, name) in [
        ("[core]\nfsmonitor = ./x\n", "core.fsmonitor"),
        ("[core] fsmonitor=./x", "core.fsmonitor"),
        ("[CoRe]\n\tFSMonitor = ./x\n", "core.fsmonitor"),
        ("\u{feff}[core]\nfsmonitor = ./x\n", "core.fsmonitor"),
        ("[core]\nfsmoni\\\ntor = x\n", "unreadable"),
        ("[core]\nhooksPath = hooks\n", "core.hookspath"),
        ("[core]\nworktree = /home/u\n", "core.worktree"),
        ("[core]\nworktree = ..\n", "core.worktree"),
        ("[core]\nworktree = ../../../../lib\n", "core.worktree"),
        ("[core]\nworktree = ../../../.git/x\n", "core.worktree"),
        ("[core]\nworktree = ../../..\n", "core.worktree"),
        ("[include]\npath = ../x\n", "include.path"),
        ("[includeIf \"gitdir:/\"]\npath = ../x\n", "includeif.gitdir:/.path"),
        ("[alias]\nst = !x\n", "alias.st"),
        ("[filter \"a\"]\nclean = x\n", "filter.a.clean"),
        ("[filter.a]\nclean = x\n", "filter.a.clean"),
        ("[diff \"a\"]\ntextconv = x\n", "diff.a.textconv"),
        ("[diff]\nexternal = x\n", "diff.external"),
        ("[remote \"o\"]\nurl = ext::sh -c x\n", "remote.o.url"),
        ("[remote \"o\"]\nurl = \"ext::sh -c x\"\n", "remote.o.url"),
        ("[remote \"o\"]\nurl = foo://x\n", "remote.o.url"),
        ("[remote \"o\"]\nurl = --upload-pack=x\n", "remote.o.url"),
        ("[remote \"o\"]\nuploadpack = x\n", "remote.o.uploadpack"),
        ("[submodule \"a\"]\nupdate = !x\n", "submodule.a.update"),
        ("[credential]\nhelper = x\n", "credential.helper"),
        ("[url \"a\"]\ninsteadOf = b\n", "url.a.insteadof"),
        ("[gpg]\nprogram = x\n", "gpg.program"),
        ("[core]\npager = x\neditor = y\n", "core.pager"),
        ("[a.b \"c\"]\nd = e\n", "unreadable"),
        ("not a config", "unreadable"),
        ("[core\nfsmonitor = x\n", "unreadable"),
    ] {
        let found = leftovers(None, text);
        assert_eq!(found.first().map(String::as_str), Some(name), "{text}: {found:?}");
    }
}

#[test]
fn a_setting_that_was_there_before_stays_and_only_the_new_ones_go() {
    let before = "[core]\n\tbare = false\n\thooksPath = .husky\n";
    assert!(leftovers(Some(before), before).is_empty());
    let after = "# mine\n[core]\n\tbare = false\n\thooksPath = .husky\n\tpager = ./x \\\n  more\n[remote \"o\"]\n\turl = https://a/b\n\tvcs = x\n[alias] a = b\n";
    let change = compare_settings(Some(before.as_bytes()), after.as_bytes(), None);
    let SettingsChange::Dangerous { names, kept } = change else { panic!("{change:?}") };
    assert_eq!(names, ["core.pager", "remote.o.vcs", "alias.a"]);
    let kept = String::from_utf8(kept).unwrap();
    assert!(kept.starts_with("# mine\n[core]\n\tbare = false\n\thooksPath = .husky\n"), "{kept}");
    assert!(leftovers(Some(before), &kept).is_empty(), "{kept}");
    assert!(kept.contains("url = https://a/b"), "{kept}");
    // Another value of the same name is new.
    assert_eq!(leftovers(Some(before), &before.replace(".husky", "x")), ["core.hookspath"]);
}

#[test]
fn the_text_is_read_as_git_reads_it() {
    let text = b"[a \"b\\\"c\"]\n\tk = \"x # y\" z ; c\n\tl = a\\tb\n\tm\n";
    let settings = parse_settings(text).unwrap();
    let all: Vec<_> = settings.iter().map(|s| (s.full_name(), s.value.clone())).collect();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        all,
        [pair("a.b\"c.k", "x # y z"), pair("a.b\"c.l", "a\tb"), pair("a.b\"c.m", "true")]
    );
}

#[test]
fn where_a_known_remote_or_branch_pushes_to_is_not_changed() {
    let before = "[remote \"o\"]\n\turl = https://a/x\n[branch \"main\"]\n\tremote = o\n\
                  \tmerge = refs/heads/main\n[commit]\n\tgpgsign = true\n";
    let with = |more: &str| leftovers(Some(before), &format!("{before}{more}"));
    for (more, name) in [
        ("[remote \"o\"]\n\turl = https://b/x\n", "remote.o.url"),
        ("[remote \"o\"]\n\tpushurl = https://b/x\n", "remote.o.pushurl"),
        ("[remote]\n\tpushDefault = p\n", "remote.pushdefault"),
        ("[branch \"main\"]\n\tremote = p\n", "branch.main.remote"),
        ("[branch \"main\"]\n\tpushRemote = p\n", "branch.main.pushremote"),
        ("[commit]\n\tgpgsign = false\n", "commit.gpgsign"),
        ("[remote \"o\"]\n\tpush = +refs/*:refs/*\n", "remote.o.push"),
        ("[remote \"o\"]\n\tpromisor = true\n", "remote.o.promisor"),
        ("[branch \"main\"]\n\tmerge = refs/heads/x\n", "branch.main.merge"),
        ("[push]\n\tdefault = matching\n", "push.default"),
    ] {
        assert_eq!(with(more), [name], "{more}");
    }
    // Removed, and then perhaps added again with another address.
    let without = |part: &str| leftovers(Some(before), &before.replace(part, ""));
    assert_eq!(without("\turl = https://a/x\n"), ["remote.o.url"]);
    assert_eq!(without("\tgpgsign = true\n"), ["commit.gpgsign"]);
    let changed = before.replace("//a/", "//b/");
    assert_eq!(leftovers(Some(before), &changed), ["remote.o.url"]);
    assert_eq!(leftovers(None, "[remote \"p\"]\n\turl = .git/lfs/e\n"), ["remote.p.url"]);
    assert_eq!(leftovers(None, "[commit]\n\tgpgsign = false\n"), ["commit.gpgsign"]);
    for more in [
        "[remote \"p\"]\n\turl = https://b/x\n\tpushurl = https://c/x\n",
        "[branch \"new\"]\n\tremote = o\n\tmerge = refs/heads/new\n",
        "[branch \"main\"]\n\tdescription = x\n",
        "[user]\n\tname = x\n",
    ] {
        assert_eq!(with(more), [""; 0], "{more}");
    }
}
