//! Chat Completions of `OpenAI` and of compatible servers.

mod decode;
mod encode;
mod reasoning;

pub(super) use decode::ChatDecoder;
pub(super) use encode::encode;
