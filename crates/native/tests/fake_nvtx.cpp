// A fake profiler for tests: it attaches to NVTX 3 as Nsight Systems does and logs the begin and the end of every
// range, one per line, to the file that FAKE_NVTX_LOG names.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

using Function = void (*)();
using FunctionTable = Function**;

struct Callbacks {
  size_t size;
  int (*table_of)(int module, FunctionTable* table, unsigned* size);
};

struct VersionInfo {
  size_t size;
  uint32_t version;
  uint32_t reserved;
  void (*set)(uint32_t version);
};

static int depth = 0;

static void line(const char* what, const char* name) {
  std::FILE* file = std::fopen(std::getenv("FAKE_NVTX_LOG"), "a");
  if (file != nullptr) {
    std::fprintf(file, "%s %d %s\n", what, depth, name);
    std::fclose(file);
  }
}

static int push(const char* name) {
  line("push", name);
  return depth++;
}

static int pop() {
  --depth;
  line("pop", "");
  return depth;
}

extern "C" int InitializeInjectionNvtx2(const void* (*export_table)(uint32_t id)) {
  const auto* version = static_cast<const VersionInfo*>(export_table(3));
  const auto* callbacks = static_cast<const Callbacks*>(export_table(1));
  if (version == nullptr || version->size != sizeof(VersionInfo) || version->version != 3 ||
      callbacks == nullptr || callbacks->size != sizeof(Callbacks) || export_table(2) != nullptr) {
    return 0;
  }
  version->set(3);
  // Every module is there, as it is in NVTX, and its places can be written.
  for (int module = 1; module <= 6; ++module) {
    FunctionTable table = nullptr;
    unsigned size = 0;
    if (callbacks->table_of(module, &table, &size) == 0 || size < 7) {
      return 0;
    }
    for (unsigned number = 1; number < size; ++number) {
      *table[number] = nullptr;
    }
  }
  if (callbacks->table_of(0, nullptr, nullptr) != 0 || callbacks->table_of(7, nullptr, nullptr) != 0) {
    return 0;
  }
  FunctionTable core = nullptr;
  unsigned size = 0;
  callbacks->table_of(1, &core, &size);
  *core[9] = reinterpret_cast<Function>(push);
  *core[11] = reinterpret_cast<Function>(pop);
  return 1;
}
