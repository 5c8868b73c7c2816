//! The Messages API of Anthropic.

mod decode;
mod encode;

pub(super) use decode::AnthropicDecoder;
pub(super) use encode::encode;
