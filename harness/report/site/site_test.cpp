// SPDX-License-Identifier: Apache-2.0
// The site as its readers meet it, in a headless Chromium where there is one.
#include "harness/report/site/site.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "harness/error/error.h"
#include "harness/report/site/browser.h"
#include "harness/report/site/synthetic.h"

namespace pkb::report {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Runs as a script, as markup, as a template, as an attribute or as the end of a script block, if anything lets it.
constexpr const char* kPoison =
    "'\"`><img src=x onerror=owned=1><script>owned=1</script></script><svg/onload=owned=1>{{owned=1}}${owned=1}]]>--><!--"
    "\xe2\x80\xa8*/owned=1//";

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class SiteTest : public testing::Test {
 protected:
  void SetUp() override {
    x_folder = fs::path(testing::TempDir()) / ("site-" + std::to_string(::getpid()));
    fs::remove_all(x_folder);
    fs::create_directories(x_folder / "profile");
  }
  void TearDown() override {
    x_browser.reset();
    fs::remove_all(x_folder);
  }

  void write(const SyntheticExtent& extent) {
    write_synthetic_campaigns(kProblems, x_folder / "results", extent);
    const Report report = make_report({x_folder / "results"}, {.problems = kProblems});
    ASSERT_FALSE(report.boards.empty());
    const std::vector<Row>& rows = report.boards.back().rows;
    const auto label = [&](const Row& row) { return report.submitters[row.submitter].label; };
    write_site(report, compare(report, label(rows.front()), label(rows.front())), site());
  }

  Site site() const { return {.folder = x_folder / "site", .source = PKB_SOURCE}; }
  std::string address(const std::string& page) const { return "file://" + (x_folder / "site" / page).string(); }

  /// False where there is no browser, after saying so.
  bool start() {
    if (Browser::find().empty()) return false;
    x_browser = std::make_unique<Browser>(Browser::find(), x_folder / "profile");
    return true;
  }
  Browser& browser() { return *x_browser; }
  std::string eval(const std::string& expression) { return browser().eval("String(" + expression + ")"); }

  inline static const fs::path kProblems = fs::path(PKB_SOURCE) / "problems";
  fs::path x_folder;
  std::unique_ptr<Browser> x_browser;
};

TEST_F(SiteTest, EveryPageForbidsScriptsButItsFilesAndIsSmall) {
  write({.models = 2, .problems = 9, .samples = 2, .repairs = 1});
  if (HasFatalFailure()) return;
  int pages = 0;
  for (const auto& each : fs::recursive_directory_iterator(site().folder)) {
    if (!each.is_regular_file()) continue;
    EXPECT_LT(each.file_size(), 1u << 20) << each.path();
    if (each.path().extension() != ".html") continue;
    ++pages;
    EXPECT_THAT(text_of(each.path()), AllOf(HasSubstr("default-src 'none'; script-src 'self'; style-src 'self'; "
                                                      "img-src 'self'; base-uri 'none'; form-action 'none'"),
                                            Not(HasSubstr("<script>")), Not(HasSubstr(" style=")),
                                            Not(HasSubstr("http:")), Not(HasSubstr("src=\"http"))))
        << each.path();
  }
  EXPECT_GE(pages, 7 + 9);
  // Written again, also with fewer results, nothing is left of the first.
  std::ofstream(site().folder / "data/details/999.js") << "old";
  write_site({}, std::nullopt, site());
  EXPECT_FALSE(fs::exists(site().folder / "data/details/999.js"));
}

TEST_F(SiteTest, SaysWhichPackageIsMissing) {
  Site without = site();
  without.libraries = x_folder / "nothing";
  try {
    write_site({}, std::nullopt, without);
    FAIL() << "wrote a site without libraries";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(
        error.what(),
        AllOf(HasSubstr("chart.js/chart.min.js"),
              HasSubstr("apt-get install libjs-jquery libjs-jquery-datatables libjs-chart.js libjs-highlight.js")));
  }
}

TEST_F(SiteTest, IsSortedFilteredAndWalkedByKeyboard) {
  if (!start()) GTEST_SKIP() << "no Chromium here";
  write({.models = 3, .problems = 12, .samples = 2, .repairs = 1});
  if (HasFatalFailure()) return;
  browser().resize(1400, 1000);
  browser().prefer("light");

  browser().open(address("index.html"));
  ASSERT_TRUE(browser().wait_for("document.querySelectorAll('#boards table').length > 2"));
  EXPECT_THAT(eval("document.querySelector('.banner').textContent"), HasSubstr("Synthetic data"));
  // Boards apart; published figures in the foot of timed ones alone.
  EXPECT_EQ(eval("[...document.querySelectorAll('#boards section')].every((each) => !!each.querySelector('tfoot') === "
                 "each.textContent.includes('timed') && true || !each.querySelector('tfoot'))"),
            "true");
  EXPECT_EQ(eval("document.querySelectorAll('tbody tr td.pin').length > 0 && "
                 "[...document.querySelectorAll('tbody')].every((each) => !each.textContent.includes('Published'))"),
            "true");
  // By keyboard: to the first column's head, Enter sorts, the board of most submitters turns round.
  const std::string names =
      "[...[...document.querySelectorAll('#boards table')].sort((a, b) => b.tBodies[0].rows.length - "
      "a.tBodies[0].rows.length)[0].tBodies[0].rows].map((each) => each.cells[0].textContent)";
  browser().eval(
      "[...document.querySelectorAll('#boards table')].sort((a, b) => b.tBodies[0].rows.length - "
      "a.tBodies[0].rows.length)[0].tHead.rows[0].cells[0].focus()");
  browser().press("Enter", 13);
  EXPECT_TRUE(browser().wait_for(names + ".every((each, i, all) => i === 0 || all[i - 1] <= each)"));
  browser().press("Enter", 13);
  EXPECT_TRUE(browser().wait_for(names + ".every((each, i, all) => i === 0 || all[i - 1] >= each)"));
  // Filters are kept in the address.
  browser().eval(
      "{const device = [...document.querySelectorAll('#filters label')].find((each) => "
      "each.textContent.startsWith('Device')).querySelector('select'); device.value = 'virtual'; "
      "device.dispatchEvent(new Event('change'));}");
  EXPECT_TRUE(browser().wait_for(
      "[...document.querySelectorAll('#boards h2')].length > 0 && [...document.querySelectorAll('#boards "
      "h2')].every((each) => each.textContent.includes('virtual'))"));
  EXPECT_EQ(eval("location.hash"), "#device=virtual");
  EXPECT_EQ(eval("document.querySelectorAll('#boards tfoot').length"), "0");

  browser().open(address("index.html"));
  browser().press("Tab", 9);
  EXPECT_EQ(eval("document.activeElement.className"), "skip");
  int reached = 0;
  for (int i = 0; i < 30; ++i) {
    browser().press("Tab", 9);
    reached += eval(
                   "document.activeElement !== document.body && getComputedStyle(document.activeElement).outlineStyle "
                   "!== 'none'") == "true";
  }
  EXPECT_GE(reached, 28) << "focus must be visible";
  EXPECT_THAT(browser().complaints(), IsEmpty());

  for (const char* const scheme : {"dark", "light"}) {
    browser().prefer(scheme);
    browser().open(address("plots.html"));
    EXPECT_TRUE(browser().wait_for("document.querySelectorAll('canvas').length >= 6"));
    EXPECT_EQ(eval("document.documentElement.dataset.theme"), scheme);
  }
  browser().eval("document.getElementById('theme').click()");
  EXPECT_EQ(eval("document.documentElement.dataset.theme"), "dark");
  browser().eval("document.getElementById('theme').click()");

  browser().open(address("problems.html"));
  ASSERT_TRUE(browser().wait_for("document.querySelector('table.map td a')"));
  browser().open(address("problems/001_allreduce.html"));
  ASSERT_TRUE(browser().wait_for("document.querySelector('#problem table a')"));
  browser().eval("[...document.querySelectorAll('#problem tbody tr')].find((row) => row.textContent.includes('correct')).querySelector('a').click()");
  ASSERT_TRUE(browser().wait_for(
      "location.pathname.endsWith('candidate.html') && document.querySelector('.headline .verdict')"));
  EXPECT_THAT(eval("document.body.textContent"),
              AllOf(HasSubstr("Source"), HasSubstr("Environment"), HasSubstr("SHA-256")));
  EXPECT_EQ(eval("document.querySelector('pre.code .hljs-comment') !== null"), "true");
  for (const char* const page : {"compare.html", "definitions.html", "sources.html"}) {
    browser().open(address(page));
    EXPECT_TRUE(browser().wait_for("document.querySelector('h1').textContent.length > 0"));
  }
  // A phone: nothing but tables, which scroll, is wider than the screen.
  browser().resize(390, 800);
  for (const char* const page : {"index.html", "plots.html", "problems.html", "candidate.html#0.0",
                                 "problems/001_allreduce.html", "definitions.html"}) {
    browser().open(address(page));
    EXPECT_TRUE(browser().wait_for("document.documentElement.scrollWidth <= 390"))
        << page << " " << eval("document.documentElement.scrollWidth");
  }
  EXPECT_THAT(browser().complaints(), IsEmpty());
}

TEST_F(SiteTest, WhatIsPrintedIsWhole) {
  if (!start()) GTEST_SKIP() << "no Chromium here";
  write({.models = 4, .problems = 2, .samples = 4, .repairs = 2});
  if (HasFatalFailure()) return;
  browser().resize(1000, 100);
  browser().open(address("problems/001_allreduce.html"));
  const std::string rows = "Math.max(...[...document.querySelectorAll('tbody')].map((each) => each.rows.length))";
  const std::string blank =
      "[...document.querySelectorAll('canvas')].filter((each) => "
      "!each.getContext('2d').getImageData(0, 0, each.width, each.height).data.some((byte) => byte !== 0)).length";
  ASSERT_TRUE(browser().wait_for(rows + " === 25"));
  EXPECT_NE(eval(blank), "0") << "a figure out of sight is not drawn yet";
  browser().eval("void dispatchEvent(new Event('beforeprint'))");
  EXPECT_EQ(eval(rows), "48");  // of four models, four samples, an attempt and two repairs
  EXPECT_TRUE(browser().wait_for(blank + " === 0"));
  browser().eval("void dispatchEvent(new Event('afterprint'))");
  EXPECT_EQ(eval(rows), "25");
  EXPECT_THAT(browser().complaints(), IsEmpty());
}

TEST_F(SiteTest, TenThousandResultsArePaintedWithinASecond) {
  if (!start()) GTEST_SKIP() << "no Chromium here";
  write_synthetic_results(kProblems, x_folder / "results", 10'000);
  const Report report = make_report({x_folder / "results"}, {.problems = kProblems});
  write_site(report, std::nullopt, site());
  for (const auto& each : fs::recursive_directory_iterator(site().folder)) {
    if (each.path().extension() != ".html") continue;
    EXPECT_LT(each.file_size(), 1u << 20) << each.path();
  }
  for (const char* const page : {"index.html", "plots.html", "problems/001_allreduce.html"}) {
    browser().open(address(page));
    const std::string painted = "performance.getEntriesByName('first-contentful-paint')";
    ASSERT_TRUE(browser().wait_for(painted + ".length > 0")) << page;
    const double milliseconds = browser().eval(painted + "[0].startTime").get<double>();
    RecordProperty(page, std::to_string(milliseconds));
    EXPECT_LT(milliseconds, 1000) << page;
  }
  EXPECT_THAT(browser().complaints(), IsEmpty());
}

TEST_F(SiteTest, HostileTextsStayTexts) {
  if (!start()) GTEST_SKIP() << "no Chromium here";
  write({.models = 2, .problems = 3, .samples = 1, .repairs = 1, .poison = kPoison});
  if (HasFatalFailure()) return;
  // The test can fail: the browser runs what is not escaped.
  browser().open("about:blank");
  browser().eval("document.body.innerHTML = '<img src=x onerror=\"window.owned=1\">'");
  EXPECT_TRUE(browser().wait_for("window.owned === 1"));
  browser().complaints();

  bool seen = false;
  std::vector<std::string> pages = {"index.html",   "plots.html",   "problems.html",
                                    "compare.html", "sources.html", "problems/001_allreduce.html"};
  for (int i = 0; i < 14; ++i) pages.push_back("candidate.html#0." + std::to_string(i));
  for (const std::string& page : pages) {
    browser().open(address(page));
    const char* const content = page.starts_with("candidate") ? ".headline" : page.starts_with("plots") ? "canvas" : "table";
    EXPECT_TRUE(browser().wait_for("document.querySelector('main " + std::string(content) + "')")) << page;
    browser().eval("for (const each of document.querySelectorAll('details')) each.open = true;");
    EXPECT_EQ(eval("typeof window.owned"), "undefined") << page;
    EXPECT_EQ(eval("document.querySelectorAll('main img, main svg, main script, main [onerror], main [onload], "
                   "a[href^=javascript]').length"),
              "0")
        << page;
    seen |= eval("document.body.textContent.includes('<img src=x onerror')") == "true";
    EXPECT_THAT(browser().complaints(), IsEmpty()) << page;
  }
  EXPECT_TRUE(seen) << "the poison reached no page: nothing was tested";
}

}  // namespace
}  // namespace pkb::report
