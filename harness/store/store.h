// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

/// Results on disk: one immutable JSON file per evaluation (DESIGN.md section 13).
namespace pkb::store {

inline constexpr int kSchema = 1;  ///< of a result file, its field "schema"; see migration.h

/// A name that no other evaluation has: UTC time and 64 random bits, "20261130T183000Z-0123456789abcdef".
std::string new_id();

/// UTC now, "2026-11-30T18:30:00Z".
std::string now();

/// Makes `folder` when it does not exist and proves by a small file that it can be written to, before long
/// work.
/// @throws EnvironmentError
void require_writable(const std::filesystem::path& folder);

/// Writes `result` as FOLDER/ID.json, whole and synced under another name first, then renamed: a reader never
/// sees half a file, also when the disk is full or the machine stops. @throws EnvironmentError
std::filesystem::path write_result(const nlohmann::json& result, const std::filesystem::path& folder);

/// The same for any text. An existing file is replaced.
void write_whole(const std::filesystem::path& file, std::string_view text);

/// The same of what can be made again when the machine stops: syncing may take minutes beside others who write.
void write_unsynced(const std::filesystem::path& file, std::string_view text);

}  // namespace pkb::store
