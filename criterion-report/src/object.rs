//! Objects of documents as tables of names and values, written in their order.

use serde::ser::SerializeMap;

use crate::model::{Column, Entry};

/// Names and values that can stand among those of another object.
pub trait Fields {
    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

impl<T: Fields> Fields for Option<T> {
    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.as_ref().map_or(Ok(()), |fields| fields.put(map))
    }
}

/// Values of the catalogue under the names that a document has for them; null where a case lacks them.
pub struct Columns<'a>(pub &'static [Column], pub Option<Entry<'a>>);

impl Fields for Columns<'_> {
    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Self(columns, entry) = self;
        let value = |column: &Column| column.value(entry.as_ref()?);
        columns.iter().try_for_each(|column| map.serialize_entry(column.name, &value(column)))
    }
}

/// Says which names and values the objects of types have: `Type => |it| { "name": value, … }`. In
/// the place of a name `_` stands for all [`Fields`] of its value. Bindings that several values
/// need are in brackets before the braces.
macro_rules! object {
    ($($type:ty => |$it:ident| $([$($local:ident = $init:expr;)*])? {
        $($key:tt: $value:expr,)*
    })*) => {$(
        impl $crate::object::Fields for $type {
            fn put<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                let $it = self;
                $($(let $local = $init;)*)?
                $($crate::object::object!(@put map $key $value);)*
                Ok(())
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $crate::object::Fields::put(self, &mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }
    )*};
    (@put $map:ident _ $value:expr) => { $crate::object::Fields::put(&$value, $map)? };
    (@put $map:ident $key:tt $value:expr) => { $map.serialize_entry($key, &$value)? };
}

pub(crate) use object;
