//! Bytes that programs print as text.

/// Decodes UTF-8 that comes in pieces. What is no UTF-8 becomes replacement characters, the same
/// ones however the bytes are cut.
#[derive(Debug, Default)]
pub struct TextDecoder {
    /// The beginning of a character.
    rest: Vec<u8>,
}

impl TextDecoder {
    /// The text of further bytes.
    pub fn decode(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.rest.len());
        let mut used = 0;
        for chunk in self.rest.utf8_chunks() {
            text.push_str(chunk.valid());
            used += chunk.valid().len();
            let invalid = chunk.invalid();
            let is_last = used + invalid.len() == self.rest.len();
            if invalid.is_empty() || is_last && is_incomplete(invalid) {
                break;
            }
            text.push(char::REPLACEMENT_CHARACTER);
            used += invalid.len();
        }
        self.rest.drain(..used);
        text
    }

    /// What is left at the end.
    pub fn finish(&mut self) -> String {
        if std::mem::take(&mut self.rest).is_empty() {
            String::new()
        } else {
            char::REPLACEMENT_CHARACTER.to_string()
        }
    }
}

/// Whether more bytes could make a character of these.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::TextDecoder;

    #[test]
    fn text_is_the_same_however_its_bytes_are_cut() {
        let bytes = "a\u{e9}\u{4e2d}\u{1f600}z".bytes().chain([0xff, 0xc3, b'x', 0xf0, 0x9f]);
        let bytes: Vec<u8> = bytes.collect();
        let whole = String::from_utf8_lossy(&bytes).into_owned();
        for size in 1..=bytes.len() {
            let mut decoder = TextDecoder::default();
            let mut text: String = bytes.chunks(size).map(|piece| decoder.decode(piece)).collect();
            text.push_str(&decoder.finish());
            assert_eq!(text, whole, "pieces of {size}");
        }
    }
}
