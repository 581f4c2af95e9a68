use super::*;

const HALF_WIDTH: f64 = 0.01;

fn within(ratio: f64, half_width: f64) -> Ratio {
    Ratio { ratio, low: ratio * (1.0 - half_width), high: ratio * (1.0 + half_width) }
}

/// A candidate with a speed-up at each of the shapes 1, 2, …, whose baselines take 1000 ns each.
fn candidate(variant: &str, speedups: &[f64], bytes: u64) -> Candidate {
    let part = |(place, &ratio): (usize, &f64)| Part {
        phase: place,
        shape: Shape::new(1 + place as u64, 64, 64),
        baseline_ns: 1000.0,
        speedup: if variant == "baseline" { Ratio::ONE } else { within(ratio, HALF_WIDTH) },
    };
    let parts = speedups.iter().enumerate().map(part).collect();
    let variant = Variant::eager(variant.parse().expect("a recipe"));
    Candidate { variant, parts, bytes, sqnr_db: None, joules: None }
}

/// The choices, on the front of the groups.
fn choose(groups: &[Vec<Candidate>], objective: Objective) -> Result<Vec<Choice>, TooFewBytes> {
    super::choose(groups, &front(groups), objective)
}

fn chosen(groups: &[Vec<Candidate>], objective: Objective) -> Vec<String> {
    let choices = choose(groups, objective).expect("it fits");
    let names = groups.iter().zip(choices).map(|(group, it)| group[it.chosen].variant.to_string());
    names.collect()
}

/// A pseudo-random number below `end`.
fn random(state: &mut u64, end: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % end
}

#[test]
fn a_recipe_that_is_slow_in_one_shape_is_not_chosen() {
    let group = |prefill| {
        let [baseline, fast] = [&[1.0, 1.0][..], &[2.0, prefill]];
        vec![candidate("baseline", baseline, 200), candidate("int8wo", fast, 100)]
    };
    assert_eq!(chosen(&[group(1.0)], Objective::Fastest), ["int8wo"]);
    // 500 + 2500 ns are more than 2000.
    assert_eq!(chosen(&[group(0.4)], Objective::Fastest), ["baseline"]);
    // Each group by itself.
    assert_eq!(chosen(&[group(0.4), group(1.5)], Objective::Fastest), ["baseline", "int8wo"]);
}

#[test]
fn nothing_is_quantized_for_nothing() {
    let group = vec![candidate("baseline", &[1.0], 200), candidate("int8wo", &[1.005], 100)];
    let group = [group];
    let choices = choose(&group, Objective::Fastest).expect("no limit");
    assert_eq!(choices, [Choice { chosen: 0, rivals: vec![1] }]);
    // Bytes are a reason, too.
    assert_eq!(chosen(&group, Objective::Smallest { within: 0.1 }), ["int8wo"]);
    assert_eq!(chosen(&group, Objective::Memory { bytes: 150 }), ["int8wo"]);
    assert_eq!(chosen(&group, Objective::Memory { bytes: 250 }), ["baseline"]);
}

#[test]
fn it_is_undecided_where_intervals_meet() {
    let group = |second| {
        let [first, second] = [candidate("int8wo", &[2.0], 1), candidate("int8dq", &[second], 1)];
        vec![candidate("baseline", &[1.0], 2), first, second]
    };
    let choice = |second| choose(&[group(second)], Objective::Fastest).expect("no limit").remove(0);
    // Both have errors of 1 %: their ratio has 1.4 %.
    assert_eq!(choice(1.98), Choice { chosen: 1, rivals: vec![2] });
    assert_eq!(choice(1.96), Choice { chosen: 1, rivals: vec![] });
    // The second one is smaller than anything within 3 % for certain, but perhaps not for certain within 5.
    let smaller = |within| {
        let mut group = group(1.90);
        group[2].bytes = 0;
        choose(&[group], Objective::Smallest { within }).expect("no limit").remove(0)
    };
    assert_eq!(smaller(0.03), Choice { chosen: 1, rivals: vec![] });
    assert_eq!(smaller(0.05), Choice { chosen: 1, rivals: vec![2] });
    assert_eq!(smaller(0.06), Choice { chosen: 2, rivals: vec![] });
}

#[test]
fn errors_of_one_shape_are_one_and_those_of_several_independent() {
    let half_width = |parts: &[(u64, f64)]| {
        let part = |&(m, baseline_ns): &(u64, f64)| {
            let shape = Shape::new(m, 64, 64);
            Part { phase: 0, shape, baseline_ns, speedup: within(2.0, HALF_WIDTH) }
        };
        let parts = parts.iter().map(part).collect();
        let it = Candidate { parts, ..candidate("int8wo", &[], 0) };
        let Ratio { ratio, low, high } = over_baseline(&[&it]);
        assert!((ratio - 2.0).abs() < 1e-12, "{ratio}");
        (high / low).ln() / 2.0
    };
    let one = half_width(&[(1, 1000.0)]);
    assert!((one - HALF_WIDTH).abs() < 1e-5, "{one}");
    assert!((half_width(&[(1, 300.0), (1, 700.0)]) - one).abs() < 1e-12);
    assert!((half_width(&[(1, 500.0), (2, 500.0)]) - one / 2_f64.sqrt()).abs() < 1e-12);
    // Also where two groups have the shape.
    let group = candidate("int8wo", &[2.0], 0);
    assert_eq!(over_baseline(&[&group, &group]), over_baseline(&[&group]));
    let other = candidate("int8dq", &[2.0], 0);
    assert!(over_baseline(&[&group, &other]).half_width() < 0.8 * HALF_WIDTH);
    assert_eq!(over([&group, &other], [&group, &other]), Ratio::ONE);
}

#[test]
fn a_limit_that_nothing_meets_is_an_error() {
    let group = vec![candidate("baseline", &[1.0], 200), candidate("int8wo", &[2.0], 100)];
    let two = [group.clone(), group];
    let refused = choose(&two, Objective::Memory { bytes: 199 });
    assert_eq!(refused, Err(TooFewBytes { least: 200 }));
    assert_eq!(chosen(&two, Objective::Memory { bytes: 200 }), ["int8wo", "int8wo"]);
}

/// All combinations of small random groups: the front holds the best for every limit.
#[test]
fn it_is_the_exact_optimum() {
    let mut state = 46;
    for _ in 0..200 {
        let groups: Vec<Vec<Candidate>> = (0..4)
            .map(|_| {
                let mut one = |place: usize| {
                    let speedup = 0.5 + random(&mut state, 3000) as f64 / 1000.0;
                    let bytes = 50 + random(&mut state, 200);
                    let names = ["baseline", "int8wo", "int8dq", "fp6"];
                    candidate(names[place], &[speedup], bytes)
                };
                (0..4).map(&mut one).collect()
            })
            .collect();
        let all: Vec<State> = (0..256)
            .map(|it| State::of(&groups, (0..4).map(|place| it >> (2 * place) & 3).collect()))
            .collect();
        let front = front(&groups);
        for limit in (200..1000).step_by(20) {
            let fits = |it: &&State| it.bytes <= limit;
            let exact = all.iter().filter(fits).map(|it| it.ns).reduce(f64::min);
            let found = front.iter().filter(fits).map(|it| it.ns).reduce(f64::min);
            let close = exact.zip(found).is_none_or(|(a, b)| (a / b - 1.0).abs() < 1e-12);
            assert!(close && exact.is_some() == found.is_some(), "{limit}: {exact:?} {found:?}");
        }
        let least = front.last().expect("four groups").ns;
        let within = |it: &&State| it.ns <= 1.05 * least;
        let exact = all.iter().filter(within).map(|it| it.bytes).min();
        assert_eq!(front.iter().find(within).map(|it| it.bytes), exact);
        never_slower_than_one_recipe(&groups);
    }
}

fn never_slower_than_one_recipe(groups: &[Vec<Candidate>]) {
    let choices = choose(groups, Objective::Fastest).expect("no limit");
    let chosen = groups.iter().zip(&choices).map(|(group, it)| &group[it.chosen]);
    let chosen: Vec<&Candidate> = chosen.collect();
    for place in 0..groups[0].len() {
        let single: Vec<&Candidate> = groups.iter().map(|group| &group[place]).collect();
        let [own, other] = [&chosen, &single].map(|it| it.iter().map(|it| it.ns()).sum::<f64>());
        // A baseline that wins a tie may be slower by the interval of what it beat.
        assert!(own <= other * (1.0 + 1.1 * HALF_WIDTH), "{own} {other}");
        let decided = choices.iter().all(|it| it.rivals.is_empty());
        assert!(!decided || own <= other * (1.0 + 1e-12), "{own} {other}");
    }
}

#[test]
fn a_block_gains_less_than_its_layers() {
    let exact = |ns| TimeEstimate { ns, half_width_ns: 0.0 };
    let ratio = |ratio| Ratio { ratio, low: ratio, high: ratio };
    let products = [(exact(600.0), ratio(2.0)), (exact(200.0), ratio(4.0))];
    // 200 ns are no products: 1000 / (200 + 300 + 50).
    let whole = predicted(exact(1000.0), &products);
    assert!((whole.ratio - 1000.0 / 550.0).abs() < 1e-12);
    assert!((whole.high / whole.low - 1.0).abs() < 1e-12);
    // Products that take longer than the block leave no rest.
    assert!((predicted(exact(700.0), &products).ratio - 800.0 / 350.0).abs() < 1e-12);
}

/// The interval holds 19 of 20 ratios of times and speed-ups that are drawn within theirs.
#[test]
fn the_interval_of_a_block_has_the_errors_of_its_terms() {
    let mut state = 1;
    // The sum of twelve uniform numbers has the variance 1.
    let mut normal = || {
        (0..12).map(|_| random(&mut state, 1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
    };
    let (mut inside, all) = (0, 2000);
    for _ in 0..all {
        let mut near = |value: f64| value * (1.0 + 0.02 * normal() / 1.96);
        let time = |ns: f64| TimeEstimate { ns, half_width_ns: 0.02 * ns };
        let block = time(near(1000.0));
        let products = [(600.0, 2.0), (200.0, 0.5)]
            .map(|(ns, ratio)| (time(near(ns)), within(near(ratio), 0.02)));
        let found = predicted(block, &products);
        let truth = 1000.0 / (200.0 + 300.0 + 400.0);
        inside += usize::from((found.low..=found.high).contains(&truth));
    }
    let share = inside as f64 / f64::from(all);
    assert!((0.93..0.97).contains(&share), "{share}");
}
