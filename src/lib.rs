//! criterion-torch.
