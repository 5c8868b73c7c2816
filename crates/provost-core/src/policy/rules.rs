//! The rules of all layers together, arranged so that few are looked at.

use std::collections::HashMap;

use super::index::Index;
use provost_proto::ProjectMode;

use super::matching::{Certainty, Force, Hit, Matched, Subject, Target, reach};
use super::rule::Rule;
use super::{Layer, Policy, Trust, Verdict};
use crate::skill;

/// The rules of all layers.
#[derive(Debug, Clone)]
pub struct Rules {
    entries: Vec<Entry>,
    skills: HashMap<&'static str, Index>,
}

#[derive(Debug, Clone)]
struct Entry {
    layer: Layer,
    force: Force,
    rule: Rule,
}

impl Rules {
    /// Puts the layers together.
    pub fn new(builtin: Policy, user: Policy, project: Option<(Policy, Trust)>) -> Self {
        let trusted = [(builtin, Trust::Trusted), (user, Trust::Trusted)];
        let mut entries = Vec::new();
        for (policy, trust) in trusted.into_iter().chain(project) {
            let layer = policy.layer;
            entries.extend(policy.rules.into_iter().map(|rule| {
                let force = match (trust, rule.effect()) {
                    (Trust::Untrusted, Verdict::Allow) => Force::Untrusted,
                    (Trust::Untrusted, Verdict::Ask | Verdict::Deny) | (Trust::Trusted, _) => {
                        Force::Effective
                    }
                };
                Entry { layer, force, rule }
            }));
        }
        let mut skills = HashMap::new();
        for skill in skill::known() {
            let on = entries.iter().enumerate().filter(|(_, entry)| entry.rule.skills().has(skill));
            let mut index = Index::default();
            on.for_each(|(place, entry)| index.add(place, &entry.rule));
            skills.insert(skill, index);
        }
        Self { entries, skills }
    }

    /// Every rule that matches.
    pub fn matching(&self, subject: &Subject<'_>) -> Matched<'_> {
        let mut hits = Vec::new();
        self.matching_into(subject, &mut hits);
        self.matched(hits)
    }

    /// Every rule, in order, with whose it is and whether it counts.
    pub fn iter(&self) -> impl Iterator<Item = Hit<'_>> {
        self.entries.iter().map(|entry| entry.hit(Certainty::Sure))
    }

    pub(super) fn matched(&self, mut places: Vec<(usize, Certainty)>) -> Matched<'_> {
        places.sort_unstable();
        places.dedup_by_key(|(place, _)| *place);
        let hit = |(place, certainty): &(usize, Certainty)| self.entries[*place].hit(*certainty);
        Matched { hits: places.iter().map(hit).collect() }
    }

    pub(super) fn matching_into(&self, subject: &Subject<'_>, hits: &mut Vec<(usize, Certainty)>) {
        let Some(index) = self.skills.get(subject.skill) else { return };
        index.each(subject.target, reach(subject.skill), |places| {
            let about = |place: &usize| {
                let entry = &self.entries[*place];
                let certainty = entry.rule.matches(subject)?;
                // The built-in rules about paths look at names that are written out, at
                // least in part: else every `cat src/*` would ask.
                let builtin = entry.layer == Layer::Builtin && certainty == Certainty::Possible;
                let vague = match subject.target {
                    Target::Loose(path) => builtin && !entry.rule.is_told_by(path),
                    Target::Path(_)
                    | Target::Outside(_)
                    | Target::Run(_)
                    | Target::Opaque
                    | Target::Nothing => false,
                };
                (!vague).then_some((*place, certainty))
            };
            hits.extend(places.iter().filter_map(about));
        });
    }

    /// Whether any rule that denies commands is narrowed, so that it cannot be
    /// seen whether it is about one that cannot be read.
    pub fn denies_some_commands(&self, role: Option<&str>, mode: ProjectMode) -> bool {
        self.entries.iter().any(|entry| {
            entry.rule.effect() == Verdict::Deny && entry.rule.is_narrowed_for(role, mode)
        })
    }

    /// Whether a rule that denies or asks about commands names this program.
    pub fn names(&self, program: &str, role: Option<&str>, mode: ProjectMode) -> bool {
        self.entries.iter().any(|entry| {
            entry.rule.effect() > Verdict::Allow
                && entry.rule.is_narrowed_for(role, mode)
                && entry.rule.names(program)
        })
    }
}

impl Entry {
    fn hit(&self, certainty: Certainty) -> Hit<'_> {
        Hit { layer: self.layer, rule: &self.rule, force: self.force, certainty }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Run;
    use crate::policy::Setting;
    use proptest::prelude::*;
    use proptest::sample::select;

    const PATTERNS: &[&str] =
        &["a/**", "**/b", "*", "**", "a/b", "{a,c}/*.b", "**/a/**", "?", "a/*/c", "*.b", "c/{a,b}"];

    const PATHS: &[&str] =
        &[".", "a", "b", "a/b", "a/b/c", "c/x.b", "x.b", "c", "c/a/b", "/a/b", "../b", "a/c"];

    fn rule() -> impl Strategy<Value = String> {
        let command = select(vec![
            "argv = ['git', '**']",
            "argv = [['git', 'ls'], 'a']",
            "argv = ['g*', '**']",
            "argv = ['*']",
            "host = ['h']",
            "",
        ]);
        let about = prop_oneof![
            (select(vec!["fs.*", "*"]), select(PATTERNS))
                .prop_map(|(on, path)| format!("on = ['{on}']\npath = ['{path}']")),
            command.prop_map(|about| format!("on = ['terminal.*']\n{about}")),
        ];
        let effect = select(vec!["allow", "ask", "deny"]);
        (effect, about).prop_map(|(effect, about)| format!("effect = '{effect}'\n{about}\n"))
    }

    proptest! {
        #[test]
        fn the_index_finds_what_looking_at_every_rule_finds(
            rules in prop::collection::vec(rule(), 1..8),
        ) {
            let number = |(n, rule): (usize, &String)| format!("[[rule]]\nid = 'r{n}'\n{rule}");
            let text = rules.iter().enumerate().map(number).collect::<Vec<_>>().concat();
            let policy = Policy::parse(Layer::User, "x", &text).unwrap();
            let rules = Rules::new(Policy::empty(Layer::Builtin), policy, None);
            let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            let runs = ["git", "git a", "/bin/git a", "ls a", "x"].map(|argv| Run {
                argv: words(argv),
                through: words("ls"),
                hosts: words("h"),
                ..Run::default()
            });
            let paths = PATHS.iter().flat_map(|path| [Target::Path(path), Target::Outside(path)]);
            let others = [Target::Opaque, Target::Nothing];
            for target in paths.chain(runs.iter().map(Target::Run)).chain(others) {
                for skill in ["fs.readFile", "fs.deleteFile", "terminal.runCommand"] {
                    let at = Setting::default();
                    let subject = Subject { skill, role: None, mode: ProjectMode::Auto, target, at };
                    let about = |hit: &Hit<'_>| {
                        hit.rule.skills().has(skill) && hit.rule.matches(&subject).is_some()
                    };
                    let expected: Vec<_> = rules.iter().filter(about).collect();
                    prop_assert_eq!(rules.matching(&subject).hits, expected, "{:?}", subject);
                }
            }
        }
    }
}
