//! What of a project an asker may look into, path by path.
//!
//! Whoever searches or lists a folder names the folder only. The rules about
//! what lies in it are handed, as far as they concern the asker, to whoever
//! looks, which leaves out what could not have been read by its own name.

use std::collections::BTreeMap;

use provost_proto::ProjectMode;
use provost_proto::kernel::VisibilityRule;

use super::evaluate::{Asker, READ};
use super::matching::{Force, Matched, Setting, Subject, Target};
use super::rule::{Rule, Select, Written};
use super::rules::Rules;
use super::{Layer, Policy, Trust, Verdict};
use crate::action::{Action, FileAction, ListFiles, SearchFiles};

/// A rule that was handed over and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{0}`, which limits what may be looked into, cannot be read")]
pub struct BadLimit(String);

/// What may be looked into.
#[derive(Debug, Clone)]
pub struct Sight {
    rules: Rules,
}

impl Rules {
    /// The rules about paths that say what of a folder this asker may look into by
    /// this action: none, if nothing is limited.
    ///
    /// What asks for the path that the action names was asked, or else it would
    /// not be carried out. So it is no limit any more.
    pub fn limits(&self, asker: Asker<'_>, action: &Action) -> Vec<VisibilityRule> {
        let Action::File(
            FileAction::SearchFiles(SearchFiles { path, .. })
            | FileAction::ListFiles(ListFiles { path, .. }),
        ) = action
        else {
            return Vec::new();
        };
        let named = self.at(asker, action, path).hits;
        let skill = action.name();
        let Asker { role, mode, project } = asker;
        let (target, at) = (Target::Path(path.as_str()), Setting { project, ..Setting::default() });
        let here = Subject { skill, role, mode, target, at };
        let counts = |hit: &super::Hit<'_>| {
            let skills = hit.rule.skills();
            hit.force == Force::Effective
                && (skills.has(READ) || skills.has(skill))
                && hit.rule.is_about(asker.role, asker.mode)
                && hit.rule.is_in(&here)
                && !matches!(hit.rule.select, Select::Command { .. })
                && !(hit.rule.effect() == Verdict::Ask && named.contains(hit))
        };
        let limits: Vec<_> = self.iter().filter(counts).collect();
        if limits.iter().all(|hit| hit.rule.effect() == Verdict::Allow) {
            return Vec::new();
        }
        limits.iter().map(|hit| hit.rule.limit(hit.layer)).collect()
    }
}

impl Rule {
    fn limit(&self, layer: Layer) -> VisibilityRule {
        let list = |key| self.written.lists.get(key).cloned().unwrap_or_default();
        VisibilityRule {
            id: self.id().to_owned(),
            layer: crate::decide::layer_name(layer).to_owned(),
            effect: self.effect().as_str().to_owned(),
            path: list("path"),
            except: list("except"),
        }
    }

    fn of_limit(limit: &VisibilityRule) -> Result<(Layer, Self), BadLimit> {
        let bad = || BadLimit(limit.id.clone());
        let layers = [Layer::Builtin, Layer::User, Layer::Project];
        let named = |layer: &Layer| crate::decide::layer_name(*layer) == limit.layer;
        let layer = layers.into_iter().find(named).ok_or_else(bad)?;
        let effects = [Verdict::Allow, Verdict::Ask, Verdict::Deny];
        let effect = effects.into_iter().find(|effect| effect.as_str() == limit.effect);
        let lists = [("path", &limit.path), ("except", &limit.except)];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let mut lists: BTreeMap<_, _> = lists.map(|(key, list)| (key, list.clone())).collect();
        lists.insert("on", vec![READ.to_owned()]);
        let written = Written {
            id: limit.id.clone(),
            effect: Some(effect.ok_or_else(bad)?),
            lists,
            ..Written::default()
        };
        Ok((layer, Self::new(written).map_err(|_| bad())?))
    }
}

impl Sight {
    /// Reads the rules that were handed over. Fails if one cannot be read, since
    /// then nobody knows what is to be left out.
    pub fn new(limits: &[VisibilityRule]) -> Result<Self, BadLimit> {
        let mut layers = [Layer::Builtin, Layer::User, Layer::Project].map(Policy::empty);
        for limit in limits {
            let (layer, rule) = Rule::of_limit(limit)?;
            layers.iter_mut().filter(|of| of.layer == layer).for_each(|of| {
                of.rules.push(rule.clone());
            });
        }
        let [builtin, user, project] = layers;
        Ok(Self { rules: Rules::new(builtin, user, Some((project, Trust::Trusted))) })
    }

    /// What the rules say of a path inside the project; nothing if none is about it.
    pub fn at(&self, path: &str) -> Matched<'_> {
        let target = Target::Path(path);
        // Whose rules these are was decided when they were handed over.
        let (mode, at) = (ProjectMode::Sandbox, Setting::default());
        let subject = Subject { skill: READ, role: None, mode, target, at };
        self.rules.matching(&subject)
    }
}
