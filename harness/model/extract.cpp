// SPDX-License-Identifier: Apache-2.0
#include "harness/model/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <vector>

#include "harness/model/source_scan.h"

namespace pkb::model {
namespace {

/// A line with its newline.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n') == std::string_view::npos ? text.size() : text.find('\n') + 1);
  text.remove_prefix(line.size());
  return line;
}

struct Fence {
  char mark = '`';
  std::size_t length = 0, indent = 0;
  std::string_view info;
};

/// Models fence within lists, so any indentation will do.
std::optional<Fence> fence_in(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
    line.remove_suffix(1);
  Fence fence;
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t' || line.front() == '>')) {
    line.remove_prefix(1);
    ++fence.indent;
  }
  if (line.empty() || (line.front() != '`' && line.front() != '~')) return std::nullopt;
  fence.mark = line.front();
  fence.length = std::min(line.find_first_not_of(fence.mark), line.size());
  fence.info = line.substr(fence.length);
  if (fence.length < 3 || (fence.mark == '`' && fence.info.find('`') != std::string_view::npos)) return std::nullopt;
  return fence;
}

bool closes(const Fence& fence, const Fence& open) {
  return fence.mark == open.mark && fence.length >= open.length && fence.info.empty();
}

struct Block {
  std::string text;
  bool closed = false;
};

/// Indented blocks lose the indentation of their fence, as CommonMark says.
std::string_view outdented(std::string_view line, std::size_t indent) {
  while (indent-- > 0 && !line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  return line;
}

Block take_block(std::string_view& text, const Fence& open, bool heed_source) {
  Block block;
  SourceScan scan;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (const std::optional<Fence> fence = fence_in(line);
        fence && closes(*fence, open) && !(heed_source && scan.inside_text())) {
      block.closed = true;
      break;
    }
    const std::string_view content = outdented(line, open.indent);
    scan.feed(content);
    block.text += content;
  }
  return block;
}

std::vector<Block> blocks_of(std::string_view text) {
  std::vector<Block> blocks;
  while (!text.empty()) {
    const std::optional<Fence> open = fence_in(take_line(text));
    if (!open) continue;
    const std::string_view inside = text;
    Block block = take_block(text, *open, true);
    if (!block.closed) {
      // A comment that is never closed would swallow the rest: then fences count as they stand.
      std::string_view again = inside;
      if (Block plain = take_block(again, *open, false); plain.closed) {
        block = std::move(plain);
        text = again;
      }
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

bool is_difference(const std::string& text) {
  static const std::regex hunk("(^|\n)(diff --git |@@ -[0-9]+|--- a/|\\+\\+\\+ b/)");
  return std::regex_search(text, hunk);
}

/// The words by which models leave code out, as whole lines of comments: what stands in running text is about the code that
/// is there.
std::string elision_in(const SourceScan& scan) {
  constexpr const char* kWhat = "(code|kernels?|file|functions?|implementation|program|definitions?)";
  static const std::regex words(
      fmt::format("(^|\n)[ \t/*(]*("
                  "(\\.\\.\\.|\xE2\x80\xA6)[^\n]{{0,50}}"
                  "|(the )?(rest|remainder|remaining)( of)?( the)? {0}[^\n]{{0,30}}"
                  "|(exactly |the )?(same|unchanged|identical)( as| from| to)? (before|the (previous|original|earlier) [^\n]{{0,30}})"
                  "|(the )?(existing|previous|original) {0}( here| goes here| as before| unchanged)?"
                  "|[^\n]{{0,30}}{0} (omitted|unchanged|(stays|remains) (the same|as before|unchanged)|goes here)[^\n]{{0,20}}"
                  "|(omitted|unchanged)( for brevity| from before)?"
                  "|your code( goes)? here"
                  ")[ \t*./)]*(\n|$)",
                  kWhat),
      std::regex::icase);
  std::smatch found;
  return std::regex_search(scan.comments(), found, words) ? found.str(2) : std::string();
}

/// Why `text` is no candidate; empty when it is one.
std::string flaw_of(const std::string& text) {
  if (is_difference(text)) return "it is a difference, not a whole file";
  SourceScan scan;
  scan.feed(text);
  static const std::regex definition("\\brun\\s*\\(\\s*(pkb\\s*::\\s*)?Context\\s*&");
  if (!std::regex_search(scan.code(), definition)) return "it defines no run(pkb::Context&, ...)";
  if (!scan.is_closed()) return "it breaks off: a brace, comment or literal is not closed";
  if (const std::string left_out = elision_in(scan); !left_out.empty())
    return fmt::format("it leaves code out (\"{}\")", left_out);
  return {};
}

/// std::regex recurses; a megabyte in one line is no source.
constexpr std::size_t kLongest = 1 << 20, kLongestLine = 16 << 10;

bool has_long_line(std::string_view text) {
  while (!text.empty())
    if (take_line(text).size() > kLongestLine) return true;
  return false;
}

}  // namespace

Extraction extract_candidate(std::string_view reply) {
  if (std::ranges::all_of(reply, [](unsigned char c) { return std::isspace(c) != 0; })) return {{}, "the reply is empty"};
  std::vector<Block> blocks = blocks_of(reply);
  const bool bare = blocks.empty();
  if (bare) blocks.push_back({std::string(reply), true});
  std::string reason;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (block->text.size() > kLongest || has_long_line(block->text)) {
      if (reason.empty()) reason = "it is too long for source";
      continue;
    }
    const std::string flaw = flaw_of(block->text);
    if (flaw.empty()) return {std::move(block->text), {}};
    // What the last block that could have been one lacks says most.
    if (reason.empty() || reason.starts_with("it defines no run")) reason = flaw;
  }
  return {{}, fmt::format("{}: {}", bare ? "the reply has no fenced block and is no source file itself"
                                         : "no fenced block of the reply is a whole candidate", reason)};
}

}  // namespace pkb::model
