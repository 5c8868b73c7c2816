//! Room for a question: the same is asked once, and nobody asks without end.

use std::sync::Arc;

use provost_core::decide::BoundAction;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{Approval, ApprovalId, Code};

use super::{Approvals, End};
use crate::GatewayError;
use crate::actions::Behalf;

/// Questions that may be open in one project. Beyond, whoever asks is refused:
/// a person who is asked more than this decides nothing any more.
const OPEN: usize = 256;

/// Of these, how many may come from one asker, so that none keeps the others out.
const OF_ONE: usize = 32;

/// What became of a question.
pub(crate) enum Placed {
    /// It is asked; the end comes to whoever waits.
    Asked(ApprovalId, End),
    /// The same is asked already. One answer is one run, so what asks again is
    /// not another action: it is told which one waits.
    Open(Arc<Approval>),
}

impl Approvals {
    /// The open question of the same asker about the same, if there is one.
    pub(super) fn same(&self, behalf: &Behalf, matter: &BoundAction) -> Option<Arc<Approval>> {
        let sameness = matter.repeat_key();
        let same = |open: &Arc<Approval>| {
            open.project == behalf.project.id
                && open.principal == behalf.principal
                && open.role == behalf.role
                && open.session == behalf.session
                && (open.action_hash == matter.hash()
                    || self.matter_of(open).is_ok_and(|open| open.repeat_key() == sameness))
        };
        self.list().into_iter().find(same)
    }

    /// Fails if as many questions are open as may be.
    pub(super) fn room(&self, behalf: &Behalf) -> Result<(), GatewayError> {
        let all = self.list();
        let here = all.iter().filter(|open| open.project == behalf.project.id);
        let (mut n_here, mut n_own) = (0, 0);
        for open in here {
            n_here += 1;
            n_own += usize::from(open.principal == behalf.principal);
        }
        if n_own >= OF_ONE {
            return Err(too_many(&format!("{OF_ONE} of your questions are open")));
        }
        if n_here >= OPEN {
            return Err(too_many(&format!("{OPEN} questions are open in this project")));
        }
        Ok(())
    }
}

fn too_many(why: &str) -> GatewayError {
    let message = format!("{why}; wait for answers");
    GatewayError::Fault(ErrorInfo { code: Code::TooManyQuestions, message, details: None })
}
