//! The part of the library that the generated source and the files of kernels name. It measures
//! nothing: what is compiled against it is what is tested.

pub struct Criterion;

pub struct Session;

impl Session {
    pub fn group(&mut self, _criterion: &mut Criterion, _index: usize) {}
}

pub type GroupFn = fn(&mut Criterion, &mut Session);

type Prepare = fn(&kernel::Case) -> Result<Box<dyn kernel::Workload>, kernel::Refusal>;

pub fn main(groups: &[GroupFn], prepare: Prepare) {
    groups.iter().for_each(|group| group(&mut Criterion, &mut Session));
    let _ = prepare(&kernel::Case);
}

pub mod kernel {
    pub struct Case;

    pub trait Workload {}

    pub struct Refusal;

    pub struct Tensor;

    pub struct Inputs;

    #[derive(Clone, Copy)]
    pub enum Dtype {
        Float64,
        Float32,
        Float8E4M3Fn,
    }

    impl Dtype {
        pub fn bytes(self) -> u64 {
            4
        }
    }

    #[derive(Clone)]
    pub struct KernelContext {
        pub dtype: Dtype,
    }

    pub trait Element: Copy + 'static {}

    impl Element for f64 {}

    impl Element for f32 {}

    pub trait IntoTensor {}

    impl IntoTensor for Tensor {}

    impl<T: Element> IntoTensor for Vec<T> {}

    pub trait Task {
        fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal>;
    }

    pub trait Kernel: Sized {
        type ProblemSize: 'static;
        fn prepare(
            size: &Self::ProblemSize,
            parameters: &[Tensor],
            context: &KernelContext,
        ) -> Result<Self, Refusal>;
        fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal>;
        fn output(&self) -> Result<Tensor, Refusal>;
    }

    pub mod prelude {
        pub use super::{
            Dtype, Element, Inputs, IntoTensor, Kernel, KernelContext, Refusal, Task, Tensor,
        };
    }

    pub mod generated {
        pub use super::{
            Case, Dtype, IntoTensor, Kernel, KernelContext, Refusal, Task, Tensor, Workload,
        };
        pub use crate::in_precision;

        pub type Fields = std::collections::BTreeMap<String, Value>;

        /// Stands for `serde_json`'s.
        pub struct Value;

        pub struct UserKernel;

        pub struct Entry {
            pub file: &'static str,
            pub kernel: fn(&Fields, &KernelContext) -> Result<UserKernel, Refusal>,
        }

        pub struct Problem<S>(S);

        impl<S: Task> Problem<S> {
            pub fn of_task(size: S, _shown: Fields) -> Self {
                Self(size)
            }
        }

        impl<S> Problem<S> {
            pub fn without_task(
                size: S,
                _shown: Fields,
                _reference: Option<fn(&S, &KernelContext) -> Result<Tensor, Refusal>>,
            ) -> Self {
                Self(size)
            }
        }

        pub struct Function<S: 'static, R> {
            pub run: fn(&'static S, &'static KernelContext) -> Result<R, Refusal>,
            pub flops: Option<fn(&S) -> u64>,
            pub bytes: Option<fn(&S, Dtype) -> u64>,
        }

        pub fn read<T>(_given: &Fields, _field: &str) -> Result<Option<T>, Refusal> {
            Ok(None)
        }

        pub fn required<T>(_given: &Fields, _field: &str) -> Result<T, Refusal> {
            Err(Refusal)
        }

        pub fn show<T>(_value: &T) -> Value {
            Value
        }

        pub fn kernel<K: Kernel>(
            _problem: Problem<K::ProblemSize>,
            _context: &KernelContext,
        ) -> UserKernel {
            UserKernel
        }

        pub fn function<S: 'static, R: IntoTensor + 'static>(
            _problem: Problem<S>,
            _context: &KernelContext,
            _parts: Function<S, R>,
        ) -> Result<UserKernel, Refusal> {
            Ok(UserKernel)
        }

        /// Traits of the files of recipes and models.
        pub trait Scheme {}

        pub trait Architecture {}

        pub struct UserDefinition<T: ?Sized + 'static> {
            pub spelling: &'static str,
            pub make: fn(&[u64]) -> Result<Box<T>, Refusal>,
        }

        pub fn number<N: TryFrom<u64>>(numbers: &[u64], place: usize) -> Result<N, Refusal> {
            N::try_from(numbers[place]).map_err(|_| Refusal)
        }

        pub fn register(
            recipes: &'static [UserDefinition<dyn Scheme>],
            models: &'static [UserDefinition<dyn Architecture>],
        ) {
            for UserDefinition { spelling, make } in recipes {
                assert!(make(&[1, 2]).is_ok(), "{spelling}");
            }
            for UserDefinition { spelling, make } in models {
                assert!(make(&[1, 2]).is_ok(), "{spelling}");
            }
        }

        pub fn prepare(kernels: &[Entry], _case: &Case) -> Result<Box<dyn Workload>, Refusal> {
            let entry = kernels.iter().find(|entry| entry.file.is_empty()).ok_or(Refusal)?;
            (entry.kernel)(&Fields::new(), &KernelContext { dtype: Dtype::Float32 })?;
            Err(Refusal)
        }
    }
}

#[macro_export]
macro_rules! in_precision {
    ($context:expr, $T:ident => $body:expr) => {
        match $context.dtype {
            $crate::kernel::Dtype::Float64 => {
                type $T = f64;
                $body
            }
            $crate::kernel::Dtype::Float32 => {
                type $T = f32;
                $body
            }
            $crate::kernel::Dtype::Float8E4M3Fn => Err($crate::kernel::Refusal),
        }
    };
}
