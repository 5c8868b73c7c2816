//! Where symbolic links lead the paths of a command: its effects apply to the targets too.
//!
//! The decision is about the links as they are now. If one is swapped before the command uses it,
//! only the sandbox protects its target.

use super::bound_action::BoundAction;
use crate::command::{CommandAnalysis, CommandEffect, OpaquePart, OpaqueReason, Uncertainty};

/// The most paths of a command whose links are resolved.
const MAX_FOLLOWED_PATHS: usize = 512;

/// Placeholder for a path whose links were not resolved.
const UNRESOLVED_PATH: &str = "$link";

/// A path of a command and the target that links lead it to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedLink {
    /// As the command names it, relative to where the line starts.
    pub path: String,
    /// Relative to the project, which is `.`; absolute if it is outside.
    pub place: String,
}

impl BoundAction {
    /// The paths that a command reads or writes, as far as they are literal.
    pub fn named_paths(&self) -> Vec<String> {
        let stems = self
            .command_effects()
            .iter()
            .flat_map(effect_paths)
            .map(|path| split_literal_prefix(path).0.to_owned());
        let mut stems: Vec<String> = stems.filter(|stem| !stem.is_empty()).collect();
        stems.sort();
        stems.dedup();
        // One more, so that the limit is detected.
        stems.truncate(MAX_FOLLOWED_PATHS + 1);
        stems
    }

    /// Adds the link targets of the [`named_paths`](Self::named_paths).
    #[must_use]
    pub fn with_resolved_links(mut self, links: &[ResolvedLink]) -> Self {
        let too_many = self.named_paths().len() > MAX_FOLLOWED_PATHS;
        let up = "../".repeat(self.cwd().components().count());
        let Some(Ok(analysis)) = &mut self.line else { return self };
        let from_here = |ResolvedLink { path, place }: &ResolvedLink| {
            let up = if place.starts_with('/') { "" } else { &up };
            ResolvedLink { path: path.clone(), place: format!("{up}{place}") }
        };
        self.links = links.iter().map(from_here).collect();
        let found = |path: &String| {
            let (stem, rest) = split_literal_prefix(path);
            let link = self.links.iter().find(|link| link.path == stem)?;
            Some(format!("{}{rest}", link.place))
        };
        add_link_targets(analysis, found);
        if too_many {
            let text = UNRESOLVED_PATH.to_owned();
            analysis.opaque.push(OpaquePart {
                why: OpaqueReason::Expansion,
                text,
                uncertainty: Uncertainty::Arguments,
            });
            add_link_targets(analysis, |_| Some(UNRESOLVED_PATH.to_owned()));
        }
        self
    }
}

/// The path of an effect.
fn effect_paths(effect: &CommandEffect) -> &[String] {
    match effect {
        CommandEffect::Write { path, .. }
        | CommandEffect::Read { path }
        | CommandEffect::ReadOperand { path } => std::slice::from_ref(path),
        CommandEffect::Run(run) => &run.named,
    }
}

/// Repeats each effect for the link target of its path.
fn add_link_targets(analysis: &mut CommandAnalysis, found: impl Fn(&String) -> Option<String>) {
    let mut more: Vec<CommandEffect> = Vec::new();
    for effect in &mut analysis.effects {
        let target = match effect {
            CommandEffect::Write { path, deletes } => {
                let deletes = *deletes;
                found(path).map(|path| CommandEffect::Write { path, deletes })
            }
            CommandEffect::Read { path } => found(path).map(|path| CommandEffect::Read { path }),
            CommandEffect::ReadOperand { path } => {
                found(path).map(|path| CommandEffect::ReadOperand { path })
            }
            CommandEffect::Run(run) => {
                let targets: Vec<String> = run.named.iter().filter_map(&found).collect();
                run.named.extend(targets);
                None
            }
        };
        more.extend(target.filter(|target| !more.contains(target)));
    }
    analysis.effects.extend(more);
}

/// Splits a path before the first name with a glob or an unknown part.
fn split_literal_prefix(path: &str) -> (&str, &str) {
    let loose = path.find(['$', '`', '*', '?', '[', '{']).map(|at| &path[..at]);
    let stem = match loose {
        None => path,
        Some(before) => before.rfind('/').map_or("", |at| &path[..at]),
    };
    // Such a path begins with a home folder, or with the output of another command.
    let stem = if path.starts_with(['~', '<', '>']) { "" } else { stem };
    let stem = stem.trim_end_matches('/');
    (stem, &path[stem.len()..])
}
