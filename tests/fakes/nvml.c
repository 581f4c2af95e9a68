// A libnvidia-ml with three GPUs, for the tests of src/measurement/nvml.rs: only what they call, with the signatures of
// nvml.h. Readings tell the GPUs apart; the first counts neither energy nor slowed time and samples no utilization, the
// third is hot and in slices.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

enum { GPUS = 3 };

typedef struct {
  const char* bus;
  unsigned index;
  unsigned long long mj;
  unsigned long long slowed_ns;
} Gpu;

static Gpu gpus[] = {{"0000:01:00.0", 0, 0, 0}, {"0000:41:00.0", 1, 1000000, 0}, {"0000:81:00.0", 2, 0, 0}};

int nvmlInit_v2(void) {
  return SUCCESS;
}

int nvmlShutdown(void) {
  return SUCCESS;
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  snprintf(version, length, "580.95.05");
  return SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, Gpu** gpu) {
  for (unsigned i = 0; i < GPUS; ++i) {
    if (strcmp(bus, gpus[i].bus) == 0) {
      *gpu = &gpus[i];
      return SUCCESS;
    }
  }
  return NOT_FOUND;
}

int nvmlDeviceGetName(Gpu* gpu, char* name, unsigned length) {
  snprintf(name, length, "Fake %u", gpu->index);
  return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(Gpu* gpu, unsigned long long* mj) {
  if (gpu->index == 0) {
    return NOT_SUPPORTED;
  }
  gpu->mj += 1000;
  *mj = gpu->mj;
  return SUCCESS;
}

// Clocks: 0 graphics, 1 multiprocessors, 2 memory.
int nvmlDeviceGetClockInfo(Gpu* gpu, int clock, unsigned* mhz) {
  *mhz = 600 + 1000 * clock + gpu->index;
  return SUCCESS;
}

int nvmlDeviceGetMaxClockInfo(Gpu* gpu, int clock, unsigned* mhz) {
  *mhz = 980 + 1000 * clock + gpu->index;
  return SUCCESS;
}

int nvmlDeviceGetTemperature(Gpu* gpu, int sensor, unsigned* celsius) {
  *celsius = 50 + gpu->index + 100 * sensor;
  return SUCCESS;
}

// 1 idle, 2 application clocks, 4 software power cap.
int nvmlDeviceGetCurrentClocksThrottleReasons(Gpu* gpu, unsigned long long* reasons) {
  *reasons = gpu->index == 0 ? 1 : 2 | 4;
  return SUCCESS;
}

typedef struct {
  unsigned long long reference_us;
  unsigned long long slowed_ns;
} Violation;

// Policies: 0 power, 1 heat. Every question finds more time slowed by power; heat slows the third GPU alone.
int nvmlDeviceGetViolationStatus(Gpu* gpu, int policy, Violation* violation) {
  if (gpu->index == 0) {
    return NOT_SUPPORTED;
  }
  gpu->slowed_ns += 1000;
  violation->reference_us = 0;
  violation->slowed_ns = policy == 0 || gpu->index == 2 ? gpu->slowed_ns : 0;
  return SUCCESS;
}

int nvmlDeviceGetMigMode(Gpu* gpu, unsigned* current, unsigned* pending) {
  if (gpu->index == 0) {
    return NOT_SUPPORTED;
  }
  *current = *pending = gpu->index == 2;
  return SUCCESS;
}

// Other processes' ids are of no interest.
int nvmlDeviceGetComputeRunningProcesses_v3(Gpu* gpu, unsigned* count, void* processes) {
  (void)processes;
  *count = gpu->index + 1;
  return INSUFFICIENT_SIZE;
}

typedef struct {
  unsigned long long us;
  union {
    double d;
    unsigned u;
    unsigned long long ull;
  } value;
} Sample;

// Samples: 1 multiprocessors, 2 memory; one every 0.2 s from second 10 to second 15, of 50, 51, ... and of 0, 1, ...
// percent. Without a place for them, the size of the buffer is given.
int nvmlDeviceGetSamples(Gpu* gpu, int type, unsigned long long last_us, int* value_type, unsigned* count,
                         Sample* samples) {
  enum { UNSIGNED_INT = 1, HELD = 26, BUFFER = 100 };
  if (gpu->index == 0) {
    return NOT_SUPPORTED;
  }
  *value_type = UNSIGNED_INT;
  if (samples == NULL) {
    *count = BUFFER;
    return SUCCESS;
  }
  unsigned given = 0;
  for (unsigned i = 0; i < HELD && given < *count; ++i) {
    unsigned long long us = 10000000ULL + 200000ULL * i;
    if (us > last_us) {
      samples[given].us = us;
      samples[given].value.u = i + (type == 1 ? 50 : 0);
      ++given;
    }
  }
  *count = given;
  return given == 0 ? NOT_FOUND : SUCCESS;
}
