// SPDX-License-Identifier: MIT
// graph.cc: captures and graphs of the fake runtime, see device.h. A graph is the work that was
// queued while its stream was captured, in order; a launch runs all of it as one piece of work.
#include <algorithm>

#include "fake_gpu/machine.h"

namespace fake_gpu {
namespace {

Graph* NewGraph(int device, bool executable) {
  M().graphs.push_back(std::make_unique<Graph>());
  Graph* const graph = M().graphs.back().get();
  graph->device = device;
  graph->executable = executable;
  return graph;
}

bool IsAlive(const Graph* graph, bool executable, const char* what) {
  for (const auto& known : M().graphs) {
    if (known.get() == graph && known->alive && known->executable == executable) return true;
  }
  Found("graph-not-alive",
        std::string(what) + " of a graph that was destroyed, never made, or of the other kind");
  return false;
}

}  // namespace

void BreakCapture(Stream* stream, const char* finding, const std::string& detail) {
  Found(finding, detail);
  if (stream != nullptr) stream->capture_broken = true;
  for (Stream* captured : Self().captures) captured->capture_broken = true;
}

bool IsCapturing(Stream* stream) {
  return stream != nullptr && stream->capture != nullptr;
}

Code StreamBeginCapture(Stream* stream, int mode) {
  if (stream == nullptr) {
    Found("capture-of-default-stream", "it cannot be captured");
    return Code::kCaptureUnsupported;
  }
  stream = Resolve(stream);
  if (stream == nullptr) return Code::kInvalidHandle;
  if (stream->capture != nullptr) return Code::kIllegalState;
  if (mode == 0) {
    Found("capture-forbids-other-threads",
          "a capture in the mode that makes calls of all other threads fail");
  }
  stream->capture = NewGraph(stream->device, false);
  stream->capturing_thread = mode == 2 ? nullptr : &Self();
  stream->capture_broken = false;
  if (mode != 2) Self().captures.push_back(stream);
  return Code::kOk;
}

Code StreamEndCapture(Stream* stream, Graph** out) {
  *out = nullptr;
  stream = Resolve(stream);
  if (stream == nullptr) return Code::kInvalidHandle;
  if (stream->capture == nullptr) return Code::kIllegalState;
  if (stream->capturing_thread != nullptr && stream->capturing_thread != &Self())
    return Code::kCaptureWrongThread;
  Graph* const graph = stream->capture;
  stream->capture = nullptr;
  auto& captures = Self().captures;
  captures.erase(std::remove(captures.begin(), captures.end(), stream), captures.end());
  if (stream->capture_broken) {
    graph->alive = false;
    return Code::kCaptureInvalidated;
  }
  *out = graph;
  return Code::kOk;
}

Code GraphInstantiate(Graph* graph, Graph** executable) {
  *executable = nullptr;
  if (!IsAlive(graph, false, "instantiation")) return Code::kInvalidValue;
  *executable = NewGraph(graph->device, true);
  (*executable)->nodes = graph->nodes;
  return Code::kOk;
}

Code GraphLaunch(Graph* executable, Stream* stream) {
  stream = Resolve(stream);
  if (stream == nullptr) return Code::kInvalidHandle;
  if (!IsAlive(executable, true, "launch")) return Code::kInvalidValue;
  if (executable->device != stream->device || CurrentDevice() != stream->device) {
    Found("graph-on-other-device", "graph, stream and current device differ");
    return Code::kInvalidValue;
  }
  if (stream->capture != nullptr) return Code::kCaptureUnsupported;
  const uint64_t number = ++executable->launched;
  Add(
      stream, "(graph)",
      [executable] {
        for (const auto& node : executable->nodes) {
          if (M().sticky[executable->device] == Code::kOk) node();
        }
        ++executable->done;
      },
      [executable, number] { return executable->done + 1 >= number; });
  return Code::kOk;
}

Code GraphDestroy(Graph* graph, bool executable) {
  if (!IsAlive(graph, executable, "destruction")) return Code::kInvalidValue;
  // The vendors differ in whether they wait; whoever relies on it is found.
  if (graph->done < graph->launched)
    Found("graph-destroyed-while-pending", "a launch of it has not completed");
  graph->alive = false;
  return Code::kOk;
}

void CheckLeftGraphs() {
  for (const auto& stream : M().streams) {
    if (stream->capture != nullptr) {
      Found("capture-left", "a capture was not ended");
      stream->capture->alive = false;
    }
  }
  for (const auto& graph : M().graphs) {
    if (graph->alive) Found("graph-left", "a graph was not destroyed");
  }
}

}  // namespace fake_gpu
