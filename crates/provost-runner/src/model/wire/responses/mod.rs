//! Responses, of `OpenAI`, and of servers that imitate it.

mod decode;
mod encode;

pub(super) use decode::Answer;
pub(super) use encode::encode;
