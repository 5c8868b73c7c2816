//! Where links lead what a command names: it demands there what it demands by the name.
//!
//! The decision is about the links as they are now. Whoever swaps one before the command
//! comes to it meets the sandbox only.

use super::matter::Matter;
use crate::command::{Analysis, Demand, Extent, Opaque, Why};

/// The most paths of a command that are followed.
const FOLLOWED: usize = 512;

/// What stands for a place that nobody looked up.
const ANYWHERE: &str = "$link";

/// A path that a command names, and the place where links lead it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lead {
    /// As the command names it, from where its line starts.
    pub path: String,
    /// From the project, which is `.`; absolute, if it is outside.
    pub place: String,
}

impl Matter {
    /// The paths that a command reads or writes, as far as they are written out.
    pub fn named(&self) -> Vec<String> {
        let stems = self.demands().iter().flat_map(paths).map(|path| split(path).0.to_owned());
        let mut stems: Vec<String> = stems.filter(|stem| !stem.is_empty()).collect();
        stems.sort();
        stems.dedup();
        // One more, so that it can be told that these are too many.
        stems.truncate(FOLLOWED + 1);
        stems
    }

    /// The same, knowing where links lead what is [`named`](Self::named).
    #[must_use]
    pub fn led(mut self, leads: &[Lead]) -> Self {
        let too_many = self.named().len() > FOLLOWED;
        let up = "../".repeat(self.cwd().components().count());
        let Some(Ok(analysis)) = &mut self.line else { return self };
        let from_here = |Lead { path, place }: &Lead| {
            let up = if place.starts_with('/') { "" } else { &up };
            Lead { path: path.clone(), place: format!("{up}{place}") }
        };
        self.leads = leads.iter().map(from_here).collect();
        let found = |path: &String| {
            let (stem, rest) = split(path);
            let lead = self.leads.iter().find(|lead| lead.path == stem)?;
            Some(format!("{}{rest}", lead.place))
        };
        follow(analysis, found);
        if too_many {
            let text = ANYWHERE.to_owned();
            analysis.opaque.push(Opaque { why: Why::Expansion, text, extent: Extent::Words });
            follow(analysis, |_| Some(ANYWHERE.to_owned()));
        }
        self
    }
}

/// The paths of a demand.
fn paths(demand: &Demand) -> &[String] {
    match demand {
        Demand::Write { path } | Demand::Read { path } | Demand::Operand { path } => {
            std::slice::from_ref(path)
        }
        Demand::Run(run) => &run.named,
    }
}

/// Demands the same of the places that are found for the paths of a line.
fn follow(analysis: &mut Analysis, found: impl Fn(&String) -> Option<String>) {
    let mut more: Vec<Demand> = Vec::new();
    for demand in &mut analysis.demands {
        let place = match demand {
            Demand::Write { path } => found(path).map(|path| Demand::Write { path }),
            Demand::Read { path } => found(path).map(|path| Demand::Read { path }),
            Demand::Operand { path } => found(path).map(|path| Demand::Operand { path }),
            Demand::Run(run) => {
                let places: Vec<String> = run.named.iter().filter_map(&found).collect();
                run.named.extend(places);
                None
            }
        };
        more.extend(place.filter(|place| !more.contains(place)));
    }
    analysis.demands.extend(more);
}

/// What is written out of a path, and the rest, from the first name with a glob or with
/// what is not known.
fn split(path: &str) -> (&str, &str) {
    let loose = path.find(['$', '`', '*', '?', '[', '{']).map(|at| &path[..at]);
    let stem = match loose {
        None => path,
        Some(before) => before.rfind('/').map_or("", |at| &path[..at]),
    };
    // What begins like this is a home, or what another command prints.
    let stem = if path.starts_with(['~', '<', '>']) { "" } else { stem };
    let stem = stem.trim_end_matches('/');
    (stem, &path[stem.len()..])
}
