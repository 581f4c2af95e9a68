/* A CUPTI that counts three passes: it says which functions are called, in their order, and checks what they are given.
   FAIL is a function that returns CODE, VERSION the number of its interface. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAID(name) fprintf(stderr, "%s\n", name + strlen("cupti"))
#define EXPECT(condition) if (!(condition)) { fprintf(stderr, "not so: %s\n", #condition); return 1; }

/* Every structure begins so; `size` is the one of CUDA 12.6. */
#define FUNCTION(name, fields, size, body)                                  \
  int name(void* given) {                                                   \
    struct { size_t structSize; void* pPriv; fields }* p = given;           \
    SAID(#name);                                                            \
    const char* fail = getenv("FAIL");                                      \
    if (fail && !strcmp(fail, #name)) return atoi(getenv("CODE"));          \
    EXPECT(p->structSize == size && !p->pPriv)                              \
    body                                                                    \
    return 0;                                                               \
  }
#define FIELDS(...) __VA_ARGS__

static char host, object;
static uint8_t* image;
static int passes;

int cuptiGetVersion(uint32_t* version) {
  *version = (uint32_t)atoi(getenv("VERSION"));
  return 0;
}

FUNCTION(cuptiProfilerInitialize, , 16, )
FUNCTION(cuptiProfilerDeInitialize, , 16, )
FUNCTION(cuptiDeviceGetChipName, FIELDS(size_t device; const char* chip;), 32,
  EXPECT(p->device == 0)
  p->chip = "GH100";)
FUNCTION(cuptiProfilerGetCounterAvailability, FIELDS(void* context; size_t size; uint8_t* image;), 40,
  EXPECT(p->context == (void*)1)
  if (!p->image) p->size = 8;
  else { EXPECT(p->size == 8) memset(p->image, 7, 8); })
FUNCTION(cuptiProfilerHostInitialize,
  FIELDS(int type; const char* chip; const uint8_t* available; void* host;), 48,
  EXPECT(p->type == 0 && !strcmp(p->chip, "GH100") && p->available[7] == 7)
  p->host = &host;)
FUNCTION(cuptiProfilerHostConfigAddMetrics, FIELDS(void* host; const char** names; size_t count;), 40,
  EXPECT(p->host == &host)
  for (size_t i = 0; i < p->count; i++) fprintf(stderr, "metric %s\n", p->names[i]);)
FUNCTION(cuptiProfilerHostGetConfigImageSize, FIELDS(void* host; size_t size;), 32,
  EXPECT(p->host == &host)
  p->size = 16;)
FUNCTION(cuptiProfilerHostGetConfigImage, FIELDS(void* host; size_t size; uint8_t* config;), 40,
  EXPECT(p->host == &host && p->size == 16)
  memset(p->config, 9, 16);)
FUNCTION(cuptiRangeProfilerEnable, FIELDS(void* context; void* object;), 32,
  EXPECT(p->context == (void*)1)
  p->object = &object;)
FUNCTION(cuptiRangeProfilerGetCounterDataSize,
  FIELDS(void* object; const char** names; size_t count, ranges; uint32_t nodes; size_t size;), 64,
  EXPECT(p->object == &object && p->names && p->ranges == 1 && p->nodes == 1)
  p->size = 32;)
FUNCTION(cuptiRangeProfilerCounterDataImageInitialize, FIELDS(void* object; size_t size; uint8_t* image;), 40,
  EXPECT(p->object == &object && p->size == 32)
  image = p->image;)
FUNCTION(cuptiRangeProfilerSetConfig,
  FIELDS(void* object; size_t configs; const uint8_t* config; size_t size; uint8_t* image; int range, replay;
         size_t ranges; uint16_t levels, least; size_t pass; uint16_t target;), 90,
  EXPECT(p->object == &object && p->configs == 16 && p->config[15] == 9 && p->size == 32 && p->image == image)
  EXPECT(p->range == 2 && p->replay == 3 && p->ranges == 1)
  EXPECT(p->levels == 1 && p->least == 1 && p->pass == 0 && p->target == 1))
FUNCTION(cuptiRangeProfilerStart, FIELDS(void* object;), 24, EXPECT(p->object == &object))
FUNCTION(cuptiRangeProfilerPushRange, FIELDS(void* object; const char* name;), 32, EXPECT(!strcmp(p->name, "step")))
FUNCTION(cuptiRangeProfilerPopRange, FIELDS(void* object;), 24, EXPECT(p->object == &object))
FUNCTION(cuptiRangeProfilerStop, FIELDS(void* object; size_t pass, level; uint8_t all;), 41,
  p->all = ++passes == 3;
  if (getenv("ENDLESS")) p->all = 0;)
FUNCTION(cuptiRangeProfilerDecodeData, FIELDS(void* object; size_t dropped;), 32,
  memset(image, 5, 32);
  p->dropped = getenv("DROPPED") != NULL;)
FUNCTION(cuptiRangeProfilerGetCounterDataInfo, FIELDS(const uint8_t* image; size_t size, ranges;), 40,
  EXPECT(p->image == image && p->size == 32)
  p->ranges = 1;)
FUNCTION(cuptiProfilerHostEvaluateToGpuValues,
  FIELDS(void* host; const uint8_t* image; size_t size, range; const char** names; size_t count; double* values;), 72,
  EXPECT(p->host == &host && p->image == image && image[31] == 5 && p->size == 32 && p->range == 0)
  for (size_t i = 0; i < p->count; i++) p->values[i] = 10.0 * (double)(i + 1);)
FUNCTION(cuptiRangeProfilerDisable, FIELDS(void* object;), 24, EXPECT(p->object == &object))
#ifndef LACKING
FUNCTION(cuptiProfilerHostDeinitialize, FIELDS(void* host;), 24, EXPECT(p->host == &host))
#endif
