//! Objects of documents as tables of names and values, written in their order.

use serde::ser::SerializeMap;
use serde_json::{Map, Value};

/// An object of these names and values.
pub fn map<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Names and values that can stand among those of another object.
pub trait Fields {
    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

impl<T: Fields> Fields for Option<T> {
    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.as_ref().map_or(Ok(()), |fields| fields.put(map))
    }
}

/// Says which names and values the objects of types have: `Type => |it| { "name": value, … }`. In
/// the place of a name `_` stands for all [`Fields`] of its value. Bindings that several values
/// need are in brackets before the braces.
macro_rules! object {
    ($($type:ty => |$it:ident| $([$($local:pat = $init:expr;)*])? {
        $($key:tt: $value:expr,)*
    })*) => {$(
        impl $crate::render::object::Fields for $type {
            fn put<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                let $it = self;
                $($(let $local = $init;)*)?
                $($crate::render::object::object!(@put map $key $value);)*
                Ok(())
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $crate::render::object::Fields::put(self, &mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }
    )*};
    (@put $map:ident _ $value:expr) => { $crate::render::object::Fields::put(&$value, $map)? };
    (@put $map:ident $key:tt $value:expr) => { $map.serialize_entry($key, &$value)? };
}

pub(crate) use object;

/// Objects as structs, with a schema: each field with its description, its type and, behind `=`, its value, which
/// follows from the arguments of the function before the braces. Bindings that several values need are in brackets before
/// the braces.
macro_rules! document {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? = $of:ident($($arg:ident: $arg_type:ty),*)
        $([$($local:pat = $init:expr;)*])? {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty = $value:expr,)*
        }
    )*) => {$(
        #[derive(serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        $(#[$meta])*
        $vis struct $name $(<$life>)? {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl $(<$life>)? $name $(<$life>)? {
            $vis fn $of($($arg: $arg_type),*) -> Self {
                $($(let $local = $init;)*)?
                Self { $($field: $value,)* }
            }
        }
    )*};
}

pub(crate) use document;
