use super::*;

fn operations() -> impl Iterator<Item = Probe> {
    Probe::ALL.iter().copied().filter(Probe::is_stream)
}

/// Elements with a rest for every step of a pass, of every width.
const ODD: [usize; 8] = [1, 3, 15, 17, 63, 127, 1000, 4099];

fn check(stream: &Stream, what: &str) {
    assert_eq!(stream.output().len(), stream.elements, "{what}");
    for (index, (found, expected)) in stream.output().iter().zip(stream.reference()).enumerate() {
        assert_eq!(f64::from(*found), expected, "{what}: element {index}");
    }
}

#[test]
fn every_operation_is_what_float64_says_with_every_capability() {
    for capability in Capability::available() {
        for operation in operations() {
            for elements in ODD {
                let mut stream = Stream::with_capability(capability, operation, elements).unwrap();
                stream.run(1).unwrap();
                check(&stream, &format!("{operation} of {elements}, {capability:?}"));
            }
        }
    }
}

#[test]
fn the_reference_is_streams_own() {
    for operation in operations() {
        let expected: fn(f64, f64) -> f64 = match operation {
            Probe::Copy => |x, _| x,
            Probe::Scale => |x, _| 3.0 * x,
            Probe::Add => |x, y| x + y,
            Probe::Triad => |x, y| x + 3.0 * y,
            other => panic!("no formula of `{other}` to compare with"),
        };
        let stream = Stream::new(operation, 5000).unwrap();
        let (x, y) = (stream.values(0), stream.values(1));
        assert!(x != y && x[..2000] != x[2000..4000], "elements that can be told apart");
        for (index, found) in stream.reference().enumerate() {
            assert_eq!(found, expected(x[index].into(), y[index].into()), "{operation} {index}");
        }
    }
}

#[test]
fn nothing_is_written_before_the_first_pass_and_nothing_else_by_it() {
    for operation in operations() {
        let mut stream = Stream::new(operation, 777).unwrap();
        let inputs = [stream.values(0).to_vec(), stream.values(1).to_vec()];
        stream.run(0).unwrap();
        assert!(stream.output().iter().all(|value| value.is_nan()), "{operation}");
        stream.run(3).unwrap();
        check(&stream, operation.as_str());
        assert_eq!([stream.values(0), stream.values(1)], [&inputs[0][..], &inputs[1]]);
    }
}

#[test]
fn every_pass_is_made() {
    // In place, an operation that changes its input shows how often it ran.
    for capability in Capability::available() {
        for passes in [1_u64, 2, 5, 9] {
            let mut values = vec![1.0_f32; 100];
            let x = values.as_mut_ptr();
            let part = Chunk { x, y: x, output: x, elements: 100 };
            // SAFETY: available; a hundred elements, which nobody else has.
            unsafe { passes::run(Probe::Scale, capability, part, passes) };
            assert_eq!(values, [3_f32.powi(passes as i32); 100], "{capability:?}");
        }
    }
}

#[test]
fn threads_change_no_value() {
    let threads = tch::get_num_threads();
    for count in [1, 2, 3] {
        for operation in operations() {
            for elements in [1, 33, 10_001] {
                tch::set_num_threads(count);
                let mut stream = Stream::new(operation, elements).unwrap();
                stream.run(2).unwrap();
                tch::set_num_threads(threads);
                check(&stream, &format!("{operation} of {elements} on {count} threads"));
            }
        }
    }
}

#[test]
fn arrays_begin_at_lines_and_apart_from_one_another() {
    for elements in [1, 2048, 4096, 4099, 1 << 20] {
        let stream = Stream::new(Probe::Triad, elements).unwrap();
        let [x, y, output] = [0, 1, 2].map(|index| stream.array(index).addr());
        assert!([x, y, output].iter().all(|address| address % 64 == 0), "{elements}");
        for (from, to) in [(x, y), (y, output), (x, output)] {
            assert!(to - from >= elements * 4);
            // A third of a page, or two.
            assert!((1024..=3072).contains(&((to - from) % 4096)), "{elements}");
        }
    }
}

#[test]
fn what_runs_is_named() {
    for capability in Capability::available() {
        for operation in operations() {
            let stream = Stream::with_capability(capability, operation, 1).unwrap();
            let used = format!("{:?}", capability.min(Capability::Avx512)).to_lowercase();
            assert_eq!(stream.kernel(), format!("criterion_torch::stream_{operation}_{used}"));
        }
    }
}

#[test]
fn what_is_no_array_operation_is_refused() {
    for operation in Probe::ALL.iter().copied().filter(|it| !it.is_stream()) {
        let error = Stream::new(operation, 16).unwrap_err().to_string();
        assert!(error.contains(&format!("`{operation}` is not one of STREAM")), "{error}");
    }
    for elements in [0, MOST + 1, usize::MAX] {
        let error = Stream::new(Probe::Copy, elements).unwrap_err().to_string();
        assert!(error.contains(&format!("arrays of {elements} elements")), "{error}");
    }
    // Torch's own error.
    assert!(Stream::new(Probe::Copy, MOST).is_err());
}
