// Device time between two points of the current stream, through libtorch's generic event.
#include "border.h"
#include "cuda.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

struct DeviceEvent {
  c10::Device device;
  c10::Event event;
};

static void require_recorded(const DeviceEvent& event) {
  // libtorch itself takes an event that was never recorded for a completed one.
  TORCH_CHECK(event.event.was_marked_for_recording(), "the event has not been recorded");
}

extern "C" Status ctn_event_new(int32_t device_index, Handle* out) noexcept {
  return border::guard([&] {
    // BACKEND_DEFAULT is the flag that keeps timing on; PyTorch's own default turns it off.
    *out = border::handle(std::make_unique<DeviceEvent>(DeviceEvent{
        cuda::device(device_index),
        c10::Event(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT)}));
  });
}

extern "C" Status ctn_event_record(DeviceEvent* event) noexcept {
  return border::guard([&] {
    const c10::impl::VirtualGuardImpl backend(c10::DeviceType::CUDA);
    event->event.record(backend.getStream(event->device));
  });
}

extern "C" Status ctn_event_synchronize(const DeviceEvent* event) noexcept {
  return border::guard([&] {
    require_recorded(*event);
    event->event.synchronize();
  });
}

extern "C" Status ctn_event_elapsed_ms(
    const DeviceEvent* earlier,
    const DeviceEvent* later,
    double* out) noexcept {
  return border::guard([&] {
    require_recorded(*earlier);
    require_recorded(*later);
    TORCH_CHECK(
        earlier->device == later->device,
        "the events are of different devices: ", earlier->device, " and ", later->device);
    *out = earlier->event.elapsedTime(later->event);
  });
}
