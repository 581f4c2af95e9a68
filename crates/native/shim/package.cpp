// Runs AOTInductor's packages: a package holds a library, which is loaded, bound to its inputs and
// called.
//
// Not by torch::inductor::AOTIModelPackageLoader: it leaves its folder in /tmp behind when a
// package does not load and when the process is killed, does not ask how many inputs there are, and
// copies more for a call. Libtorch's own runner still does the work.
#include "border.h"
#include "cuda.h"
#include "tensor.h"

#include <ATen/DynamicLibrary.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>

#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace package {

namespace fs = std::filesystem;
using caffe2::serialize::PyTorchStreamReader;

// The folder of the one model in a package.
constexpr std::string_view kModel = "data/aotinductor/model/";

static bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The one file of the model that ends so, by its path in the package.
static std::string file(PyTorchStreamReader& archive, std::string_view end) {
  std::string found;
  for (const auto& name : archive.getAllRecords()) {
    if (name.rfind(kModel, 0) == 0 && ends_with(name, end)) {
      TORCH_CHECK(found.empty(), "the package has two files *", end, ": ", found, " and ", name);
      found = name;
    }
  }
  TORCH_CHECK(!found.empty(), "the package has no file ", kModel, "*", end);
  return found;
}

// A new folder, removed with all that is in it.
class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "criterion-torch-package-XXXXXX";
    TORCH_CHECK(mkdtemp(name.data()) != nullptr, "cannot make the folder ", name, ": ", std::strerror(errno));
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const {
    return path_;
  }

  // Writes all files of the model side by side. Their sums are not checked: libtorch reads archives without.
  void extract(PyTorchStreamReader& archive) const {
    for (const auto& name : archive.getAllRecords()) {
      if (name.rfind(kModel, 0) == 0) {
        const auto [data, size] = archive.getRecord(name);
        const fs::path path = path_ / fs::path(name).filename();
        std::ofstream file(path, std::ios::binary);
        file.write(static_cast<const char*>(data.get()), static_cast<std::streamsize>(size));
        file.close();
        TORCH_CHECK(file.good(), "cannot write ", path.string(), ": ", std::strerror(errno));
      }
    }
  }

 private:
  fs::path path_;
};

// The library asks for libtorch.so by name. A program that links libtorch's parts has not loaded that name, and the
// folders that the program searches are not the library's; what the program has found is known to all.
static void make_libtorch_known() {
  // Where it is not found, loading the package says so.
  static void* const known = dlopen("libtorch.so", RTLD_NOW);
  static_cast<void>(known);
}

// Compiled code with threads asks for the OpenMP of GCC by its plain name. Whether libtorch has brought one of that name:
// another would be a second one, with threads of its own.
static bool has_openmp() {
  static const bool had = dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr;
  return had;
}

class Runner final : public torch::inductor::AOTIModelContainerRunner {
 public:
  Runner(const fs::path& library, const std::string& device)
      : AOTIModelContainerRunner(
            library, /*num_models=*/1, device, library.parent_path(), /*run_single_threaded=*/true) {}

  // Inputs and outputs of the model.
  std::pair<size_t, size_t> counts() const {
    const auto inputs_of = reinterpret_cast<decltype(&AOTInductorModelContainerGetNumInputs)>(
        model_so_->sym("AOTInductorModelContainerGetNumInputs"));
    size_t inputs = 0;
    size_t outputs = 0;
    check(inputs_of(container_handle_, &inputs));
    check(get_num_outputs_func_(container_handle_, &outputs));
    return {inputs, outputs};
  }

  // Takes the tensors that `inputs` points to, and makes `outputs`. There are as many of both as the model has.
  void call(
      std::vector<AtenTensorHandle>& inputs,
      std::vector<AtenTensorHandle>& outputs,
      void* stream) const {
    check(run_func_(
        container_handle_, inputs.data(), inputs.size(), outputs.data(), outputs.size(),
        reinterpret_cast<AOTInductorStreamHandle>(stream), proxy_executor_handle_));
  }

 private:
  static void check(AOTIRuntimeError code) {
    TORCH_CHECK(
        code == AOTI_RUNTIME_SUCCESS, "the compiled code failed; standard error has its reason");
  }
};

static std::string form(const at::Tensor& tensor) {
  std::ostringstream text;
  text << c10::getDtypeNames(tensor.scalar_type()).first << " " << tensor.sizes() << " "
       << tensor.strides();
  return text.str();
}

} // namespace package

struct Package {
  c10::Device device;
  // On CUDA: the folder that kernels are read from when they are first called.
  std::unique_ptr<package::Folder> folder;
  std::unique_ptr<package::Runner> runner;
  std::vector<at::Tensor> inputs;
  // Room for what a call takes, and for what it makes.
  std::vector<AtenTensorHandle> handles;
  std::vector<AtenTensorHandle> outputs;
  // The name that its library was loaded by.
  std::string library;
};

namespace package {

static std::unique_ptr<Package> load(
    const std::string& path,
    c10::Device device,
    std::vector<at::Tensor>&& inputs) {
  make_libtorch_known();
  const bool had_openmp = has_openmp();
  PyTorchStreamReader archive(path);
  auto folder = std::make_unique<Folder>();
  folder->extract(archive);
  const auto library = folder->path() / fs::path(file(archive, ".so")).filename();
  auto runner = std::make_unique<Runner>(library, device.str());
  TORCH_CHECK(
      had_openmp || dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr,
      "the package needs libgomp.so.1, and the OpenMP of this libtorch is another");
  const auto [takes, gives] = runner->counts();
  TORCH_CHECK(inputs.size() == takes, "the package takes ", takes, " inputs, not ", inputs.size());
  TORCH_CHECK(gives > 0, "the package has no output");
  if (device.is_cpu()) {
    // All is in memory: nothing is left behind should the process be killed.
    folder.reset();
  }
  return std::make_unique<Package>(Package{
      device, std::move(folder), std::move(runner), std::move(inputs),
      std::vector<AtenTensorHandle>(takes), std::vector<AtenTensorHandle>(gives),
      library.string()});
}

// `out` has a place for each output.
static void run(Package& package, at::Tensor** out) {
  void* stream = nullptr;
  if (!package.device.is_cpu()) {
    const c10::impl::VirtualGuardImpl backend(package.device.type());
    stream = backend.getStream(package.device).native_handle();
  }
  for (size_t index = 0; index < package.inputs.size(); ++index) {
    package.handles[index] =
        torch::aot_inductor::new_tensor_handle(at::Tensor(package.inputs[index]));
  }
  package.runner->call(package.handles, package.outputs, stream);
  for (const auto output : package.outputs) {
    *out++ = torch::aot_inductor::tensor_handle_to_tensor_pointer(output);
  }
}

} // namespace package

// The package's metadata, as JSON.
extern "C" Status ctn_package_metadata(Text path, char** out) noexcept {
  return border::guard([&] {
    caffe2::serialize::PyTorchStreamReader archive(path.str());
    const auto [data, size] = archive.getRecord(package::file(archive, ".wrapper_metadata.json"));
    *out = border::copy(std::string(static_cast<const char*>(data.get()), size));
  });
}

// The dtype, sizes and strides of a tensor: `bfloat16 [2, 3] [3, 1]`.
extern "C" Status ctn_package_form(const at::Tensor* tensor, char** out) noexcept {
  return border::guard([&] { *out = border::copy(package::form(*tensor)); });
}

// `device_index` is that of a CUDA device; negative for the CPU.
extern "C" Status ctn_package_load(
    Text path,
    int32_t device_index,
    Tensors inputs,
    Handle* out) noexcept {
  return border::guard([&] {
    const auto device = device_index < 0 ? c10::Device(c10::kCPU) : cuda::device(device_index);
    std::vector<at::Tensor> bound;
    for (const auto* input : inputs) {
      // A new tensor on this memory: the compiled code relies on the sizes and strides that were checked, and the
      // caller may change those of its own tensor.
      bound.push_back(input->detach());
    }
    *out = border::handle(package::load(path.str(), device, std::move(bound)));
  });
}

// The name that the dynamic linker has its library by.
extern "C" Status ctn_package_library(const Package* package, char** out) noexcept {
  return border::guard([&] { *out = border::copy(package->library); });
}

// How many tensors a run makes.
extern "C" Status ctn_package_outputs(const Package* package, size_t* out) noexcept {
  return border::guard([&] { *out = package->outputs.size(); });
}

// `out` has a place for each output.
extern "C" Status ctn_package_run(Package* package, at::Tensor** out) noexcept {
  return border::guard([&] { package::run(*package, out); });
}
