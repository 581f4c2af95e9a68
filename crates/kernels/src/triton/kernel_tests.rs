use tch::Kind;

use super::*;

fn pointer(address: usize) -> Argument {
    Argument::Pointer(ptr::without_provenance_mut(address))
}

#[test]
fn a_promise_is_kept_by_every_argument_or_not_given() {
    let aligned = [pointer(0x1000), Argument::Long(768), Argument::Int(3)];
    assert!(are_aligned(&aligned, &[0, 1]));
    assert!(!are_aligned(&aligned, &[0, 1, 2]));
    assert!(!are_aligned(&[pointer(0x1008), Argument::Long(768)], &[0, 1]));
    assert!(!are_aligned(&[pointer(0x1000), Argument::Long(760)], &[0, 1]));
    assert!(are_aligned(&[pointer(0x1008), Argument::Long(768)], &[1]));
}

#[test]
fn arguments_are_told_by_their_type() {
    let arguments = [pointer(16), Argument::Int(1), Argument::Long(1)];
    let types = [Type::Pointer(Kind::Half), Type::Int, Type::Long];
    for (i, argument) in arguments.iter().enumerate() {
        for (j, it) in types.iter().enumerate() {
            assert_eq!(is_of(*argument, *it), i == j, "{argument:?} {it:?}");
        }
    }
}

#[test]
fn two_null_addresses_follow_the_arguments() {
    let all = with_hidden(&[pointer(16), Argument::Int(1)]);
    assert_eq!(all.len(), 4);
    assert!(
        all[2..].iter().all(|it| matches!(it, Argument::Pointer(address) if address.is_null()))
    );
}

#[test]
fn other_devices_are_refused() {
    let refusal =
        crate::triton::OperatorKernels::load(plan::Operator::Softmax, 8, Kind::Float, Device::Cpu);
    let expected = Refusal::Unsupported("a Triton kernel on Cpu".to_owned());
    assert_eq!(refusal.expect_err("on the CPU"), expected);
}
