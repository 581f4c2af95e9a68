//! criterion-torch.

pub mod native;
