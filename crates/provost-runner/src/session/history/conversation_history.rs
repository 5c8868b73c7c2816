//! The conversation of a session, read from its documents and in the form that models get.

use provost_core::fold::{ViewDocument, ViewKind, session::page_key};
use provost_proto::session::{
    ITEMS_PER_PAGE, ItemContent, ItemNumber, MessageAuthor, MessagePart, SessionItem, SessionView,
    ToolCallStatus,
};
use provost_proto::{MessageId, TurnId};
use provost_store::{EventStore, StoreError};

use super::answer_texts::restore_texts;
use super::touched_paths::TouchedPaths;
use crate::model::{
    CallId, Completion, CompletionContent, CompletionItem, CompletionUsage, ModelMessage,
    ModelOrigin, ModelToolResult, ModelToolResultStatus, StopReason,
};
use crate::session::turn::tool_execution::ToolInvocation;

/// The message with which a model continues after an interruption.
pub(crate) const CONTINUE_PROMPT: &str =
    "You were interrupted. Go on from where you stopped, without repeating what you said.";

/// All items of a session in the order of the conversation. A message that was queued during
/// a turn is numbered among that turn's items, but belongs after it.
pub(crate) async fn load_items(
    store: &dyn EventStore,
    view: &SessionView,
) -> Result<Vec<SessionItem>, StoreError> {
    let mut items = load_items_from(store, view, 0).await?;
    items.sort_by_key(|item| (item.turn.is_none(), item.turn, item.item));
    Ok(items)
}

/// The last items before a number, at most `most` of them, in the order of the conversation.
pub(crate) async fn load_items_before(
    store: &dyn EventStore,
    view: &SessionView,
    before: ItemNumber,
    most: u32,
) -> Result<Vec<SessionItem>, StoreError> {
    let end = before.min(view.items);
    let first = end.saturating_sub(most);
    let until = SessionView { items: end, ..view.clone() };
    let mut items = load_items_from(store, &until, first).await?;
    items.retain(|item| (first..end).contains(&item.item));
    items.sort_by_key(|item| (item.turn.is_none(), item.turn, item.item));
    Ok(items)
}

/// The message that started a turn; a turn that continues another has none.
pub(crate) async fn find_turn_message(
    store: &dyn EventStore,
    view: &SessionView,
    turn: TurnId,
) -> Result<Option<MessageId>, StoreError> {
    let items = load_items_from(store, view, 0).await?;
    let of_turn = items.into_iter().filter(|item| item.turn == Some(turn));
    Ok(of_turn.map(|item| item.content).find_map(|content| match content {
        ItemContent::Message { from: MessageAuthor::User, message, .. } => Some(message),
        ItemContent::Message { from: MessageAuthor::Assistant, .. }
        | ItemContent::Tool { .. }
        | ItemContent::Compacted { .. } => None,
    }))
}

/// The items from the page of `first` on.
async fn load_items_from(
    store: &dyn EventStore,
    view: &SessionView,
    first: u32,
) -> Result<Vec<SessionItem>, StoreError> {
    let mut items = Vec::new();
    let pages = view.items.div_ceil(ITEMS_PER_PAGE);
    for page in first / ITEMS_PER_PAGE..pages {
        let doc =
            store.get_document(ViewKind::Pages, page_key(view.id, page * ITEMS_PER_PAGE)).await?;
        items.extend(doc.and_then(ViewDocument::into_page).into_iter().flat_map(|page| page.items));
    }
    Ok(items)
}

/// Removes the provider's native form of a completion, which only the model needs.
pub(crate) fn strip_native_answer(item: &mut SessionItem) {
    if let ItemContent::Message { answer, answer_texts, .. } = &mut item.content {
        *answer = None;
        answer_texts.clear();
    }
}

/// A conversation in the form that models get.
#[derive(Debug, Default)]
pub(crate) struct ConversationHistory {
    pub(crate) messages: Vec<ModelMessage>,
    /// The calls of the last completion that have no result yet.
    pub(crate) open: Vec<ToolInvocation>,
    /// The calls of the current turn that have a result: tool, arguments, output.
    pub(crate) done: Vec<(String, String, String)>,
    /// The paths that its calls named.
    pub(crate) touched: TouchedPaths,
}

/// Reads the conversation from its last compaction to the current turn.
pub(crate) async fn load_history(
    store: &dyn EventStore,
    view: &SessionView,
) -> Result<ConversationHistory, StoreError> {
    // A queued message is numbered before items of the turn that it waited for.
    let first = view.compacted.unwrap_or(0).saturating_sub(ITEMS_PER_PAGE);
    let mut items = load_items_from(store, view, first).await?;
    items.retain(|item| item.turn.is_some());
    items.sort_by_key(|item| (item.turn, item.item));
    let summary = items.iter().rposition(|item| Some(item.item) == view.compacted);
    let items = items.split_off(summary.unwrap_or(0));
    let turn = view.turn.as_ref().map(|turn| turn.id);
    let mut history = ConversationHistory::default();
    for item in items {
        if item.turn != turn {
            history.done.clear();
        }
        history.add_item(item, &view.model);
    }
    Ok(history)
}

impl ConversationHistory {
    fn add_item(&mut self, item: SessionItem, model: &str) {
        match item.content {
            ItemContent::Message { from: MessageAuthor::User, parts, .. } => {
                self.open.clear();
                self.messages.push(ModelMessage::user(join_text_parts(&parts)));
            }
            ItemContent::Message {
                from: MessageAuthor::Assistant,
                parts,
                answer,
                answer_texts,
                ..
            } => {
                self.open.clear();
                let whole = answer.and_then(|mut answer| {
                    restore_texts(&mut answer, &parts, &answer_texts).then_some(*answer)
                });
                let kept = whole.and_then(|answer| serde_json::from_value(answer).ok());
                if let Some(turn) = kept.or_else(|| completion_from_parts(&parts, model)) {
                    self.push_completion(Box::new(turn));
                }
            }
            ItemContent::Tool { call, tool, arguments, action, child, result } => {
                let Some(result) = result else {
                    let (item, id) = (item.item, call);
                    let open = ToolInvocation { item, id, tool, arguments, action, child };
                    return self.open.push(open);
                };
                self.done.push((tool, arguments, result.output.clone()));
                self.push_result(build_tool_result(call, result.status, result.output));
            }
            ItemContent::Compacted { summary } => {
                self.open.clear();
                self.messages = vec![ModelMessage::user(summary)];
                self.touched = TouchedPaths::default();
            }
        }
    }

    /// Adds a completion.
    pub(crate) fn push_completion(&mut self, turn: Box<Completion>) {
        self.touched.record_calls(&turn);
        self.messages.push(ModelMessage::Assistant { turn });
    }

    /// Adds a tool result to those of the last completion.
    pub(crate) fn push_result(&mut self, result: ModelToolResult) {
        if let Some(ModelMessage::Results { results }) = self.messages.last_mut() {
            return results.push(result);
        }
        self.messages.push(ModelMessage::Results { results: vec![result] });
    }

    /// Ensures that the last message is not the model's, as providers require.
    pub(crate) fn ensure_awaiting_model(&mut self) {
        if matches!(self.messages.last(), None | Some(ModelMessage::Assistant { .. })) {
            self.messages.push(ModelMessage::user(CONTINUE_PROMPT));
        }
    }
}

pub(crate) fn build_tool_result(
    call: String,
    status: ToolCallStatus,
    output: String,
) -> ModelToolResult {
    let status = match status {
        ToolCallStatus::Ok => ModelToolResultStatus::Ok,
        ToolCallStatus::Error | ToolCallStatus::Cancelled => ModelToolResultStatus::Error,
        ToolCallStatus::Denied => ModelToolResultStatus::Denied,
    };
    ModelToolResult { call: CallId::new(call), status, output }
}

fn join_text_parts(parts: &[MessagePart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        MessagePart::Reasoning { .. } | MessagePart::Refusal { .. } => None,
    });
    texts.collect()
}

/// A completion of which only the text is known because it was interrupted.
fn completion_from_parts(parts: &[MessagePart], model: &str) -> Option<Completion> {
    let text = join_text_parts(parts);
    if text.is_empty() {
        return None;
    }
    let (provider, model) = model.split_once('/').unwrap_or(("", model));
    let origin = ModelOrigin { provider: provider.to_owned(), wire: None, model: model.to_owned() };
    Some(Completion {
        origin,
        items: vec![CompletionItem { content: CompletionContent::Text { text }, native: None }],
        stop: StopReason::EndTurn,
        usage: CompletionUsage::default(),
        answered_by: None,
        response: None,
        native_usage: None,
    })
}
