//! Sequences of requests and answers: in any order, something runs only if an operator's answer,
//! rule or mode allows it.
//!
//! The model has the state of the gateway: rules, grants, the mode, and pending approvals, each
//! resolved once. It computes the expected decisions from the steps alone.

use super::*;
use proptest::prelude::*;
use proptest::sample::select;
use provost_core::decide::{Approver, UnapprovedAction};
use provost_proto::{Approval, ApprovalStatus};

/// The requests of agents: the line, and the program that it runs.
const LINES: &[(&str, &str)] = &[
    ("ls", "ls"),
    ("make", "make"),
    ("git push", "git"),
    ("git -C . push", "git"),
    ("eval git push", "git"),
    ("x=push; git $x", "git"),
    ("g=git; $g push", "git"),
    ("echo push | xargs git", "git"),
    ("sudo ls", "sudo"),
    ("echo x > .git/config", "echo"),
];

const AGENTS: [&str; 2] = ["token:a", "token:b"];

#[derive(Debug, Clone)]
enum Step {
    /// An agent requests an action.
    Ask { agent: usize, line: usize },
    /// Someone answers an approval: an operator, or an agent who may not.
    Answer { question: usize, yes: bool, scope: Scope, by: usize },
    /// An operator sets the mode.
    Mode(ProjectMode),
    /// An operator adds a rule about a program.
    Rule(&'static str, &'static str),
    /// An operator revokes all grants.
    Revoke,
    /// The requester replaces the line of a pending approval.
    Swap { question: usize, line: usize },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Scope {
    Once,
    Session,
}

fn any_step() -> impl Strategy<Value = Step> {
    let line = 0..LINES.len();
    let program = select(vec!["git", "ls", "make", "sudo"]);
    prop_oneof![
        6 => (0..2_usize, line.clone()).prop_map(|(agent, line)| Step::Ask { agent, line }),
        4 => (0..6_usize, any::<bool>(), select(vec![Scope::Once, Scope::Session]), 0..4_usize)
            .prop_map(|(question, yes, scope, by)| Step::Answer { question, yes, scope, by }),
        1 => select(vec![ProjectMode::Sandbox, ProjectMode::Auto, ProjectMode::Full]).prop_map(Step::Mode),
        1 => (select(vec!["allow", "ask", "deny"]), program).prop_map(|(e, p)| Step::Rule(e, p)),
        1 => Just(Step::Revoke),
        1 => (0..6_usize, line).prop_map(|(question, line)| Step::Swap { question, line }),
    ]
}

struct Open {
    approval: Approval,
    agent: usize,
    line: usize,
    gated: bool,
}

#[derive(Default)]
struct PolicySimulation {
    rules: Vec<(&'static str, &'static str)>,
    grants: Vec<Grant>,
    /// The grants: agent, line, and the rules that were shown.
    granted: Vec<(usize, usize)>,
    mode: ProjectMode,
    open: Vec<Open>,
    n_actions: u128,
}

impl PolicySimulation {
    fn text(&self) -> String {
        let one = |(n, (effect, program)): (usize, &(&str, &str))| {
            format!(
                "[[rule]]\nid = 'r{n}'\neffect = '{effect}'\non = ['terminal.runCommand']\n\
                 argv = ['{program}', '**']\n"
            )
        };
        self.rules.iter().enumerate().map(one).collect()
    }

    fn decide(&self, agent: usize, line_number: usize, n: u128) -> Decision {
        let request = ActionRequest {
            id: id(n),
            principal: AGENTS[agent].to_owned(),
            ..request(TokenClass::Agent, None, line(LINES[line_number].0))
        };
        let known = rules(&self.text(), None);
        let policy_context =
            PolicyContext { grants: &self.grants, ..policy_context(&known, self.mode) };
        decide(BoundAction::new(request).unwrap(), ActingRole::Trusted(&able()), &policy_context)
    }

    fn has(&self, effect: &str, program: &str) -> bool {
        self.rules.contains(&(effect, program))
    }

    /// Whether a rule certainly denies it. For an opaque line a person decides.
    fn denies(&self, number: usize) -> bool {
        let (text, program) = LINES[number];
        self.has("deny", program) && !text.contains("$g")
    }

    /// Whether something other than an answer to this approval allows it.
    fn expects_allow(&self, agent: usize, number: usize, by: &AllowedBy) -> bool {
        let (text, program) = LINES[number];
        let denied = self.denies(number);
        let requested = self.has("ask", program);
        let clear = !text.contains('$') && !text.contains("xargs");
        let free = !denied && program != "sudo" && !text.contains(".git/");
        free && match by {
            AllowedBy::Mode { mode: ProjectMode::Full } => {
                self.mode == ProjectMode::Full && !requested
            }
            AllowedBy::Mode { mode: ProjectMode::Auto } => {
                self.mode == ProjectMode::Auto && !requested && !text.contains("$g")
            }
            AllowedBy::Rules { .. } => clear && !requested && self.has("allow", program),
            AllowedBy::Grant { .. } => self.granted.contains(&(agent, number)),
            AllowedBy::Mode { mode: ProjectMode::Sandbox }
            | AllowedBy::Operator
            | AllowedBy::Approval { .. } => false,
        }
    }

    fn request_action(
        &mut self,
        agent: usize,
        number: usize,
        n: u128,
    ) -> Result<(), TestCaseError> {
        match self.decide(agent, number, n) {
            Decision::Deny(_) => {}
            Decision::Allow(allowed) => {
                let is_expected = self.expects_allow(agent, number, allowed.allowed_by());
                prop_assert!(is_expected, "{} by {:?}", LINES[number].0, allowed.allowed_by());
            }
            Decision::RequireApproval(asking) => {
                let approval = super::approve::approval(&asking, &[]);
                let approval = Approval {
                    action: id(n),
                    principal: AGENTS[agent].to_owned(),
                    question: provost_proto::ApprovalPrompt {
                        rules: asking.rules.clone(),
                        ..approval.question
                    },
                    ..approval
                };
                let gated = asking.gate.is_some();
                self.open.push(Open { approval, agent, line: number, gated });
            }
        }
        Ok(())
    }

    fn answer(
        &mut self,
        place: usize,
        yes: bool,
        scope: Scope,
        by: usize,
    ) -> Result<(), TestCaseError> {
        let Some(Open { approval, agent, line: number, gated }) = self.open.get(place) else {
            return Ok(());
        };
        let (agent, number, gated) = (*agent, *number, *gated);
        let approver = match by {
            0 => Approver { principal: AGENTS[agent], class: TokenClass::Agent },
            // The requester, if they had an operator's token.
            1 => Approver { principal: AGENTS[agent], class: TokenClass::Operator },
            _ => Approver { principal: "local:ann", class: TokenClass::Operator },
        };
        let n = approval.action.uuid().as_u128();
        let asking: UnapprovedAction = match self.decide(agent, number, n) {
            Decision::RequireApproval(asking) => asking,
            // It is decided again: a new rule counts.
            Decision::Allow(_) | Decision::Deny(_) => return Ok(()),
        };
        let allowed = asking.approve(approval, approver, &[], NOW);
        let pending = approval.status == ApprovalStatus::Pending;
        let swapped = approval.question.params != line(LINES[number].0).params();
        if allowed.is_ok() {
            prop_assert!(by > 1, "an agent answered");
            prop_assert!(pending, "answered twice");
            prop_assert!(!swapped, "what was shown is not what runs");
            prop_assert!(!self.denies(number), "denied");
        }
        let rules = approval.question.rules.clone();
        let person = by > 1 && pending;
        if let (true, true, Ok(allowed)) = (person, yes, allowed)
            && scope == Scope::Session
            && !gated
        {
            self.granted.push((agent, number));
            self.grants.push(Grant {
                grantee: AGENTS[agent].to_owned(),
                rules,
                ..grant(allowed.bound_action().grant_scope().unwrap(), &[])
            });
        }
        if person {
            self.open[place].approval.status = ApprovalStatus::Allowed;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Ask { agent, line } => {
                self.n_actions += 1;
                self.request_action(agent, line, 100 + self.n_actions)?;
            }
            Step::Answer { question, yes, scope, by } => self.answer(question, yes, scope, by)?,
            Step::Mode(mode) => self.mode = mode,
            Step::Rule(effect, program) => self.rules.push((effect, program)),
            Step::Revoke => {
                self.granted.clear();
                self.grants.iter_mut().for_each(|grant| grant.revoked_at = Some(2));
            }
            Step::Swap { question, line } => {
                if let Some(open) = self.open.get_mut(question) {
                    open.line = line;
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_runs_anything_that_nobody_said_may(
        steps in prop::collection::vec(any_step(), 1..24),
    ) {
        let mut simulation = PolicySimulation::default();
        for step in &steps {
            simulation.step(step)?;
        }
    }

    #[test]
    fn an_answer_is_for_the_parameters_that_were_shown_and_no_other(
        command in "[a-z]{1,3}( [a-z]{1,3})?",
        other in "[a-z]{1,3}( [a-z]{1,3})?",
        changed in select(vec!["command", "cwd", "env", "stdin", "network", "background", "timeoutMs", "maxOutput", "argv"]),
        same in any::<bool>(),
    ) {
        let shown = json!({ "command": command });
        let mut swapped = shown.clone();
        match changed {
            _ if same => {}
            "command" => swapped["command"] = json!(other),
            "cwd" => swapped["cwd"] = json!("web"),
            "env" => swapped["env"] = json!({ "A": other }),
            "stdin" => swapped["stdin"] = json!(other),
            "timeoutMs" => swapped["timeoutMs"] = json!(5),
            "maxOutput" => swapped["maxOutput"] = json!(2048),
            "argv" => swapped = json!({ "argv": [command] }),
            flag => swapped[flag] = json!(true),
        }
        let asking = |params: &Value| match in_mode(ProjectMode::Sandbox, run(params.clone())) {
            Decision::RequireApproval(asking) => Some(asking),
            Decision::Allow(_) | Decision::Deny(_) => None,
        };
        let (Some(requested), Some(wanted)) = (asking(&shown), asking(&swapped)) else { return Ok(()) };
        let approval = super::approve::approval(&requested, &[]);
        let approver = Approver { principal: "local:ann", class: TokenClass::Operator };
        let allowed = wanted.approve(&approval, approver, &[], NOW).is_ok();
        prop_assert_eq!(allowed, shown == swapped, "{} is not {}", shown, swapped);
    }
}
