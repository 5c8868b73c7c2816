//! Who may hand off a task to whom.
//!
//! A session never gives more than it has: the other one may use only the skills that both have,
//! whatever its role says.

use provost_proto::limits;

use crate::skill::SkillSet;

/// Why a task cannot be handed off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandoffError {
    /// Too many nested handoffs.
    #[error("this task was handed over {0} times already, which is the limit; do it yourself")]
    TooDeep(u8),
    /// There is no such role.
    #[error("there is no role `{name}`; the roles are {known}")]
    NoRole {
        /// The name that was given.
        name: String,
        /// The known roles.
        known: String,
    },
    /// The role is the same.
    #[error("you are `{0}` yourself; do the task, or hand it to another role")]
    SameRole(String),
    /// The roles share no skill.
    #[error("`{0}` has no skill that you have too, and you cannot give what you do not have")]
    NothingShared(String),
}

/// The skills that a task is handed off with.
pub fn shared_skills(own: &[String], other: &SkillSet) -> Vec<String> {
    other.iter().filter(|skill| own.iter().any(|had| had == skill)).map(str::to_owned).collect()
}

/// The session that hands off a task.
#[derive(Debug, Clone, Copy)]
pub struct HandoffGiver<'a> {
    /// Its role.
    pub role: &'a str,
    /// How many sessions are above it.
    pub depth: u8,
    /// The skills that it has.
    pub skills: &'a [String],
}

/// Whether a session may hand off a task to the role `name`, and with which skills.
pub fn check_handoff<'a>(
    giver: HandoffGiver<'_>,
    name: &str,
    roles: impl Iterator<Item = (&'a str, &'a SkillSet)>,
) -> Result<Vec<String>, HandoffError> {
    let HandoffGiver { role, depth, skills: own } = giver;
    if depth >= limits::MAX_HANDOFF_DEPTH {
        return Err(HandoffError::TooDeep(depth));
    }
    if name == role {
        return Err(HandoffError::SameRole(name.to_owned()));
    }
    let mut known = Vec::new();
    for (found, skills) in roles {
        if found == name {
            let shared = shared_skills(own, skills);
            let nothing = || HandoffError::NothingShared(name.to_owned());
            return if shared.is_empty() { Err(nothing()) } else { Ok(shared) };
        }
        known.push(format!("`{found}`"));
    }
    Err(HandoffError::NoRole { name: name.to_owned(), known: known.join(", ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skills(texts: &[&str]) -> SkillSet {
        let mut skills = SkillSet::default();
        for text in texts {
            skills.add(text).unwrap();
        }
        skills
    }

    fn dev(depth: u8, skills: &[String]) -> HandoffGiver<'_> {
        HandoffGiver { role: "dev", depth, skills }
    }

    #[test]
    fn a_task_never_comes_with_more_than_its_giver_has() {
        let own = ["fs.readFile".to_owned(), "fs.writeFile".to_owned()];
        let other = skills(&["fs.read", "terminal.runCommand"]);
        let roles = || [("ops", &other)].into_iter();
        assert_eq!(check_handoff(dev(0, &own), "ops", roles()).unwrap(), ["fs.readFile"]);
        // Further handoffs can only reduce the skills.
        let all = skills(&["fs.*", "terminal.*"]);
        let own = ["fs.readFile".to_owned()];
        let ops = HandoffGiver { role: "ops", depth: 1, skills: &own };
        let next = check_handoff(ops, "all", [("all", &all)].into_iter());
        assert_eq!(next.unwrap(), ["fs.readFile"]);
    }

    #[test]
    fn what_cannot_be_handed_over_says_why() {
        let (own, other) = (["fs.stat".to_owned()], skills(&["pty.read"]));
        let roles = || [("ops", &other)].into_iter();
        let why = |depth, name| check_handoff(dev(depth, &own), name, roles()).unwrap_err();
        assert_eq!(why(3, "ops"), HandoffError::TooDeep(3));
        assert_eq!(why(0, "dev"), HandoffError::SameRole("dev".to_owned()));
        assert_eq!(why(0, "ops"), HandoffError::NothingShared("ops".to_owned()));
        assert_eq!(why(0, "x").to_string(), "there is no role `x`; the roles are `ops`");
    }
}
