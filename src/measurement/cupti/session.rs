//! One counting session: the profiler, its host API (metrics) and its range API (counting).

use std::ffi::CStr;
use std::mem;

use cudarc::cupti::sys;
use cudarc::driver::sys::CUcontext;

use super::library::{accepted, call, has};
use super::{METRICS, Values};
use crate::measurement::profiler::Subject;

/// More passes than this mean that CUPTI lost some: these metrics take about five.
const MOST_PASSES: usize = 64;

/// CUPTI's profiler, which is initialized until this is dropped.
pub struct Profiler;

impl Profiler {
    pub fn start() -> Result<Self, String> {
        call!(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params..pPriv).map(|_| Self)
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        // `drop` cannot report an error. If the profiler stays on, the next session is refused with a reason. The same
        // holds for the other `drop`s below.
        drop(call!(cuptiProfilerDeInitialize, CUpti_Profiler_DeInitialize_Params..pPriv));
    }
}

/// CUPTI's profiler host API, which translates metrics for one kind of GPU.
pub struct Host {
    object: *mut sys::CUpti_Profiler_Host_Object,
    /// The counter availability image. The host object refers to it, so it must live as long.
    _available: Vec<u8>,
}

impl Host {
    pub fn new(context: CUcontext, device: usize) -> Result<Self, String> {
        let chip = call!(
            cuptiDeviceGetChipName,
            CUpti_Device_GetChipName_Params..pChipName,
            deviceIndex: device,
        )?;
        let size = call!(
            cuptiProfilerGetCounterAvailability,
            CUpti_Profiler_GetCounterAvailability_Params..pCounterAvailabilityImage,
            ctx: context,
        )?;
        let mut available = vec![0; size.counterAvailabilityImageSize];
        call!(
            cuptiProfilerGetCounterAvailability,
            CUpti_Profiler_GetCounterAvailability_Params..pCounterAvailabilityImage,
            ctx: context,
            counterAvailabilityImageSize: available.len(),
            pCounterAvailabilityImage: available.as_mut_ptr(),
        )?;
        let host = call!(
            cuptiProfilerHostInitialize,
            CUpti_Profiler_Host_Initialize_Params..pHostObject,
            profilerType: sys::CUpti_ProfilerType::CUPTI_PROFILER_TYPE_RANGE_PROFILER,
            pChipName: chip.pChipName,
            pCounterAvailabilityImage: available.as_ptr(),
        )?;
        Ok(Self { object: host.pHostObject, _available: available })
    }

    /// The configuration image that tells a GPU to count the metrics.
    pub fn config(&self) -> Result<Vec<u8>, String> {
        let mut names = METRICS.map(CStr::as_ptr);
        call!(
            cuptiProfilerHostConfigAddMetrics,
            CUpti_Profiler_Host_ConfigAddMetrics_Params..numMetrics,
            pHostObject: self.object,
            ppMetricNames: names.as_mut_ptr(),
            numMetrics: names.len(),
        )?;
        let size = call!(
            cuptiProfilerHostGetConfigImageSize,
            CUpti_Profiler_Host_GetConfigImageSize_Params..configImageSize,
            pHostObject: self.object,
        )?;
        let mut image = vec![0; size.configImageSize];
        call!(
            cuptiProfilerHostGetConfigImage,
            CUpti_Profiler_Host_GetConfigImage_Params..pConfigImage,
            pHostObject: self.object,
            configImageSize: image.len(),
            pConfigImage: image.as_mut_ptr(),
        )?;
        Ok(image)
    }

    /// Evaluates the metrics of the only range in the image.
    pub fn evaluate(&self, image: &[u8]) -> Result<Values, String> {
        let mut names = METRICS.map(CStr::as_ptr);
        let mut values = Values::default();
        call!(
            cuptiProfilerHostEvaluateToGpuValues,
            CUpti_Profiler_Host_EvaluateToGpuValues_Params..pMetricValues,
            pHostObject: self.object,
            pCounterDataImage: image.as_ptr(),
            counterDataImageSize: image.len(),
            rangeIndex: 0,
            ppMetricNames: names.as_mut_ptr(),
            numMetrics: names.len(),
            pMetricValues: values.as_mut_ptr(),
        )?;
        Ok(values)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(call!(
            cuptiProfilerHostDeinitialize,
            CUpti_Profiler_Host_Deinitialize_Params..pHostObject,
            pHostObject: self.object,
        ));
    }
}

/// CUPTI's range profiler, which counts in one context.
pub struct Range<'a> {
    object: *mut sys::CUpti_RangeProfiler_Object,
    /// The configuration image; CUPTI reads it until the range ends.
    _config: &'a [u8],
    /// The counter data image, to which CUPTI writes.
    pub image: Vec<u8>,
}

impl<'a> Range<'a> {
    pub fn enable(context: CUcontext, config: &'a [u8]) -> Result<Self, String> {
        let enabled = call!(
            cuptiRangeProfilerEnable,
            CUpti_RangeProfiler_Enable_Params..pRangeProfilerObject,
            ctx: context,
        )?;
        let object = enabled.pRangeProfilerObject;
        let mut range = Self { object, _config: config, image: vec![] };
        let mut names = METRICS.map(CStr::as_ptr);
        let size = call!(
            cuptiRangeProfilerGetCounterDataSize,
            CUpti_RangeProfiler_GetCounterDataSize_Params..counterDataSize,
            pRangeProfilerObject: object,
            pMetricNames: names.as_mut_ptr(),
            numMetrics: names.len(),
            maxNumOfRanges: 1,
            maxNumRangeTreeNodes: 1,
        )?;
        range.image = vec![0; size.counterDataSize];
        call!(
            cuptiRangeProfilerCounterDataImageInitialize,
            CUpti_RangeProfiler_CounterDataImage_Initialize_Params..pCounterData,
            pRangeProfilerObject: object,
            counterDataSize: range.image.len(),
            pCounterData: range.image.as_mut_ptr(),
        )?;
        call!(
            cuptiRangeProfilerSetConfig,
            CUpti_RangeProfiler_SetConfig_Params..targetNestingLevel,
            pRangeProfilerObject: object,
            configSize: config.len(),
            pConfig: config.as_ptr(),
            counterDataImageSize: range.image.len(),
            pCounterDataImage: range.image.as_mut_ptr(),
            range: sys::CUpti_ProfilerRange::CUPTI_UserRange,
            replayMode: sys::CUpti_ProfilerReplayMode::CUPTI_UserReplay,
            maxRangesPerPass: 1,
            numNestingLevels: 1,
            minNestingLevel: 1,
            targetNestingLevel: 1,
        )?;
        Ok(range)
    }

    /// Counts in as many passes as necessary; afterwards the image holds one range, the step.
    pub fn run(&self, subject: &mut Subject<'_>) -> Result<(), String> {
        let mut passes = 0;
        while !self.pass(subject)? {
            passes += 1;
            if passes == MOST_PASSES {
                return Err(format!("hardware counters: not all counted after {passes} passes"));
            }
        }
        let decoded = call!(
            cuptiRangeProfilerDecodeData,
            CUpti_RangeProfiler_DecodeData_Params..numOfRangeDropped,
            pRangeProfilerObject: self.object,
        )?;
        let found = call!(
            cuptiRangeProfilerGetCounterDataInfo,
            CUpti_RangeProfiler_GetCounterDataInfo_Params..numTotalRanges,
            pCounterDataImage: self.image.as_ptr(),
            counterDataImageSize: self.image.len(),
        )?;
        match (found.numTotalRanges, decoded.numOfRangeDropped) {
            (1, 0) => Ok(()),
            (ranges, dropped) => Err(format!(
                "hardware counters: CUPTI has {ranges} ranges and dropped {dropped}, where one was counted"
            )),
        }
    }

    /// Counts one pass over the step; returns whether it was the last.
    fn pass(&self, subject: &mut Subject<'_>) -> Result<bool, String> {
        (subject.before)().map_err(|refusal| refusal.to_string())?;
        call!(
            cuptiRangeProfilerStart,
            CUpti_RangeProfiler_Start_Params..pRangeProfilerObject,
            pRangeProfilerObject: self.object,
        )?;
        call!(
            cuptiRangeProfilerPushRange,
            CUpti_RangeProfiler_PushRange_Params..pRangeName,
            pRangeProfilerObject: self.object,
            pRangeName: c"step".as_ptr(),
        )?;
        (subject.step)().map_err(|refusal| refusal.to_string())?;
        call!(
            cuptiRangeProfilerPopRange,
            CUpti_RangeProfiler_PopRange_Params..pRangeProfilerObject,
            pRangeProfilerObject: self.object,
        )?;
        let stopped = call!(
            cuptiRangeProfilerStop,
            CUpti_RangeProfiler_Stop_Params..isAllPassSubmitted,
            pRangeProfilerObject: self.object,
        )?;
        Ok(stopped.isAllPassSubmitted != 0)
    }
}

impl Drop for Range<'_> {
    fn drop(&mut self) {
        drop(call!(
            cuptiRangeProfilerDisable,
            CUpti_RangeProfiler_Disable_Params..pRangeProfilerObject,
            pRangeProfilerObject: self.object,
        ));
    }
}
