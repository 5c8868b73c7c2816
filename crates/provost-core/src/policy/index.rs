//! The rules on one skill, arranged so that for a request few are looked at.

use std::collections::HashMap;

use super::argv::Argv;
use super::matching::Target;
use super::place::{Paths, Reach};
use super::rule::{Rule, Select};
use crate::command::{Run, base};
use crate::glob::{Hint, Path};

/// The rules on one skill, by what they are narrowed to. A rule is a number, and
/// may be found in several ways.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    all: Vec<usize>,
    /// By the program's name, where a rule names one.
    programs: HashMap<String, Vec<usize>>,
    /// The other rules about commands.
    commands: Vec<usize>,
    /// Every rule about paths.
    paths: Vec<usize>,
    /// Of these by the folder that a pattern begins with.
    folders: HashMap<String, Vec<usize>>,
    /// Of the others by the last name of the path.
    names: HashMap<String, Vec<usize>>,
    /// Of the others by what follows the last dot.
    extensions: HashMap<String, Vec<usize>>,
    /// Of these all others.
    anywhere: Vec<usize>,
}

impl Index {
    /// Adds a rule by its number.
    pub(super) fn add(&mut self, number: usize, rule: &Rule) {
        match &rule.select {
            Select::All | Select::Lines(_) => self.all.push(number),
            Select::Paths(paths) => self.add_paths(number, paths),
            Select::Command { argv, .. } => match argv.as_ref().and_then(Argv::programs) {
                None => self.commands.push(number),
                Some(programs) => {
                    for program in programs {
                        self.programs.entry(program.to_owned()).or_default().push(number);
                    }
                }
            },
        }
    }

    fn add_paths(&mut self, number: usize, paths: &Paths) {
        self.paths.push(number);
        for hint in paths.path.iter().flat_map(Path::hints) {
            let list = match hint {
                Hint::Folder(folder) => self.folders.entry(folder.to_owned()).or_default(),
                Hint::Name(name) => self.names.entry(name.to_owned()).or_default(),
                Hint::Extension(after) => self.extensions.entry(after.to_owned()).or_default(),
                Hint::None => &mut self.anywhere,
            };
            if list.last() != Some(&number) {
                list.push(number);
            }
        }
    }

    /// Hands out every list with rules that may be about the target.
    pub(super) fn each(&self, target: Target<'_>, reach: Reach, mut look: impl FnMut(&[usize])) {
        look(&self.all);
        match target {
            Target::Path(path) if reach == Reach::Itself => self.each_path(path, look),
            // A folder that goes with all beneath it can hold what any pattern names.
            Target::Path(_) | Target::Outside(_) | Target::Loose(_) => look(&self.paths),
            Target::Run(run) => {
                look(&self.commands);
                let found = names(run).filter_map(|name| self.programs.get(name));
                found.for_each(|list| look(list));
            }
            Target::Opaque | Target::Nothing => {}
        }
    }

    fn each_path(&self, path: &str, mut look: impl FnMut(&[usize])) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = path.rsplit('.').next().unwrap_or(path);
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        let folders = ends.filter_map(|end| self.folders.get(&path[..end]));
        folders.for_each(|list| look(list));
        self.names.get(name).into_iter().for_each(|list| look(list));
        self.extensions.get(extension).into_iter().for_each(|list| look(list));
        look(&self.anywhere);
    }
}

/// The names under which a command may be meant: as written, without its
/// folder, those of its wrappers, and those that its words may be.
fn names(run: &Run) -> impl Iterator<Item = &str> {
    let program = run.argv.first().map_or("", String::as_str);
    let based = Some(base(program)).filter(|base| *base != program);
    let words = run.carried.starts.iter().filter_map(|at| run.argv.get(*at));
    let words = words.chain(run.carried.texts.iter().filter_map(|text| text.argv.first()));
    let own = std::iter::once(program).chain(based);
    own.chain(run.through.iter().map(String::as_str)).chain(words.map(|word| base(word)))
}
