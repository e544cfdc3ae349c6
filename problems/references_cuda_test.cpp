// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reference/random.h"
#include "reference/testing/problem.h"

// Every reference with its inputs on the host and on CUDA.
namespace pkb::ref::testing {
namespace {

Tensor random(const Shape& shape, const Distribution& distribution, int rank, std::uint16_t number = 0) {
  Tensor t = Tensor::empty(shape, DType::bf16);
  random_fill(t, distribution, {.seed = 3, .tensor = number, .rank = static_cast<std::uint16_t>(rank)});
  return t;
}

struct Case {
  const char* problem;
  std::map<std::string, double, std::less<>> parameters;
  bool moves;  ///< only moves data, so that any bits will do
  std::function<Tensors(const Distribution&, int rank, int ranks)> inputs;
  bool custom = false;  ///< the folder's make_inputs goes over what `inputs` gives
  bool exact_on_integers = true;
  double tolerance = 0;  ///< of a problem without error_bound, times 1 + |value|
  std::vector<GroupLayout> groups{};
};

Tensor zeros(Shape shape, DType dtype = DType::bf16) { return Tensor::zeros(std::move(shape), dtype); }

/// Elements of a vector that is cut into equal shards of which the last may be shorter.
std::int64_t shard_of(std::int64_t elements, int rank, int ranks) {
  const std::int64_t each = (elements + ranks - 1) / ranks;
  return std::min(each, elements - rank * each);
}

/// Rings of neighbours, two of them where there is an even number of ranks, and who has the same place in each.
std::vector<GroupLayout> rings(int ranks) {
  const int replicas = ranks % 2 == 0 ? 2 : 1, ring = ranks / replicas;
  std::vector<std::vector<int>> cp(static_cast<std::size_t>(replicas)), dp(static_cast<std::size_t>(ring));
  for (int r = 0; r < ranks; ++r) {
    cp[static_cast<std::size_t>(r / ring)].push_back(r);
    dp[static_cast<std::size_t>(r % ring)].push_back(r);
  }
  return {{.name = "cp", .ranks_of = cp}, {.name = "dp", .ranks_of = dp}};
}

/// Odd extents; roots are the last rank, which every number of ranks has.
std::vector<Case> cases(int ranks) {
  const double root = ranks - 1;
  const auto matrix = [](const Distribution& values, int rank, int) -> Tensors {
    return {{"tensor", random({97, 131}, values, rank)}};
  };
  return {
      {"001_allreduce", {}, false, matrix},
      {"002_allgather", {}, true, matrix},
      {"003_broadcast", {{"src", root}}, true, matrix},
      {"004_reduce", {{"dst", root}}, false, matrix},
      {"005_scatter",
       {{"src", root}},
       true,
       [](const Distribution& values, int rank, int all) -> Tensors {
         return {{"tensor", random({rank == all - 1 ? all : 0, 61, 83}, values, rank)}};
       }},
      {"006_gather", {{"dst", root}}, true, matrix},
      {"007_reducescatter",
       {},
       false,
       [](const Distribution& values, int rank, int all) -> Tensors {
         return {{"tensor", random({61 * all, 67}, values, rank)}};
       }},
      {"008_alltoall",
       {},
       true,
       [](const Distribution& values, int rank, int all) -> Tensors {
         return {{"tensor", random({all, 37, 41}, values, rank)}};
       }},
      {"013_gemm_allreduce",
       {},
       false,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"A_local", random({113, 71}, values, rank, 0)},
                 {"B_local", random({71, 59}, values, rank, 1)}};
       }},
      {"009_layernorm_backward",
       {},
       false,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"X_hat", random({rank == 1 ? 0 : 57 + rank, 131}, values, rank, 0)},
                 {"dY", random({rank == 1 ? 0 : 57 + rank, 131}, values, rank, 1)}};
       }},
      {"010_embedding_lookup",
       {{"request_order", 0}},
       true,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"indices", zeros({rank == 1 ? 0 : 211 + 13 * rank}, DType::i64)},
                 {"local_shard", random({101, 37}, values, rank)}};
       },
       true},
      {"010_embedding_lookup",
       {{"request_order", 1}},
       true,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"indices", zeros({211 + 13 * rank}, DType::i64)}, {"local_shard", random({101, 8}, values, rank)}};
       },
       true},
      {"012_allgather_gemm",
       {},
       false,
       [](const Distribution& values, int rank, int all) -> Tensors {
         return {{"A_local", random({113, 37}, values, rank, 0)}, {"B", random({37 * all, 59}, values, rank, 1)}};
       }},
      {"016_gemm_reducescatter",
       {},
       false,
       [](const Distribution& values, int rank, int all) -> Tensors {
         return {{"A_local", random({33 * all, 67}, values, rank, 0)}, {"B_local", random({67, 131}, values, rank, 1)}};
       }},
      {"018_tp_rms_norm",
       {{"variance_epsilon", 1e-5}},
       false,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"local_hidden_states", zeros({37, 53})}, {"local_weight", random({53}, values, rank)}};
       },
       true},
      {"019_blocked_fp8_quantize",
       {{"block_size", 16}},
       true,
       [](const Distribution&, int, int) -> Tensors { return {{"local_tensor", zeros({7, 48})}}; },
       true},
      {"021_clip_grad_norm_no_ep",
       {{"max_norm", 1}, {"norm_type", 2}},
       false,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"grad_0", random({rank == 1 ? 0 : 1}, values, rank, 0)},
                 {"grad_1", random({37}, values, rank, 1)},
                 {"grad_2", random({1000}, values, rank, 2)},
                 {"grad_3", random({1353}, values, rank, 3)},
                 {"grad_4", random({0}, values, rank, 4)}};
       },
       false,
       false},
      {"026_moe_token_preprocess",
       {},
       true,
       [](const Distribution&, int rank, int) -> Tensors {
         return {{"expert_mask", zeros({12, 3, rank == 1 ? 0 : 701 + rank}, DType::f32)}};
       },
       true},
      {"028_moe_pre_all2all",
       {},
       true,
       [](const Distribution& values, int rank, int all) -> Tensors {
         const std::int64_t tokens = rank == 1 ? 0 : 67 + rank;
         return {{"hidden_states", random({tokens, 41}, values, rank)},
                 {"expert_mask", zeros({12, 3, tokens}, DType::f32)},
                 {"input_splits", zeros({all}, DType::i64)},
                 {"output_splits", zeros({all}, DType::i64)},
                 {"num_global_tokens_per_local_expert", zeros({all, 12 / all}, DType::i64)}};
       },
       true},
      {"031_fused_moe_fwd",
       {{"K", 3}},
       false,
       [](const Distribution& values, int rank, int all) -> Tensors {
         const std::int64_t local = 12 / all;
         return {{"hidden_states", zeros({rank == 1 ? 0 : 67 + rank, 44})},
                 {"gate_weight", zeros({12, 44})},
                 {"gate_bias", zeros({12})},
                 {"gate_proj_weight", zeros({local, 28, 44})},
                 {"gate_proj_bias", random({local, 28}, values, rank, 0)},
                 {"up_proj_weight", zeros({local, 28, 44})},
                 {"up_proj_bias", random({local, 28}, values, rank, 1)},
                 {"down_proj_weight", zeros({local, 44, 28})},
                 {"down_proj_bias", random({local, 44}, values, rank, 2)}};
       },
       true},
      {"036_ulysses_gather_seq_scatter_heads",
       {{"unpadded_dim_size", 0}},
       true,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"x", random({2, 37, 12, 20}, values, rank)}};
       }},
      {"041_zero1_optimizer_shard",
       {{"step", 3}, {"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}},
       false,
       [](const Distribution&, int rank, int all) -> Tensors {
         const std::int64_t own = shard_of(607, rank, all);
         return {{"X_local", zeros({5, 17})},
                 {"y_local", zeros({5, 7})},
                 {"W1", zeros({24, 17}, DType::f32)},
                 {"b1", zeros({24}, DType::f32)},
                 {"W2", zeros({7, 24}, DType::f32)},
                 {"b2", zeros({7}, DType::f32)},
                 {"exp_avg_part", zeros({own}, DType::f32)},
                 {"exp_avg_sq_part", zeros({own}, DType::f32)}};
       },
       true},
      {"047_fsdp_step_e2e",
       {{"step", 3}, {"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0.01}, {"h", 24}},
       false,
       [](const Distribution&, int rank, int all) -> Tensors {
         const std::int64_t own = shard_of(607, rank, all);
         return {{"X_local", zeros({5, 17})},
                 {"y_local", zeros({5, 7})},
                 {"flat_param_shard", zeros({own}, DType::f32)},
                 {"exp_avg_shard", zeros({own}, DType::f32)},
                 {"exp_avg_sq_shard", zeros({own}, DType::f32)}};
       },
       true},
      {"054_ring_attention",
       {{"causal", 1}, {"softmax_scale", 0}},
       false,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"q", zeros({2, 13, 3, 16})},
                 {"k", random({2, 13, 3, 16}, values, rank, 1)},
                 {"v", random({2, 13, 3, 16}, values, rank, 2)}};
       },
       true},
      {"057_ring_attention_backward_dp",
       {{"causal", 1}, {"softmax_scale", 0}},
       false,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"dout", zeros({2, 13, 3, 16})},
                 {"q", zeros({2, 13, 3, 16})},
                 {"k", random({2, 13, 3, 16}, values, rank, 1)},
                 {"v", random({2, 13, 3, 16}, values, rank, 2)},
                 {"out", zeros({2, 13, 3, 16})},
                 {"softmax_lse", zeros({2, 3, 13}, DType::f32)}};
       },
       true, true, 0, rings(ranks)},
      {"061_gsplat_3d_gaussian_splatting",
       {{"width", 96}, {"height", 64}, {"near_plane", 0.01}, {"far_plane", 1e10}, {"eps2d", 0.3}},
       false,
       [](const Distribution& values, int rank, int) -> Tensors {
         const std::int64_t own = rank == 1 ? 0 : 257 + 40 * rank;
         return {{"means", zeros({own, 3}, DType::f32)},
                 {"quats", random({own, 4}, values, rank, 1).to(DType::f32)},
                 {"scales", zeros({own, 3}, DType::f32)},
                 {"opacities", random({own}, values, rank, 2).to(DType::f32)},
                 {"colors", random({own, 3}, values, rank, 3).to(DType::f32)},
                 {"viewmats", zeros({2, 4, 4}, DType::f32)},
                 {"Ks", zeros({2, 3, 3}, DType::f32)}};
       },
       true, false, 1e-4},
      {"063_deepmd_kalman_filter_optimizer",
       {{"kalman_nue", 0.5}, {"idle", 1}, {"n", 2}, {"c", 41}, {"extra", 7}, {"last", 1}},
       false,
       [](const Distribution& values, int rank, int all) -> Tensors {
         const std::int64_t length = 41 + 7 * rank, own = rank == 1 ? 0 : 2 * length + 1;
         return {{"block_lengths", zeros({all, 3}, DType::i64)},
                 {"H", zeros({own}, DType::f64)},
                 {"error", random({1}, values, rank, 1).to(DType::f64)},
                 {"weights", random({own}, values, rank, 2).to(DType::f64)},
                 {"P", zeros({rank == 1 ? 0 : 2 * length * length + 1}, DType::f64)},
                 {"kalman_lambda", Tensor::full({1}, 0.75, DType::f64)}};
       },
       true, false, 1e-12},
      {"064_gnn_neighbor_sampling",
       {{"fanout_0", 4}, {"fanout_1", -1}, {"fanout_2", 2}, {"degree", 5}},
       true,
       [](const Distribution&, int rank, int) -> Tensors {
         return {{"seed_nodes", zeros({rank == 1 ? 0 : 7 + 3 * rank}, DType::i64)},
                 {"colptr", zeros({308}, DType::i64)},
                 {"row", zeros({3000}, DType::i64)},
                 {"edge_id", zeros({3000}, DType::i64)},
                 {"node_to_rank", zeros({307}, DType::i64)}};
       },
       true},
      {"070_torchrec_kjt_all2all",
       {{"features", 0}, {"spread", 4}, {"shift", 2}, {"stagger", 1}, {"weighted", 1}, {"per_key", 0}, {"B", 19}, {"L", 4}},
       true,
       [](const Distribution& values, int rank, int all) -> Tensors {
         const std::int64_t bags = 19 * std::vector<std::int64_t>{2, 5, 5, 6}[static_cast<std::size_t>(all - 1)];
         Tensor ids = Tensor::empty({4 * bags}, DType::i64);
         random_fill(ids, {.kind = Distribution::Kind::integers, .low = 0, .high = 999}, {.rank = static_cast<std::uint16_t>(rank)});
         return {{"lengths", zeros({bags}, DType::i64)},
                 {"values", ids},
                 {"weights", random({4 * bags}, values, rank)},
                 {"batch_size", zeros({1}, DType::i64)},
                 {"stride_per_key", zeros({0}, DType::i64)}};
       },
       true},
      {"072_hyena_forward_cp",
       {{"zigzag", 1}},
       false,
       [](const Distribution& values, int rank, int all) -> Tensors {
         return {{"x1_seq", random({2, 2 * all, 22}, values, rank, 0)},
                 {"x2_seq", random({2, 2 * all, 22}, values, rank, 1)},
                 {"v_seq", random({2, 2 * all, 22}, values, rank, 2)},
                 {"h", zeros({all, 21})},
                 {"conv_bias", random({2 * all}, values, 0, 3)}};
       },
       true},
      {"073_vocab_parallel_cross_entropy_loss",
       {},
       false,
       [](const Distribution&, int, int) -> Tensors {
         return {{"vocab_parallel_logits", zeros({3, 41, 29})}, {"target", zeros({3, 41}, DType::i64)}};
       },
       true},
      {"075_fla_gated_deltanet_cp",
       {},
       false,
       [](const Distribution& values, int rank, int all) -> Tensors {
         return {{"q", random({2, 9, all, 8}, values, rank, 0)},
                 {"k", zeros({2, 9, all, 8})},
                 {"v", random({2, 9, 2 * all, 12}, values, rank, 2)},
                 {"gate", zeros({2, 9, 2 * all})},
                 {"beta", random({2, 9, 2 * all}, {.kind = Distribution::Kind::uniform}, rank, 4)},
                 {"a_log", random({2}, {.kind = Distribution::Kind::uniform}, rank, 5)},
                 {"dt_bias", random({2}, {.kind = Distribution::Kind::uniform}, rank, 6)}};
       },
       true},
      {"082_vocab_parallel_log_prob_topk",
       {{"top_k", 10}, {"top_p", 0.9}},
       false,
       [](const Distribution&, int, int) -> Tensors {
         return {{"logits", zeros({1, 12, 29})}, {"target", zeros({1, 12}, DType::i64)}};
       },
       true, false, 4e-5},
      {"085_distributed_sample_sort",
       {},
       true,
       [](const Distribution&, int rank, int) -> Tensors { return {{"keys", zeros({rank == 1 ? 0 : 37 + 821 * rank})}}; },
       true},
      {"087_conv2d_boundary_exchange",
       {{"padding", 2}, {"stride", 1}},
       false,
       [](const Distribution& values, int rank, int) -> Tensors {
         return {{"x", random({2, 5, 3 + rank, 11}, values, rank, 0)},
                 {"weight", random({7, 5, 5, 3}, values, 0, 1)},
                 {"bias", random({7}, values, 0, 2)}};
       }},
  };
}

Tensors moved(const Tensors& tensors, DType dtype, Place place) {
  Tensors result;
  for (const auto& [name, tensor] : tensors)
    result.set(name, (info(tensor.dtype()).floating ? tensor.to(dtype) : tensor).to(place));
  return result;
}

/// `staged`: all ranks on GPU 0; else rank r on GPU r, over NCCL.
void compare_places(int ranks, bool staged) {
  for (const Case& each : cases(ranks)) {
    const Distribution integers{.kind = Distribution::Kind::integers, .low = -1, .high = 1};
    std::vector<Distribution> kinds{{}, integers};
    if (each.moves) kinds.push_back({.kind = Distribution::Kind::bits});
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const InputRequest request{.seed = 5, .trial = static_cast<std::uint32_t>(k)};
      const auto inputs = [&](Context& ctx, const ProblemLibrary& library) {
        Tensors in;
        for (const auto& [name, tensor] : each.inputs(kinds[k], ctx.world().rank(), ranks))
          in.set(name, tensor.to(ctx.place()));
        if (each.custom) library.make_inputs(ctx, request, in);
        return in;
      };
      Tensors given, host, bound;
      with_ranks(ranks, {.parameters = each.parameters, .groups = each.groups}, [&](Context& ctx) {
        const ProblemLibrary library(each.problem);
        given = inputs(ctx, library);
        host = library.reference(ctx, given);
        if (library.has_error_bound()) bound = library.error_bound(ctx, moved(given, DType::f64, Place::host));
      });
      use_gpu(0);
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      if (!staged && rank < ranks) use_gpu(rank);
      with_ranks(
          ranks, {.place = Place::cuda, .staged = staged, .parameters = each.parameters, .groups = each.groups}, [&](Context& ctx) {
            const ProblemLibrary library(each.problem);
            const Tensors in = inputs(ctx, library);
            for (const auto& [name, tensor] : in)
              EXPECT_TRUE(equal(tensor.to(Place::host), given[name])) << each.problem << " makes another " << name;
            const Tensors cuda = library.reference(ctx, in);
            for (const auto& [name, tensor] : in)
              EXPECT_TRUE(equal(tensor.to(Place::host), given[name])) << name << " was changed";
            for (const auto& [name, expected] : host) {
              SCOPED_TRACE(std::string(each.problem) + " " + name + " on rank " + std::to_string(rank));
              ASSERT_EQ(cuda[name].shape(), expected.shape());
              if (each.moves || !info(expected.dtype()).floating) {
                EXPECT_EQ(cuda[name].bytes(), expected.bytes());
                continue;
              }
              if (kinds[k].kind == Distribution::Kind::integers && !each.custom && each.exact_on_integers) {
                EXPECT_EQ(cuda[name].values(), expected.values());
                continue;
              }
              // Both are within the bound of the exact result.
              const Row got = cuda[name].values(), want = expected.values(),
                        most = each.tolerance > 0 ? Row{} : bound[name].values();
              for (std::size_t i = 0; i < got.size(); ++i) {
                if (got[i] == want[i]) continue;  // infinities among them
                const double allowed = each.tolerance > 0 ? each.tolerance * (1 + std::fabs(want[i])) : 2 * most[i];
                ASSERT_LE(std::fabs(got[i] - want[i]), allowed) << i;
              }
            }
          });
    }
  }
}

TEST(ReferencesOnCuda, StagedWhereRanksShareAGpu) {
  if (gpus() == 0) GTEST_SKIP() << "no GPU here";
  for (int ranks = 1; ranks <= 4; ++ranks) compare_places(ranks, true);
}

TEST(ReferencesOnCuda, NcclWithAGpuPerRank) {
  if (gpus() == 0) GTEST_SKIP() << "no GPU here";
  for (int ranks = 1; ranks <= std::min(gpus(), 4); ++ranks) compare_places(ranks, false);
}

}  // namespace
}  // namespace pkb::ref::testing
