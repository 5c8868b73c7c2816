//! An index of the rules on one skill, so that a query compares few of them.

use std::collections::HashMap;

use super::argv_pattern::ArgvPattern;
use super::path_selector::{PathReach, PathSelector};
use super::rule::{PolicyRule, RuleSelector};
use super::rule_query::RuleTarget;
use crate::command::{CommandInvocation, program_basename};
use crate::glob::{PathPattern, PatternHint};

/// The rules on one skill, by what they are limited to. A rule is stored as its number, and may
/// be in several lists.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleIndex {
    all: Vec<usize>,
    /// By program name, for rules that name one.
    programs: HashMap<String, Vec<usize>>,
    /// The other rules about commands.
    commands: Vec<usize>,
    /// All rules about paths.
    paths: Vec<usize>,
    /// Rules about paths by the folder that their pattern begins with.
    folders: HashMap<String, Vec<usize>>,
    /// The others by the file name.
    names: HashMap<String, Vec<usize>>,
    /// The others by the file extension.
    extensions: HashMap<String, Vec<usize>>,
    /// All other rules about paths.
    anywhere: Vec<usize>,
}

impl RuleIndex {
    /// Adds a rule by its number.
    pub(super) fn add(&mut self, number: usize, rule: &PolicyRule) {
        match &rule.select {
            RuleSelector::All | RuleSelector::ExactLines(_) => self.all.push(number),
            RuleSelector::Paths(paths) => self.add_paths(number, paths),
            RuleSelector::Command { argv, .. } => {
                match argv.as_ref().and_then(ArgvPattern::exact_programs) {
                    None => self.commands.push(number),
                    Some(programs) => {
                        for program in programs {
                            self.programs.entry(program.to_owned()).or_default().push(number);
                        }
                    }
                }
            }
        }
    }

    fn add_paths(&mut self, number: usize, paths: &PathSelector) {
        self.paths.push(number);
        for hint in paths.path.iter().flat_map(PathPattern::hints) {
            let list = match hint {
                PatternHint::Folder(folder) => self.folders.entry(folder.to_owned()).or_default(),
                PatternHint::Name(name) => self.names.entry(name.to_owned()).or_default(),
                PatternHint::Extension(after) => {
                    self.extensions.entry(after.to_owned()).or_default()
                }
                PatternHint::None => &mut self.anywhere,
            };
            if list.last() != Some(&number) {
                list.push(number);
            }
        }
    }

    /// Calls `visit` with every list of rules that may match the target.
    pub(super) fn visit_candidates(
        &self,
        target: RuleTarget<'_>,
        reach: PathReach,
        mut visit: impl FnMut(&[usize]),
    ) {
        visit(&self.all);
        match target {
            RuleTarget::Path(path) if reach == PathReach::Itself => {
                self.visit_path_candidates(path, visit);
            }
            // A folder that is moved or deleted with everything below it can contain what any
            // pattern names.
            RuleTarget::Path(_) | RuleTarget::OutsidePath(_) | RuleTarget::UnresolvedPath(_) => {
                visit(&self.paths);
            }
            RuleTarget::Run(run) => {
                visit(&self.commands);
                // Each name once: a line may repeat a name thousands of times.
                let mut names: Vec<&str> = candidate_program_names(run).collect();
                names.sort_unstable();
                names.dedup();
                let found = names.into_iter().filter_map(|name| self.programs.get(name));
                found.for_each(|list| visit(list));
            }
            RuleTarget::Opaque | RuleTarget::Nothing => {}
        }
    }

    fn visit_path_candidates(&self, path: &str, mut visit: impl FnMut(&[usize])) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = path.rsplit('.').next().unwrap_or(path);
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        let folders = ends.filter_map(|end| self.folders.get(&path[..end]));
        folders.for_each(|list| visit(list));
        self.names.get(name).into_iter().for_each(|list| visit(list));
        self.extensions.get(extension).into_iter().for_each(|list| visit(list));
        visit(&self.anywhere);
    }
}

/// The names that a rule may have for a command: as written, without the folder, those of its
/// wrappers, and those embedded in its words.
fn candidate_program_names(run: &CommandInvocation) -> impl Iterator<Item = &str> {
    let program = run.argv.first().map_or("", String::as_str);
    let based = Some(program_basename(program)).filter(|base| *base != program);
    let words = run.carried.starts.iter().filter_map(|at| run.argv.get(*at));
    let words = words.chain(run.carried.texts.iter().filter_map(|text| text.argv.first()));
    let own = std::iter::once(program).chain(based);
    own.chain(run.through.iter().map(String::as_str))
        .chain(words.map(|word| program_basename(word)))
}
