//! Writers for arrays and objects.

use serde::ser::{self, Serialize};

use super::writer::{CanonicalWriter, MemberSpan};
use super::{NotCanonical, write_string};

/// Initial size of the sort buffer: an object that is sorted is often part of one that is sorted
/// too.
const SPARE: usize = 512;

/// Writes an array.
#[derive(Debug)]
pub(super) struct ArrayWriter<'w> {
    pub(super) writer: &'w mut CanonicalWriter,
    /// Whether it has an item already.
    pub(super) some: bool,
    pub(super) close: &'static [u8],
}

impl ArrayWriter<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), NotCanonical> {
        if self.some {
            self.writer.out.push(b',');
        }
        self.some = true;
        item.serialize(&mut *self.writer)
    }

    fn close(self) {
        self.writer.depth -= 1;
        self.writer.out.extend_from_slice(self.close);
    }
}

/// Writes an object.
#[derive(Debug)]
pub(super) struct ObjectWriter<'w> {
    pub(super) writer: &'w mut CanonicalWriter,
    /// The index of its first member in the list of all open members.
    pub(super) first: usize,
    pub(super) sorted: bool,
    pub(super) close: &'static [u8],
}

impl ObjectWriter<'_> {
    /// Begins a member; its name follows.
    fn begin_member(&mut self) -> usize {
        if self.writer.members.len() > self.first {
            self.writer.out.push(b',');
        }
        self.writer.out.len()
    }

    /// Records the member whose name has just been written.
    fn record_member(&mut self, start: usize) {
        let writer = &mut *self.writer;
        let member = MemberSpan::from_written_name(&writer.out, start);
        if let Some(last) = writer.members.get(self.first..).and_then(<[MemberSpan]>::last) {
            self.sorted = self.sorted && last.compare_names(&member, &writer.out).is_lt();
        }
        writer.out.push(b':');
        writer.members.push(member);
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotCanonical> {
        value.serialize(&mut *self.writer)?;
        let end = self.writer.out.len();
        if let Some(member) = self.writer.members.last_mut() {
            member.end = end;
        }
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), NotCanonical> {
        let start = self.begin_member();
        write_string(&mut self.writer.out, name);
        self.record_member(start);
        self.value(value)
    }

    fn close(self) -> Result<(), NotCanonical> {
        self.writer.depth -= 1;
        let CanonicalWriter { out, members, spare, .. } = &mut *self.writer;
        let own = members.get_mut(self.first..).unwrap_or_default();
        if !self.sorted {
            own.sort_unstable_by(|a, b| a.compare_names(b, out));
            if own.windows(2).any(|pair| pair[0].compare_names(&pair[1], out).is_eq()) {
                return Err(ser::Error::custom("an object has two members of one name"));
            }
            let start = own.iter().map(|member| member.start).min().unwrap_or(out.len());
            spare.clear();
            spare.reserve((out.len() - start + 1).max(SPARE));
            for member in own.iter() {
                spare.extend_from_slice(out.get(member.start..member.end).unwrap_or_default());
                spare.push(b',');
            }
            spare.pop();
            out.truncate(start);
            out.extend_from_slice(spare);
        }
        members.truncate(self.first);
        out.extend_from_slice(self.close);
        Ok(())
    }
}

impl ser::SerializeMap for ObjectWriter<'_> {
    type Ok = ();
    type Error = NotCanonical;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NotCanonical> {
        let start = self.begin_member();
        key.serialize(&mut *self.writer)?;
        let out = &mut self.writer.out;
        match out.get(start) {
            Some(b'"') => {}
            // Numbers and booleans become names in quotes.
            Some(b'-' | b'0'..=b'9' | b't' | b'f') => {
                out.insert(start, b'"');
                out.push(b'"');
            }
            Some(_) | None => return Err(ser::Error::custom("a name must be a string")),
        }
        self.record_member(start);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotCanonical> {
        self.value(value)
    }

    fn end(self) -> Result<(), NotCanonical> {
        self.close()
    }
}

macro_rules! items {
    ($($kind:ident $method:ident),*) => {$(
        impl ser::$kind for ArrayWriter<'_> {
            type Ok = ();
            type Error = NotCanonical;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), NotCanonical> {
                self.item(item)
            }

            fn end(self) -> Result<(), NotCanonical> {
                self.close();
                Ok(())
            }
        }
    )*};
}

items!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

macro_rules! fields {
    ($($kind:ident),*) => {$(
        impl ser::$kind for ObjectWriter<'_> {
            type Ok = ();
            type Error = NotCanonical;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), NotCanonical> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), NotCanonical> {
                self.close()
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);
