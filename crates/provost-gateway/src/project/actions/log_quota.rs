//! Limits what agents may add to the log: nothing in it is ever dropped, so what one agent writes
//! all others carry.
//!
//! Each request is charged with its size, to its principal and to its project. Both have an
//! allowance that fills again with time. Beyond it, and when the log has reached its largest
//! size, requests of agents are refused and not recorded. People are not limited.
//!
//! Requests for what is no action are recorded one by one only at first: further ones within the
//! same minute are answered in the same way, but not recorded, and the last one that is recorded
//! says so.

use parking_lot::Mutex;
use std::collections::HashMap;

use provost_proto::kernel::ErrorInfo;
use provost_proto::{Code, Principal, ProjectId, UnixMicros};

use crate::{ByteAllowance, GatewayError, LogQuotaLimits};

/// What each request costs beside its parameters: its events without them.
const REQUEST_BYTES: u64 = 2 * 1024;

/// The parameters are in the request, and again in the approval.
const COPIES: u64 = 2;

/// How many requests for what is no action are recorded per principal and minute.
const MAX_MALFORMED_PER_MINUTE: u32 = 20;

const MINUTE: UnixMicros = 60_000_000;

/// The most principals and projects that are remembered. Those with a full allowance are
/// forgotten first.
const MAX_ACCOUNTS: usize = 4096;

/// What is left of an allowance.
#[derive(Debug, Clone, Copy)]
struct AllowanceLeft {
    bytes: u64,
    at: UnixMicros,
}

/// Who or what is charged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum AccountOwner {
    Principal(Principal),
    Project(ProjectId),
}

/// How a request for what is no action is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MalformedRecord {
    /// As any other.
    Recorded,
    /// As the last one for a while.
    LastRecorded,
    /// Not at all.
    Counted,
}

#[derive(Debug, Default)]
pub(super) struct LogQuota {
    limits: LogQuotaLimits,
    accounts: Mutex<HashMap<AccountOwner, AllowanceLeft>>,
    /// The minute in which the first malformed request came, and how many came since.
    malformed: Mutex<HashMap<Principal, (UnixMicros, u32)>>,
}

impl ByteAllowance {
    /// What is left at this time.
    fn left(self, before: Option<AllowanceLeft>, now: UnixMicros) -> u64 {
        let Some(before) = before else { return self.most };
        let millis = now.saturating_sub(before.at) / 1000;
        let filled = millis.saturating_mul(self.per_second) / 1000;
        before.bytes.saturating_add(filled).min(self.most)
    }
}

impl LogQuota {
    pub(super) fn new(limits: LogQuotaLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Charges a request with parameters of this size.
    pub(super) fn charge(
        &self,
        principal: &str,
        project: ProjectId,
        params_bytes: usize,
        now: UnixMicros,
    ) -> Result<(), GatewayError> {
        let bytes = u64::try_from(params_bytes).unwrap_or(u64::MAX).saturating_mul(COPIES);
        let bytes = bytes.saturating_add(REQUEST_BYTES);
        let LogQuotaLimits { principal: principal_allowance, project: project_allowance, .. } =
            self.limits;
        let owners = [
            (AccountOwner::Principal(principal.to_owned()), principal_allowance),
            (AccountOwner::Project(project), project_allowance),
        ];
        let mut accounts = self.accounts.lock();
        let left = |(owner, allowance): &(AccountOwner, ByteAllowance)| {
            allowance.left(accounts.get(owner).copied(), now)
        };
        if let Some((owner, allowance)) = owners.iter().find(|owner| left(owner) < bytes) {
            let missing = bytes.saturating_sub(allowance.left(accounts.get(owner).copied(), now));
            return Err(quota_error(owner, missing.div_ceil(allowance.per_second)));
        }
        for (owner, allowance) in owners {
            let bytes = allowance.left(accounts.get(&owner).copied(), now) - bytes;
            accounts.insert(owner, AllowanceLeft { bytes, at: now });
        }
        if accounts.len() > MAX_ACCOUNTS {
            accounts.retain(|owner, left| {
                let allowance = match owner {
                    AccountOwner::Principal(_) => principal_allowance,
                    AccountOwner::Project(_) => project_allowance,
                };
                allowance.left(Some(*left), now) < allowance.most
            });
        }
        Ok(())
    }

    /// How a request of this principal for what is no action is recorded.
    pub(super) fn count_malformed(&self, principal: &str, now: UnixMicros) -> MalformedRecord {
        let mut malformed = self.malformed.lock();
        malformed.retain(|_, (since, _)| now.saturating_sub(*since) < MINUTE);
        let (_, count) = malformed.entry(principal.to_owned()).or_insert((now, 0));
        *count = count.saturating_add(1);
        match (*count).cmp(&MAX_MALFORMED_PER_MINUTE) {
            std::cmp::Ordering::Less => MalformedRecord::Recorded,
            std::cmp::Ordering::Equal => MalformedRecord::LastRecorded,
            std::cmp::Ordering::Greater => MalformedRecord::Counted,
        }
    }

    /// Refuses requests of agents when the log has reached its largest size.
    pub(super) fn check_log_size(&self, size: u64) -> Result<(), GatewayError> {
        if size < self.limits.max_log_bytes { Ok(()) } else { Err(full_log_error(size)) }
    }
}

fn full_log_error(size: u64) -> GatewayError {
    let message = format!(
        "the log has {} MiB, which is as much as agents may fill; a person has to archive \
         older events with `provost log archive`, or raise `log_mib` of [log_quota] in config.toml",
        size >> 20
    );
    GatewayError::Fault(ErrorInfo { code: Code::LogQuota, message, details: None })
}

fn quota_error(owner: &AccountOwner, seconds: u64) -> GatewayError {
    let whose = match owner {
        AccountOwner::Principal(_) => "this token has",
        AccountOwner::Project(_) => "the agents of this project have",
    };
    let message = format!(
        "{whose} written too much to the log; wait {seconds} s, and request less at a time; a \
         person can raise the limits of [log_quota] in config.toml"
    );
    GatewayError::Fault(ErrorInfo { code: Code::LogQuota, message, details: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn project(n: u128) -> ProjectId {
        Uuid::from_u128(n).into()
    }

    #[test]
    fn an_agent_that_writes_without_end_is_refused_until_time_passes() {
        let quota = LogQuota::default();
        let mut written = 0;
        let error = loop {
            match quota.charge("a", project(1), 1 << 20, 0) {
                Ok(()) => written += 1,
                Err(error) => break error,
            }
        };
        assert!((100..=128).contains(&written), "{written}");
        assert!(error.to_string().contains("wait "), "{error}");
        // Another one is not kept out, and the same may go on later.
        quota.charge("b", project(1), 1 << 20, 0).unwrap();
        quota.charge("a", project(1), 1 << 20, 10_000_000).unwrap();
    }

    #[test]
    fn the_agents_of_a_project_share_an_allowance() {
        let quota = LogQuota::default();
        let refused = (0..100).find(|n| {
            let agent = format!("agent {n}");
            (0..100).any(|_| quota.charge(&agent, project(1), 1 << 20, 0).is_err())
        });
        assert!(refused.is_some());
        quota.charge("x", project(2), 1 << 20, 0).unwrap();
    }

    #[test]
    fn the_limits_are_those_of_the_configuration() {
        let allowance = ByteAllowance { most: 10 << 10, per_second: 1 << 10 };
        let limits = LogQuotaLimits { principal: allowance, ..LogQuotaLimits::default() };
        let quota = LogQuota::new(limits);
        let n_allowed =
            (0..100).take_while(|_| quota.charge("a", project(1), 0, 0).is_ok()).count();
        assert_eq!(n_allowed, 5);
        assert!(quota.charge("a", project(1), 0, 1_000_000).is_err());
        quota.charge("a", project(1), 0, 2_000_000).unwrap();
    }

    #[test]
    fn nonsense_is_recorded_a_few_times_per_minute() {
        let quota = LogQuota::default();
        let records: Vec<_> = (0..1000).map(|_| quota.count_malformed("a", 5)).collect();
        let n = |wanted| records.iter().filter(|record| **record == wanted).count();
        assert_eq!(n(MalformedRecord::Recorded), 19);
        assert_eq!(n(MalformedRecord::LastRecorded), 1);
        assert_eq!(quota.count_malformed("b", 5), MalformedRecord::Recorded);
        assert_eq!(quota.count_malformed("a", 5 + MINUTE), MalformedRecord::Recorded);
    }

    #[test]
    fn a_full_log_refuses_with_what_to_do() {
        let limits = LogQuotaLimits { max_log_bytes: 3 << 20, ..LogQuotaLimits::default() };
        let quota = LogQuota::new(limits);
        assert!(quota.check_log_size(10).is_ok());
        let error = quota.check_log_size(3 << 20).unwrap_err().to_string();
        assert!(error.contains("3 MiB") && error.contains("provost log archive"), "{error}");
    }
}
