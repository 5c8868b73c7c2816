//! The fold of a session's items, which are stored in pages.

use provost_proto::session::{
    ITEMS_PER_PAGE, ItemContent, ItemNumber, SessionItem, SessionPage, ToolResult, TurnStarted,
};
use provost_proto::{Fact, SessionId};
use uuid::Uuid;

use crate::fold::EventMetadata;

/// The key of the page that holds an item.
pub fn page_key(session: SessionId, item: ItemNumber) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(session.uuid().as_bytes());
    hasher.update(b"page/");
    hasher.update(&(item / ITEMS_PER_PAGE).to_le_bytes());
    super::truncate_to_uuid(&hasher)
}

pub(super) fn fold_page(
    page: Option<SessionPage>,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Option<SessionPage> {
    if let Some((session, item)) = new_item(metadata, fact) {
        let mut page = page.unwrap_or(SessionPage { session, items: Vec::new() });
        let at = page.items.partition_point(|known| known.item < item.item);
        // If two facts carry the same item number, the first one counts.
        if page.items.get(at).is_none_or(|known| known.item != item.item) {
            page.items.insert(at, item);
        }
        return Some(page);
    }
    let mut page = page?;
    update_page(&mut page, metadata, fact);
    Some(page)
}

/// The item that a fact adds, if it adds one.
fn new_item(metadata: EventMetadata<'_>, fact: &Fact) -> Option<(SessionId, SessionItem)> {
    let new = |session, item, turn, content| {
        Some((session, SessionItem { item, turn, at: metadata.at, content }))
    };
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact adds an item")]
    match fact {
        Fact::MessageAdded(m) => {
            let content = ItemContent::Message {
                message: m.message,
                from: m.from,
                parts: m.parts.clone(),
                answer: m.answer.clone().map(Box::new),
                answer_texts: m.answer_texts.clone(),
            };
            new(m.session, m.item, m.turn, content)
        }
        Fact::ToolCalled(c) => {
            let content = ItemContent::Tool {
                call: c.call.clone(),
                tool: c.tool.clone(),
                arguments: c.arguments.clone(),
                action: c.action,
                child: None,
                result: None,
            };
            new(c.session, c.item, Some(c.turn), content)
        }
        Fact::SessionCompacted(c) => {
            let content = ItemContent::Compacted { summary: c.summary.clone() };
            new(c.session, c.item, Some(c.turn), content)
        }
        _ => None,
    }
}

fn update_page(page: &mut SessionPage, metadata: EventMetadata<'_>, fact: &Fact) {
    fn find(page: &mut SessionPage, number: ItemNumber) -> Option<&mut SessionItem> {
        page.items.iter_mut().find(|known| known.item == number)
    }
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact changes an item")]
    match fact {
        Fact::TurnStarted(TurnStarted { turn, item: Some(number), .. }) => {
            if let Some(item) = find(page, *number) {
                item.turn = item.turn.or(Some(*turn));
            }
        }
        Fact::MessageWithdrawn(withdrawn) => {
            // A message without a turn was never sent to the model.
            page.items.retain(|item| item.item != withdrawn.item || item.turn.is_some());
        }
        Fact::ToolReturned(returned) => {
            if let Some(ItemContent::Tool { result: result @ None, .. }) =
                find(page, returned.item).map(|item| &mut item.content)
            {
                let (status, output) = (returned.status, returned.output.clone());
                *result = Some(ToolResult { status, output, at: metadata.at });
            }
        }
        Fact::HandedOff(handed) => {
            if let Some(ItemContent::Tool { child, .. }) =
                find(page, handed.item).map(|item| &mut item.content)
            {
                *child = Some(handed.to);
            }
        }
        _ => {}
    }
}
