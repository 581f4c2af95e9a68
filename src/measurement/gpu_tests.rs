use std::cell::Cell;

use super::*;

/// A device whose readings a test sets.
struct Fake {
    mj: Cell<u64>,
    limits: Cell<ThrottleReasons>,
    slowed: Cell<Option<SlowedNs>>,
    processes: Cell<Option<u32>>,
}

impl Gpu for &Fake {
    fn energy_mj(&self) -> Result<u64, String> {
        Ok(self.mj.get())
    }
    fn clock_mhz(&self, domain: Domain) -> Result<u32, String> {
        Ok(if domain == Domain::Sm { 1980 } else { 3201 })
    }
    fn max_clock_mhz(&self, _: Domain) -> Result<u32, String> {
        Ok(2100)
    }
    fn temperature_c(&self) -> Result<u32, String> {
        Err("temperature: not supported".to_owned())
    }
    fn limits(&self) -> Result<ThrottleReasons, String> {
        Ok(self.limits.get())
    }
    fn slowed_ns(&self) -> Result<SlowedNs, String> {
        self.slowed.get().ok_or_else(|| "not counted".to_owned())
    }
    fn utilization(&self, domain: Domain, since_us: u64) -> Result<Vec<Sample>, String> {
        let percent = if domain == Domain::Sm { 98 } else { 61 };
        Ok(vec![Sample { at_us: since_us + 1, percent }])
    }
    fn compute_processes(&self) -> Result<u32, String> {
        self.processes.get().ok_or_else(|| "not permitted".to_owned())
    }
}

fn fake() -> Fake {
    Fake {
        mj: Cell::new(0),
        limits: Cell::new(ThrottleReasons::NONE),
        slowed: Cell::new(Some(SlowedNs::default())),
        processes: Cell::new(Some(1)),
    }
}

fn probe(fake: &Fake) -> GpuProbe<&Fake> {
    GpuProbe::new(fake, "GPU X".to_owned(), "580.1".to_owned())
}

#[test]
fn energy_is_joules_and_never_runs_backwards_unnoticed() {
    let fake = fake();
    let mut probe = probe(&fake);
    // Beyond what 32 bits of millijoules hold.
    fake.mj.set(5_000_000_001);
    assert_eq!(probe.joules(), Ok(5_000_000.001));
    assert_eq!(probe.joules(), Ok(5_000_000.001), "no update yet is no error");
    fake.mj.set(7);
    let error = probe.joules().unwrap_err();
    assert!(error.contains("GPU X went back from 5000000001 mJ to 7 mJ"), "{error}");
    fake.mj.set(1007);
    assert_eq!(probe.joules(), Ok(1.007), "differences from here on are sound again");
    assert!(probe.describe().contains("GPU X"));
}

#[test]
fn idleness_and_settings_are_no_slow_down() {
    let fake = fake();
    let probe = probe(&fake);
    let harmless = ThrottleReasons::GPU_IDLE
        | ThrottleReasons::APPLICATIONS_CLOCKS_SETTING
        | ThrottleReasons::SYNC_BOOST
        | ThrottleReasons::DISPLAY_CLOCK_SETTING;
    assert_eq!(probe.is_idle(), Ok(false));
    fake.limits.set(harmless);
    assert_eq!(probe.is_idle(), Ok(true));
    assert_eq!(probe.slow_downs(), Ok(vec![]));
    fake.limits.set(ThrottleReasons::all());
    assert_eq!(probe.slow_downs().unwrap().len(), SLOW_DOWNS.len());
    fake.limits.set(harmless | ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_SLOWDOWN);
    assert_eq!(probe.slow_downs(), Ok(vec!["HW Slowdown".to_owned(), "SW Power Cap".to_owned()]));
}

#[test]
fn a_slow_down_that_came_and_went_is_seen_where_the_driver_counts() {
    let fake = fake();
    let mut probe = probe(&fake);
    let mut seen_after = |slowed: Option<(u64, u64)>, limits| {
        fake.slowed.set(slowed.map(|(power, heat)| SlowedNs { power, heat }));
        fake.limits.set(limits);
        probe.read();
        probe.throttle_reasons().len()
    };
    let none = ThrottleReasons::NONE;
    assert_eq!(seen_after(Some((100, 7)), none), 0, "before anybody looked");
    assert_eq!(seen_after(Some((101, 7)), none), 1);
    assert_eq!(seen_after(Some((101, 8)), none), 2);
    assert_eq!(seen_after(Some((101, 8)), none), 2, "since the last look");
    // Under the power limit its time grows, and that of heat says something new.
    assert_eq!(seen_after(Some((109, 8)), ThrottleReasons::SW_POWER_CAP), 3);
    assert_eq!(seen_after(Some((109, 9)), ThrottleReasons::HW_THERMAL_SLOWDOWN), 4);
    let expected =
        ["power, for a moment", "heat, for a moment", "SW Power Cap", "HW Thermal Slowdown"];
    let reasons = probe.throttle_reasons();
    assert_eq!(reasons, expected);
    assert_eq!(
        reasons.iter().map(|it| is_power(it)).collect::<Vec<_>>(),
        [true, false, true, false]
    );
}

#[test]
fn heat_that_came_and_went_under_the_power_limit_is_seen() {
    let fake = fake();
    let mut probe = probe(&fake);
    fake.limits.set(ThrottleReasons::SW_POWER_CAP);
    probe.read();
    fake.slowed.set(Some(SlowedNs { power: 9, heat: 1 }));
    probe.read();
    assert_eq!(probe.throttle_reasons(), ["SW Power Cap", "heat, for a moment"]);
}

#[test]
fn a_reading_covers_the_time_since_the_last_one() {
    let fake = fake();
    let mut probe = probe(&fake);
    let quiet = Reading { clock_mhz: Some(1980.0), temperature_c: None };
    assert_eq!(probe.read(), quiet);
    fake.slowed.set(Some(SlowedNs { power: 5, heat: 0 }));
    assert_eq!(probe.read(), quiet);
    assert_eq!(probe.throttle_reasons(), ["power, for a moment"]);
    assert_eq!(probe.read(), quiet);
    // The counter is lost between two readings: said, and not taken for a slow-down.
    fake.slowed.set(None);
    assert_eq!(probe.read(), quiet);
    let seen = probe.throttle_reasons();
    assert_eq!(seen, ["power, for a moment", "not known: not counted"]);
    assert!(probe.clock_method().starts_with("NVML"));
}

#[test]
fn readings_are_of_their_domain_and_errors_are_passed_on() {
    let fake = fake();
    let probe = probe(&fake);
    assert_eq!((probe.clock_mhz(), probe.memory_clock_mhz()), (Ok(1980.0), Ok(3201.0)));
    assert_eq!(probe.max_clock_mhz(), Ok(2100.0));
    assert_eq!(probe.temperature_c(), Err("temperature: not supported".to_owned()));
    assert_eq!(probe.driver_version(), "580.1");
}

#[test]
fn samples_are_of_their_part_and_say_who_else_is_in_them() {
    let fake = fake();
    let probe = probe(&fake);
    let expected = Samples {
        sm: vec![Sample { at_us: 8, percent: 98 }],
        memory: vec![Sample { at_us: 8, percent: 61 }],
    };
    assert_eq!(probe.samples(7), Ok(expected));
    let method = probe.method();
    assert!(method.contains("GPU X") && method.ends_with("it sees 1 computing"), "{method}");
    fake.processes.set(None);
    let method = probe.method();
    assert!(method.ends_with("how many compute is not known: not permitted"), "{method}");
}
