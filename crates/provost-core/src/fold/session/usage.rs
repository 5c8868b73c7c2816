//! The fold of what models used, by day, project and model.

use provost_proto::ProjectId;
use provost_proto::session::{DailyUsage, TokenUsage, UsageRecorded};
use uuid::Uuid;

pub(super) fn usage_key(day: u32, project: ProjectId, model: &str) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(project.uuid().as_bytes());
    hasher.update(b"used/");
    hasher.update(&day.to_le_bytes());
    hasher.update(model.as_bytes());
    super::truncate_to_uuid(&hasher)
}

pub(super) fn fold_usage(row: Option<DailyUsage>, used: &UsageRecorded) -> DailyUsage {
    let row = row.unwrap_or_else(|| DailyUsage {
        day: used.day,
        project: used.project,
        model: used.model.clone(),
        calls: 0,
        usage: TokenUsage::default(),
        cost: 0,
        unpriced: 0,
    });
    DailyUsage {
        calls: row.calls.saturating_add(1),
        usage: row.usage.saturating_add(used.usage),
        cost: row.cost.saturating_add(used.cost.unwrap_or(0)),
        unpriced: row.unpriced.saturating_add(u64::from(used.cost.is_none())),
        ..row
    }
}
