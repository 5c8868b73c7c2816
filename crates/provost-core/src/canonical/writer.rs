//! Serializes any value as canonical JSON into one buffer.
//!
//! Members are written in the order in which they come and sorted when their object ends. No tree
//! is built, because most hashed values are small and are hashed once.

use std::cmp::Ordering;
use std::fmt::Display;

use serde::ser::{self, Serialize, Serializer};
use serde_json::Number;

use super::containers::{ArrayWriter, ObjectWriter};
use super::{MAX_SAFE_INTEGER, NotCanonical, write_string};

/// The serializer.
#[derive(Debug)]
pub(super) struct CanonicalWriter {
    pub(super) out: Vec<u8>,
    /// The members of all open objects, innermost last.
    pub(super) members: Vec<MemberSpan>,
    /// Buffer for sorting members.
    pub(super) spare: Vec<u8>,
    /// How many containers are open.
    pub(super) depth: usize,
    /// The most containers that were open.
    pub(super) deepest: usize,
    /// Whether reading the text gives another value.
    pub(super) is_retyped: bool,
}

/// The position of one member: from the first quote of its name to the end of its value, without
/// a comma.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberSpan {
    pub(super) start: usize,
    /// The end of its name.
    colon: usize,
    pub(super) end: usize,
    /// The first bytes of its name, which suffice for most comparisons.
    head: u64,
    /// Whether its name can be compared by bytes: ASCII without escapes.
    plain: bool,
}

impl MemberSpan {
    /// The member whose name has just been written.
    pub(super) fn from_written_name(text: &[u8], start: usize) -> Self {
        let colon = text.len();
        let mut member = Self { start, colon, end: colon, head: 0, plain: true };
        let name = member.name(text);
        let mut head = [0; 8];
        head.iter_mut().zip(name).for_each(|(to, from)| *to = *from);
        let plain = name.is_ascii() && !name.contains(&b'\\');
        (member.head, member.plain) = (u64::from_be_bytes(head), plain);
        member
    }

    /// The name as written between its quotes.
    fn name<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        text.get(self.start + 1..self.colon.saturating_sub(1)).unwrap_or_default()
    }

    /// Compares the UTF-16 code units of the names.
    pub(super) fn compare_names(&self, other: &Self, text: &[u8]) -> Ordering {
        if self.plain && other.plain {
            return (self.head.cmp(&other.head))
                .then_with(|| self.name(text).cmp(other.name(text)));
        }
        let read = |member: &Self| {
            let quoted = [b"\"", member.name(text), b"\""].concat();
            serde_json::from_slice::<String>(&quoted).unwrap_or_default()
        };
        read(self).encode_utf16().cmp(read(other).encode_utf16())
    }
}

impl CanonicalWriter {
    pub(super) fn new() -> Self {
        Self {
            out: Vec::with_capacity(768),
            members: Vec::with_capacity(16),
            spare: Vec::new(),
            depth: 0,
            deepest: 0,
            is_retyped: false,
        }
    }

    pub(super) fn into_text(self) -> Vec<u8> {
        self.out
    }

    fn enter(&mut self) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
    }

    fn begin_object(&mut self) -> ObjectWriter<'_> {
        self.out.push(b'{');
        self.enter();
        let first = self.members.len();
        ObjectWriter { writer: self, first, sorted: true, close: b"}" }
    }

    fn begin_array(&mut self) -> ArrayWriter<'_> {
        self.out.push(b'[');
        self.enter();
        ArrayWriter { writer: self, some: false, close: b"]" }
    }

    /// Begins `{"variant":`, which needs two closing brackets.
    fn variant(&mut self, variant: &str) {
        self.out.push(b'{');
        write_string(&mut self.out, variant);
        self.out.push(b':');
    }

    fn integer(&mut self, number: impl Into<Number>, exact: bool) -> Result<(), NotCanonical> {
        let number = number.into();
        let text = number.to_string();
        // A large integer is exact if the nearest double has the same text.
        if !exact {
            let double = number.as_f64().unwrap_or(f64::NAN);
            if ryu_js::Buffer::new().format(double) != text {
                return Err(NotCanonical::Inexact(number));
            }
        }
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Writes an unsigned number.
pub(crate) fn write_digits(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b"0123456789"[usize::try_from(rest % 10).unwrap_or(0)];
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

impl ser::Error for NotCanonical {
    fn custom<T: Display>(message: T) -> Self {
        Self::Json(ser::Error::custom(message))
    }
}

impl<'w> Serializer for &'w mut CanonicalWriter {
    type Ok = ();
    type Error = NotCanonical;
    type SerializeSeq = ArrayWriter<'w>;
    type SerializeTuple = ArrayWriter<'w>;
    type SerializeTupleStruct = ArrayWriter<'w>;
    type SerializeTupleVariant = ArrayWriter<'w>;
    type SerializeMap = ObjectWriter<'w>;
    type SerializeStruct = ObjectWriter<'w>;
    type SerializeStructVariant = ObjectWriter<'w>;

    fn serialize_bool(self, value: bool) -> Result<(), NotCanonical> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), NotCanonical> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), NotCanonical> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), NotCanonical> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), NotCanonical> {
        self.integer(value, value.unsigned_abs() <= MAX_SAFE_INTEGER)
    }

    fn serialize_u8(self, value: u8) -> Result<(), NotCanonical> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), NotCanonical> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), NotCanonical> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), NotCanonical> {
        if value > MAX_SAFE_INTEGER {
            return self.integer(value, false);
        }
        write_digits(&mut self.out, value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), NotCanonical> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), NotCanonical> {
        if !value.is_finite() {
            self.is_retyped = true;
            return self.serialize_unit();
        }
        let mut buffer = ryu_js::Buffer::new();
        let text = buffer.format_finite(value);
        self.is_retyped |= !text.contains(['.', 'e']);
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), NotCanonical> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), NotCanonical> {
        write_string(&mut self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), NotCanonical> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), NotCanonical> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NotCanonical> {
        let start = self.out.len();
        value.serialize(&mut *self)?;
        // Some(null) reads as nothing.
        self.is_retyped |= self.out.get(start..) == Some(b"null");
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), NotCanonical> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), NotCanonical> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), NotCanonical> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NotCanonical> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), NotCanonical> {
        self.variant(variant);
        value.serialize(&mut *self)?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ArrayWriter<'w>, NotCanonical> {
        Ok(self.begin_array())
    }

    fn serialize_tuple(self, _: usize) -> Result<ArrayWriter<'w>, NotCanonical> {
        Ok(self.begin_array())
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<ArrayWriter<'w>, NotCanonical> {
        Ok(self.begin_array())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ArrayWriter<'w>, NotCanonical> {
        self.variant(variant);
        Ok(ArrayWriter { close: b"]}", ..self.begin_array() })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<ObjectWriter<'w>, NotCanonical> {
        Ok(self.begin_object())
    }

    fn serialize_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<ObjectWriter<'w>, NotCanonical> {
        // serde_json passes its private types through structs of such names.
        if name.starts_with('$') {
            return Err(ser::Error::custom("raw JSON has no canonical form"));
        }
        Ok(self.begin_object())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ObjectWriter<'w>, NotCanonical> {
        self.variant(variant);
        Ok(ObjectWriter { close: b"}}", ..self.begin_object() })
    }
}
