//! Patterns that are being written.
use plan::{Dtype, Pattern};
use tch::TchError;

use super::{Fusible, Inputs, Site, Step};
use crate::refusal::Refusal;

pub(super) struct Later(pub(super) Pattern);

impl Fusible for Later {
    fn draw(&self, _: &Site) -> Result<Inputs, TchError> {
        Err(TchError::Kind(format!("{} is not built", self.0)))
    }
    fn check(&self, _: &Site) -> Result<(), String> {
        Err(format!("{} is not built", self.0))
    }
    fn build(&self, site: &Site, _: Inputs) -> Result<Step, Refusal> {
        Err(site.refuse("not built".to_owned()))
    }
    fn min_sqnr_db(&self, _: Dtype) -> f64 {
        0.0
    }
}
