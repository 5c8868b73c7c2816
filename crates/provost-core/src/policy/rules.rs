//! The rules of all layers together, arranged so that few are looked at.

use std::collections::HashMap;

use super::argv::{Argv, base};
use super::matching::{Force, Hit, Matched, Subject, Target};
use super::rule::{Rule, Select};
use super::{Layer, Policy, Trust, Verdict};
use crate::command::Run;
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

/// The rules on one skill, by what they are narrowed to. Numbers are places in
/// [`Rules::entries`], in order.
#[derive(Debug, Clone, Default)]
struct Index {
    all: Vec<usize>,
    paths: Vec<usize>,
    /// By the program's name, where a rule names one.
    programs: HashMap<String, Vec<usize>>,
    /// The other rules about commands.
    commands: Vec<usize>,
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
        hits.sort_unstable();
        hits.dedup();
        self.matched(&hits)
    }

    /// Every rule, in order, with whose it is and whether it counts.
    pub fn iter(&self) -> impl Iterator<Item = Hit<'_>> {
        self.entries.iter().map(Entry::hit)
    }

    pub(super) fn matched(&self, places: &[usize]) -> Matched<'_> {
        Matched { hits: places.iter().map(|place| self.entries[*place].hit()).collect() }
    }

    pub(super) fn matching_into(&self, subject: &Subject<'_>, hits: &mut Vec<usize>) {
        let Some(index) = self.skills.get(subject.skill) else { return };
        let mut look = |places: &[usize]| {
            let about = |place: &&usize| self.entries[**place].rule.matches(subject);
            hits.extend(places.iter().filter(about));
        };
        look(&index.all);
        match subject.target {
            Target::Path(_) | Target::Outside(_) => look(&index.paths),
            Target::Run(run) => {
                look(&index.commands);
                for name in names(run) {
                    if let Some(places) = index.programs.get(name) {
                        look(places);
                    }
                }
            }
            Target::Opaque | Target::Nothing => {}
        }
    }
}

impl Entry {
    fn hit(&self) -> Hit<'_> {
        Hit { layer: self.layer, rule: &self.rule, force: self.force }
    }
}

impl Index {
    fn add(&mut self, place: usize, rule: &Rule) {
        let programs = match &rule.select {
            Select::All => return self.all.push(place),
            Select::Paths(_) => return self.paths.push(place),
            Select::Command { argv, .. } => argv.as_ref().and_then(Argv::programs),
        };
        let Some(programs) = programs else { return self.commands.push(place) };
        for program in programs {
            self.programs.entry(program.to_owned()).or_default().push(place);
        }
    }
}

/// The names under which a command may be meant: as written, without its
/// folder, and those of its wrappers.
fn names(run: &Run) -> impl Iterator<Item = &str> {
    let program = run.argv.first().map_or("", String::as_str);
    let base = Some(base(program)).filter(|base| *base != program);
    std::iter::once(program).chain(base).chain(run.through.iter().map(String::as_str))
}
