// SPDX-License-Identifier: Apache-2.0
#include "harness/report/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <unordered_map>

#include "harness/candidate/digest.h"
#include "harness/report/files.h"
#include "harness/store/migration.h"
#include "harness/store/store.h"

namespace pkb::report {
namespace {

namespace fs = std::filesystem;

/// A file that parsing takes much memory for is parsed alone.
constexpr std::size_t kLarge = 2 << 20;

struct Read {
  Record record;
  std::optional<Notice> notice;
};

/// Reads all files, several at a time.
std::vector<Read> read_all(const std::vector<std::string>& files, int threads) {
  std::vector<Read> read(files.size());
  std::atomic<std::size_t> next = 0;
  std::mutex large;
  const auto work = [&] {
    RecordReader reader;
    std::string text;
    for (std::size_t i = 0; (i = next++) < files.size();) {
      const auto note = [&](Notice::Kind kind, std::string why) {
        read[i].notice = {.kind = kind, .file = files[i], .text = std::move(why)};
      };
      try {
        read_file(files[i], text, RecordReader::kPadding);
        std::unique_lock<std::mutex> alone(large, std::defer_lock);
        if (text.size() > kLarge) alone.lock();
        read[i].record = reader.read(text);
        read[i].record.evaluation.file = static_cast<Index>(i);
        if (read[i].record.kind == Record::Kind::other) note(Notice::Kind::ignored, "is no result");
        if (text.size() > kLarge) text = {};
      } catch (const Malformed& malformed) {
        note(Notice::Kind::malformed,
             malformed.field.empty() ? malformed.fault : malformed.field + ": " + malformed.fault);
      } catch (const std::exception& error) {
        note(Notice::Kind::unreadable, error.what());
      }
    }
  };
  if (threads == 0) threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::jthread> team;
  for (int i = 1; i < threads; ++i) team.emplace_back(work);
  work();
  team.clear();
  return read;
}

std::string short_hash(std::string_view text) { return candidate::sha256(text).substr(0, 16); }

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

/// Names of a campaign's files, see harness/campaign/ledger.h.
constexpr std::string_view kCampaign = "/campaign.json", kReply = ".json", kResult = ".result.json",
                           kResults = "results";

/// Joins what belongs together and leaves each evaluation once.
class Joiner {
 public:
  Joiner(std::vector<std::string> files, std::vector<Read> read)
      : x_files(std::move(files)), x_read(std::move(read)) {
    for (Read& each : x_read)
      if (each.notice) x_notices.push_back(std::move(*each.notice));
  }

  Collection join() {
    find_campaigns();
    attribute();
    for (std::size_t i = 0; i < x_read.size(); ++i)
      if (const Record& record = x_read[i].record;
          record.kind == Record::Kind::result || record.kind == Record::Kind::reply)
        x_taken.push_back(i);
    leave_each_once();
    Collection collection{.files = std::move(x_files), .records = {}, .notices = std::move(x_notices)};
    for (const std::size_t i : x_taken) collection.records.push_back(std::move(x_read[i].record));
    return collection;
  }

 private:
  Record& record(std::size_t i) { return x_read[i].record; }

  void note(Notice::Kind kind, std::size_t file, std::string text) {
    x_notices.push_back({.kind = kind, .file = x_files[file], .text = std::move(text)});
  }

  void find_campaigns() {
    for (std::size_t i = 0; i < x_read.size(); ++i) {
      // One that has an id stands alone.
      if (record(i).kind == Record::Kind::reply && record(i).evaluation.id.empty()) x_replies[x_files[i]] = i;
      if (record(i).kind != Record::Kind::campaign || !x_files[i].ends_with(kCampaign)) continue;
      std::string& id = record(i).submission->campaign;
      // Campaigns from before they had an id.
      if (id.empty()) id = "00000000T000000Z-" + short_hash(fs::weakly_canonical(x_files[i]).string());
      x_campaigns[folder_of(x_files[i])] = i;
    }
  }

  /// The campaign that has FOLDER/PROBLEM/sample-S/FILE.
  const Record* campaign_of(std::size_t file) {
    const auto found = x_campaigns.find(folder_of(folder_of(folder_of(x_files[file]))));
    return found == x_campaigns.end() ? nullptr : &record(found->second);
  }

  /// A campaign's results and replies get its name and settings.
  void attribute() {
    for (std::size_t i = 0; i < x_read.size(); ++i) {
      if (record(i).kind != Record::Kind::result || !x_files[i].ends_with(kResult)) continue;
      const std::string stem = x_files[i].substr(0, x_files[i].size() - kResult.size());
      const Record* const campaign = campaign_of(i);
      const auto reply = x_replies.find(stem + std::string(kReply));
      if (campaign == nullptr || reply == x_replies.end()) continue;
      take_submission(record(i), *campaign, record(reply->second));
      record(i).evaluation.usage = record(reply->second).evaluation.usage;
      record(reply->second).kind = Record::Kind::other;  // told by its result
    }
    for (const auto& [path, i] : x_replies) {
      Record& reply = record(i);
      if (reply.kind != Record::Kind::reply) continue;
      const Record* const campaign = campaign_of(i);
      if (campaign == nullptr) {
        reply.kind = Record::Kind::other;
        note(Notice::Kind::ignored, i, "is a reply without its campaign.json");
        continue;
      }
      take_submission(reply, *campaign, Record(reply));
      reply.place = campaign->place;
      const Submission& from = *reply.submission;
      reply.evaluation.id =
          fmt::format("{}-{}", from.campaign.substr(0, from.campaign.find('-')),
                      short_hash(fmt::format("{}/{}/{}/{}", from.campaign, reply.problem_name, from.sample,
                                             from.attempt)));
      if (reply.has_candidate) note(Notice::Kind::unjudged, i, "has code that was not evaluated");
    }
  }

  static void take_submission(Record& record, const Record& campaign, const Record& reply) {
    Submission submission = *campaign.submission;
    if (submission.name.empty()) submission.name = reply.submission->name;
    submission.sample = reply.submission->sample;
    submission.attempt = reply.submission->attempt;
    record.submission = std::move(submission);
  }

  void leave_each_once() {
    // Of several the one comes first that knows most.
    const auto key = [this](std::size_t i) {
      const Record& each = x_read[i].record;
      return std::tuple(std::string_view(each.evaluation.id), !x_files[i].ends_with(kResult),
                        !each.submission, std::string_view(x_files[i]));
    };
    std::ranges::sort(x_taken, {}, key);
    std::vector<std::size_t> kept;
    for (auto first = x_taken.begin(); first != x_taken.end();) {
      const auto last = std::find_if(first, x_taken.end(), [&](std::size_t i) {
        return record(i).evaluation.id != record(*first).evaluation.id;
      });
      if (last - first == 1 || agree(first, last)) kept.push_back(*first);
      first = last;
    }
    std::ranges::sort(kept);
    x_taken = std::move(kept);
  }

  using Place = std::vector<std::size_t>::const_iterator;

  bool agree(Place first, Place last) {
    std::string contradiction;
    const auto odd = std::find_if(first + 1, last, [&](std::size_t i) {
      if (!same_content(*first, i))
        contradiction = "other content";
      else if (!same_submission(record(*first), record(i)))
        contradiction = "another submitter";
      return !contradiction.empty();
    });
    if (odd != last) {
      for (auto each = first; each != last; ++each) {
        const std::size_t other = each == odd ? *first : *odd;
        note(Notice::Kind::conflict, *each,
             fmt::format("has the id of {}, but {}; neither counts", x_files[other], contradiction));
      }
      return false;
    }
    for (auto each = first + 1; each != last; ++each)
      if (!is_campaigns_own_copy(*each))
        note(Notice::Kind::duplicate, *each, fmt::format("is {} once more", x_files[*first]));
    return true;
  }

  /// FOLDER/results/ID.json, which the campaign in FOLDER has under its attempt as well.
  bool is_campaigns_own_copy(std::size_t i) const {
    const std::string_view folder = folder_of(x_files[i]);
    return folder.ends_with(fmt::format("/{}", kResults)) && x_campaigns.contains(folder_of(folder));
  }

  bool same_content(std::size_t a, std::size_t b) {
    if (record(a).kind != record(b).kind) return false;
    // A reply's id is made of its campaign, problem, sample and attempt.
    if (record(a).digest.empty() || record(b).digest.empty()) return true;
    if (record(a).digest == record(b).digest) return true;
    const auto evaluation_in = [this](std::size_t i) {
      std::string text;
      read_file(x_files[i], text);
      nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
      store::migration().apply(result);
      if (result.is_object()) result.erase("submission");
      return result;
    };
    try {
      return evaluation_in(a) == evaluation_in(b);
    } catch (const std::exception&) {
      return false;  // has changed meanwhile
    }
  }

  static bool same_submission(const Record& a, const Record& b) {
    if (!a.submission || !b.submission) return true;
    return a.submission->name == b.submission->name && a.submission->settings == b.submission->settings &&
           a.submission->sample == b.submission->sample && a.submission->attempt == b.submission->attempt;
  }

  std::vector<std::string> x_files;
  std::vector<Read> x_read;
  std::vector<Notice> x_notices;
  std::vector<std::size_t> x_taken;
  std::unordered_map<std::string_view, std::size_t> x_campaigns;  ///< by folder
  std::unordered_map<std::string_view, std::size_t> x_replies;    ///< by path
};

}  // namespace

Collection collect(const std::vector<fs::path>& paths, int threads) {
  Listing listing = list_files(paths);
  std::vector<Read> read = read_all(listing.files, threads);
  Collection collection = Joiner(std::move(listing.files), std::move(read)).join();
  std::ranges::move(listing.notices, std::back_inserter(collection.notices));
  std::ranges::stable_sort(collection.notices, {}, &Notice::file);
  return collection;
}

}  // namespace pkb::report
