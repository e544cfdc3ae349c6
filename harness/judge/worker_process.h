// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/process/captured_output.h"
#include "harness/process/child.h"
#include "harness/process/file_descriptor.h"
#include "harness/worker/channel.h"

namespace pkb::judge {

/// A running worker: its socket, what it printed, how it ended. Killed when the object ends.
class WorkerProcess {
 public:
  /// `command` as `confined` or `unconfined` made it; descriptors are added here.
  WorkerProcess(process::Command command, bool is_confined);

  worker::Channel& channel() { return x_channel; }
  /// Waits at most `milliseconds` for a packet, output or the end of the worker. True when a packet is there.
  bool wait(int milliseconds);
  /// "exited with status 3" or "was killed by signal 11 (Segmentation fault)"; nothing while it runs.
  std::optional<std::string> death();
  bool exited_cleanly() const { return x_exited_cleanly; }  ///< status 0, after `death`
  void kill() { x_child.kill(); }
  pid_t pid() const { return x_child.pid(); }
  /// After the judge said Quit.
  void finish();
  /// What it printed: head and tail, after the last `drain`.
  std::string output();

 private:
  bool x_confined;
  bool x_exited_cleanly = false;
  bool x_output_open = true;
  worker::Channel x_channel;
  FileDescriptor x_output_end;
  process::CapturedOutput x_output;
  process::Child x_child;
};

}  // namespace pkb::judge
