//! Objects of documents as tables of names and values, written in their order.

use serde_json::{Map, Value};

/// An object of these names and values.
pub fn map<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

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
