// SPDX-License-Identifier: MIT
// measure/show_command.cc: `rankfeed receipt show`: receipts for people, as text or as a page: one, or several side by side.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/diff.h"
#include "measure/options.h"
#include "measure/report.h"

namespace rankfeed::cli {

using namespace measure;

namespace {

using Json = nlohmann::ordered_json;

struct ShowCommand {
  std::vector<std::string> receipts;
  std::string html;
};

double Number(const Json& at) { return at.is_number() ? at.get<double>() : 0; }

// 87.3 us, 1.2 ms, 3 s.
std::string Time(double us) {
  if (us < 1000) return fmt::format("{:.3g} us", us);
  return us < 1e6 ? fmt::format("{:.3g} ms", us / 1e3) : fmt::format("{:.3g} s", us / 1e6);
}

std::string Time(const Json& us) { return us.is_number() ? Time(us.get<double>()) : "-"; }

// A value, or why there is none.
std::string Value(const Json& entry, const char* field = "value") {
  if (entry.contains(field) && entry[field].is_number()) return fmt::format("{:.4g}", Number(entry[field]));
  return "unavailable: " + entry.value("reason", "not said");
}

std::string Text(const Json& at, const char* otherwise = "unknown") {
  return at.is_string() ? at.get<std::string>() : otherwise;
}

void PrintHead(const Json& r) {
  const Json &t = r["tokenizer"], &w = r["workload"], &replay = r["replay"], &m = r["machine"];
  fmt::print("{} {}, {}, on {}, {}\n", Text(t["implementation"]), Text(t["version"]), Text(t["family"]), Text(w["name"]),
             Text(r["created"]));
  fmt::print("  machine    {}, {} of {} cores, {}{}, load {:.3g}\n", Text(m["cpu"]), m["cores_usable"].dump(),
             m["cores"].dump(), Text(m["kernel"]), m["hypervisor"] == true ? " (virtual)" : "",
             Number(m["load_average"]));
  fmt::print("  workload   {} queries of {:.4g} candidates, {} texts, {} thread{}, {} loop\n", w["requests"].dump(),
             Number(r["per_query"]["candidates"]), w["distinct_texts"].dump(), replay["threads"].dump(),
             Number(replay["threads"]) == 1 ? "" : "s", Text(replay["loop"]));
}

void PrintEncode(const Json& r) {
  const Json& e = r["encode"];
  fmt::print("  one text   {:.4g} MB/s on one thread; p50 {}, p99 {}, first time {}; {:.3g} ns a token\n",
             Number(e["megabytes_per_second"]), Time(e["latency_us"]["p50"]), Time(e["latency_us"]["p99"]),
             Time(e["latency_us"]["first_p50"]), Number(e["cpu_ns_per_token"]));
  fmt::print("             allocations a text: {}\n", Value(e["allocations_per_encode"]));
  const Json& counters = r["counters"]["encode"];
  for (const char* name : {"instructions", "dtlb_load_misses", "llc_misses"}) {
    fmt::print("             {} a token: {}\n", name, Value(counters[name], "per_token"));
  }
  const Json& pages = r["pages"];
  if (pages["obtained"].is_object()) {
    const Json& got = pages["obtained"];
    fmt::print("  pages      {}: {} of {} on huge pages\n", Text(got["kind"]), Bytes(Number(got["huge_bytes"])),
               Bytes(Number(got["resident_bytes"])));
  } else {
    fmt::print("  pages      unavailable: {}\n", Text(pages.value("reason", Json())));
  }
}

void PrintParity(const Json& r) {
  const Json& p = r["parity"];
  if (p["compared"].is_null()) {
    fmt::print("  parity     not compared: {}\n", Text(p.value("reason", Json())));
    return;
  }
  fmt::print("  parity     against {} {}:", Text(p["reference"]["implementation"]), Text(p["reference"]["version"]));
  for (const char* set : {"documents", "special_tokens", "unicode_stress"}) {
    fmt::print(" {} of {} {} differ;", p[set]["mismatches"].dump(), p[set]["compared"].dump(), set);
  }
  fmt::print("\n");
}

// Returns the CPU time of an answered query in us, like the page's headline and the audit's: time the host works, not time it waits.
Json Work(const Json& r) {
  double work = 0;
  for (const auto& [name, stage] : r["per_query"]["stages"].items()) work += name == "slot" ? 0 : Number(stage["cpu_us"]);
  return work;
}

void PrintQuery(const Json& r) {
  const Json& q = r["per_query"];
  fmt::print("\n  CPU per answered query: {} of tokenization, assembly, batch and submit; waiting for a slot is not in it\n",
             Time(Work(r)));
  fmt::print("  {:<12} {:>12} {:>12} {:>12}\n", "stage", "CPU", "wall p50", "wall p99");
  for (const auto& [name, stage] : q["stages"].items()) {
    fmt::print("  {:<12} {:>12} {:>12} {:>12}\n", name, Time(stage["cpu_us"]), Time(stage["wall_us"]["p50"]),
               Time(stage["wall_us"]["p99"]));
  }
  fmt::print("  {:<15} {:>9} {:>12} {:>12}\n", "from end to end", Time(q["host"]["cpu_us"]), Time(q["host"]["wall_us"]["p50"]),
             Time(q["host"]["wall_us"]["p99"]));
  const Json& replay = r["replay"];
  fmt::print("\n  answered   {:.4g} queries/s; latency p50 {}, p95 {}, p99 {}\n", Number(replay["queries_per_second"]),
             Time(replay["latency_us"]["p50"]), Time(replay["latency_us"]["p95"]), Time(replay["latency_us"]["p99"]));
  fmt::print("  cost       {}\n", q["cost"].contains("per_million_queries")
                                      ? fmt::format("{:.4g} {} per million queries",
                                                    Number(q["cost"]["per_million_queries"]), Text(q["cost"]["currency"]))
                                      : Value(q["cost"]));
}

// Prints several, each beside the first.
void PrintSideBySide(const Json& many) {
  const Json& first = many[0]["receipt"];
  const auto row = [&](const char* what, const std::function<Json(const Json&)>& get) {
    fmt::print("  {:<26}", what);
    for (const Json& one : many) {
      const double value = Number(get(one["receipt"])), of = Number(get(first));
      fmt::print(" {:>11.4g} {:<8}", value, &one == &many[0] || of == 0 ? "" : fmt::format("x{:.3f}", value / of));
    }
    fmt::print("\n");
  };
  const auto at = [](const char* pointer) { return [at = Json::json_pointer(pointer)](const Json& r) { return r.at(at); }; };
  for (const Json& one : many) {
    fmt::print("{}: {} {} on {}{}\n", Text(one["name"]), Text(one["receipt"]["tokenizer"]["implementation"]),
               Text(one["receipt"]["tokenizer"]["version"]), Text(one["receipt"]["workload"]["name"]),
               one.contains("verdict") ? "\n  " + Text(one["verdict"]) : "");
  }
  fmt::print("\n");
  row("ns of CPU a token", at("/encode/cpu_ns_per_token"));
  row("MB/s on one thread", at("/encode/megabytes_per_second"));
  row("one text, p50, us", at("/encode/latency_us/p50"));
  row("one text, first time, us", at("/encode/latency_us/first_p50"));
  row("us of CPU a query", Work);
  row("queries/s", at("/replay/queries_per_second"));
  row("latency p99, us", at("/replay/latency_us/p99"));
}

void RunShow(const ShowCommand& c) {
  Json many = Json::array();
  for (const std::string& path : c.receipts) {
    many.push_back({{"name", path.substr(path.rfind('/') + 1)}, {"receipt", ReadReceipt(path)}});
    if (many.size() > 1) many.back()["verdict"] = Compare(many[0]["receipt"], many.back()["receipt"], 0, c.receipts[0], path).verdict.sentence;
  }
  const Json& receipt = many[0]["receipt"];
  if (!c.html.empty()) WriteTextFile(c.html, ReportHtml(many.size() > 1 ? Json{{"receipts", many}} : Json{{"receipt", receipt}}));
  if (many.size() > 1) {
    PrintSideBySide(many);
  } else {
    PrintHead(receipt);
    PrintEncode(receipt);
    PrintParity(receipt);
    PrintQuery(receipt);
  }
  if (!c.html.empty() && c.html != "-") fmt::print("\npage: {}\n", c.html);
}

}  // namespace

Json ReadReceipt(const std::string& path) {
  Json receipt = ReadJsonFile(path);
  // A statement holds one.
  if (receipt.contains("predicate")) receipt = Json(receipt["predicate"]);
  if (!receipt.is_object() || receipt.value("schema", "") != "rankfeed-receipt") throw Failure(path + ": not a receipt");
  return receipt;
}

void AddShow(CLI::App& receipt) {
  auto* command = receipt.add_subcommand("show", "Print receipts, or those in statements, for people: one, or several side by side");
  auto c = std::make_shared<ShowCommand>();
  command->add_option("RECEIPTS", c->receipts, "Receipts of `rankfeed receipt run`; others are compared with the first")->required();
  command->add_option("--html", c->html, "Write a page too: one file, no network");
  command->callback([c] { RunShow(*c); });
}

}  // namespace rankfeed::cli
