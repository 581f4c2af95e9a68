// A libnvidia-ml with two GPUs, for the tests of src/measurement/nvml.rs: only what they call, with the signatures of
// nvml.h. Readings tell the GPUs apart; the first counts no energy.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6 };

typedef struct {
  const char* bus;
  unsigned index;
  unsigned long long mj;
} Gpu;

static Gpu gpus[] = {{"0000:01:00.0", 0, 0}, {"0000:41:00.0", 1, 1000000}};

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
  for (unsigned i = 0; i < 2; ++i) {
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
