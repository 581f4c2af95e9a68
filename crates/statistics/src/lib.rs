//! The statistics of criterion-torch: paired ratios with bootstrap intervals, when to stop taking
//! more of them, and how many samples a case needs. Pure functions of numbers, no clock, no torch.
