//! Values that are read, and the fields of objects.

use std::str::FromStr;

use provost_proto::{
    Actor, CellId, ExecutionId, Hash, NotebookId, OutputId, ProjectId, RuntimeSessionId,
};
use serde::de::Error as _;
use serde_json::{Error, Map, Value};
use uuid::Uuid;

/// A type that is read from JSON.
pub(crate) trait DecodeJson: Sized {
    fn read(value: Value) -> Result<Self, Error>;
}

#[cold]
pub(super) fn mismatch(expected: &str) -> Error {
    Error::custom(format_args!("not {expected}"))
}

/// The fields of an object, taken one after the other.
pub(crate) struct JsonFields(Map<String, Value>);

impl JsonFields {
    pub(crate) fn new(value: Value) -> Result<Self, Error> {
        Map::read(value).map(Self)
    }

    /// A field as it is, `null` if it is absent. Names may be in snake case.
    pub(crate) fn take(&mut self, name: &str) -> Value {
        let mut key = String::with_capacity(name.len());
        let mut is_first = false;
        for letter in name.bytes() {
            match (letter, is_first) {
                (b'_', _) => is_first = true,
                (_, true) => {
                    is_first = false;
                    key.push(char::from(letter.to_ascii_uppercase()));
                }
                (_, false) => key.push(char::from(letter)),
            }
        }
        self.0.remove(&key).unwrap_or_default()
    }

    pub(crate) fn read<T: DecodeJson>(&mut self, name: &str) -> Result<T, Error> {
        T::read(self.take(name)).map_err(|error| name_field(name, &error))
    }

    /// The name and the content of an object with one field.
    pub(crate) fn into_variant(self) -> Result<(String, Value), Error> {
        self.0.into_iter().next().ok_or_else(|| mismatch("a variant"))
    }
}

#[cold]
fn name_field(name: &str, error: &Error) -> Error {
    Error::custom(format_args!("`{name}`: {error}"))
}

/// Structs, with all of their fields.
macro_rules! records {
    ($($name:ident { $($field:ident)* })+) => {$(
        impl DecodeJson for $name {
            fn read(value: Value) -> Result<Self, Error> {
                let mut fields = JsonFields::new(value)?;
                Ok(Self { $($field: fields.read(stringify!($field))?,)* })
            }
        }
    )+};
}

/// Enums of names.
macro_rules! names {
    ($($name:ident { $($text:literal $variant:ident)* })+) => {$(
        impl DecodeJson for $name {
            fn read(value: Value) -> Result<Self, Error> {
                match value.as_str().unwrap_or_default() {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(super::fields::mismatch(stringify!($name))),
                }
            }
        }
    )+};
}

pub(super) use {names, records};

impl DecodeJson for Value {
    fn read(value: Value) -> Result<Self, Error> {
        Ok(value)
    }
}

impl DecodeJson for String {
    fn read(value: Value) -> Result<Self, Error> {
        if let Value::String(text) = value { Ok(text) } else { Err(mismatch("a string")) }
    }
}

impl DecodeJson for Map<String, Value> {
    fn read(value: Value) -> Result<Self, Error> {
        if let Value::Object(fields) = value { Ok(fields) } else { Err(mismatch("an object")) }
    }
}

impl DecodeJson for bool {
    /// Absent is false, as what is written says.
    fn read(value: Value) -> Result<Self, Error> {
        match value {
            Value::Bool(is) => Ok(is),
            Value::Null => Ok(false),
            Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                Err(mismatch("true or false"))
            }
        }
    }
}

impl DecodeJson for u64 {
    /// Absent is zero, as what is written says.
    fn read(value: Value) -> Result<Self, Error> {
        if value.is_null() {
            return Ok(0);
        }
        value.as_u64().ok_or_else(|| mismatch("a number"))
    }
}

impl DecodeJson for u32 {
    fn read(value: Value) -> Result<Self, Error> {
        u64::read(value)?.try_into().map_err(|_| mismatch("a small number"))
    }
}

impl<T: DecodeJson> DecodeJson for Option<T> {
    fn read(value: Value) -> Result<Self, Error> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }
}

impl<T: DecodeJson> DecodeJson for Box<T> {
    fn read(value: Value) -> Result<Self, Error> {
        T::read(value).map(Self::new)
    }
}

impl<T: DecodeJson> DecodeJson for Vec<T> {
    fn read(value: Value) -> Result<Self, Error> {
        let Value::Array(items) = value else { return Err(mismatch("a list")) };
        let mut read = Self::with_capacity(items.len());
        for item in items {
            read.push(T::read(item)?);
        }
        Ok(read)
    }
}

impl DecodeJson for Uuid {
    fn read(value: Value) -> Result<Self, Error> {
        let id = value.as_str().and_then(|text| Self::try_parse(text).ok());
        id.ok_or_else(|| mismatch("an id"))
    }
}

macro_rules! ids {
    ($($name:ident)+) => {$(
        impl DecodeJson for $name {
            fn read(value: Value) -> Result<Self, Error> {
                Uuid::read(value).map(Self::new)
            }
        }
    )+};
}

ids! { CellId ExecutionId NotebookId OutputId ProjectId RuntimeSessionId }

impl DecodeJson for Hash {
    fn read(value: Value) -> Result<Self, Error> {
        let hash = value.as_str().and_then(|text| Self::from_str(text).ok());
        hash.ok_or_else(|| mismatch("a hash"))
    }
}

impl DecodeJson for Actor {
    fn read(value: Value) -> Result<Self, Error> {
        let actor = value.as_str().and_then(|text| Self::from_str(text).ok());
        actor.ok_or_else(|| mismatch("an actor"))
    }
}
