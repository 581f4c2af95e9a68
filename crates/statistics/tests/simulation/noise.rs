//! Batch times as a disturbed machine gives them, one after the other in real order.

use std::f64::consts::TAU;

use fastrand::Rng;

/// Disturbances of a machine, besides the noise of each batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Model {
    /// Nothing.
    Independent,
    /// A disturbance that decays by this factor from batch to batch; it is all of the noise.
    Autoregressive(f64),
    /// Two frequencies, 30 % apart. A batch keeps the last one's with this probability: at 0.5
    /// each draws its own.
    Bimodal(f64),
    /// Over 48 batches, as many as 12 blocks have, times fall from 20 % above their mean to 20 %
    /// below, then rise again as long.
    Drift,
    /// 5 % of batches take 2 to 10 times as long.
    Outliers,
    /// Sticky frequencies, autoregression, drift and outliers at once.
    Mixture,
}

impl Model {
    pub const ALL: [Self; 9] = [
        Self::Independent,
        Self::Autoregressive(0.5),
        Self::Autoregressive(0.9),
        Self::Bimodal(0.5),
        Self::Bimodal(0.9),
        Self::Bimodal(0.98),
        Self::Drift,
        Self::Outliers,
        Self::Mixture,
    ];
}

/// The noise of one run.
pub struct Noise {
    model: Model,
    /// Standard deviation of ln(time of a batch), the model's own disturbance aside.
    sd: f64,
    random: Rng,
    taken: usize,
    slow: bool,
    lasting: f64,
}

impl Noise {
    pub fn new(model: Model, sd: f64, seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let slow = random.bool();
        let lasting = normal(&mut random);
        Self { model, sd, random, taken: 0, slow, lasting }
    }

    /// The factor by which noise lengthens the next batch.
    pub fn next(&mut self) -> f64 {
        let ln = match self.model {
            Model::Independent => self.independent(),
            Model::Autoregressive(factor) => self.decaying(factor),
            Model::Bimodal(stay) => self.independent() + self.frequency(stay),
            Model::Drift => self.independent() + self.drift(),
            Model::Outliers => self.independent() + self.outlier(),
            Model::Mixture => {
                self.decaying(0.9) + self.frequency(0.95) + self.drift() + self.outlier()
            }
        };
        self.taken += 1;
        ln.exp()
    }

    fn independent(&mut self) -> f64 {
        self.sd * normal(&mut self.random)
    }

    fn decaying(&mut self, factor: f64) -> f64 {
        let fresh = normal(&mut self.random);
        self.lasting = factor * self.lasting + (1.0 - factor * factor).sqrt() * fresh;
        self.sd * self.lasting
    }

    fn frequency(&mut self, stay: f64) -> f64 {
        if self.random.f64() >= stay {
            self.slow = !self.slow;
        }
        if self.slow { 1.3_f64.ln() } else { 0.0 }
    }

    fn drift(&self) -> f64 {
        let way = (self.taken % 96) as f64 / 48.0;
        (0.8 + 0.4 * (way - 1.0).abs()).ln()
    }

    fn outlier(&mut self) -> f64 {
        if self.random.f64() < 0.05 { (2.0 + 8.0 * self.random.f64()).ln() } else { 0.0 }
    }
}

/// A standard normal number (Box–Muller).
pub fn normal(random: &mut Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos()
}
