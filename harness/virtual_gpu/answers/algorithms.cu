// SPDX-License-Identifier: Apache-2.0
// Iterations over grids, graphs, tables and codes: data-dependent control, atomics, barriers of the whole grid.
#include <cooperative_groups.h>

#include <cuda/atomic>

#include "harness/virtual_gpu/answers/answer.cuh"

namespace cg = cooperative_groups;

namespace pkb::virtual_gpu::answers {
namespace {

template <class... Parameters, class... Arguments>
void launch_cooperative(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, const Arguments&... arguments) {
  cudaLaunchConfig_t launch{};
  launch.gridDim = blocks;
  launch.blockDim = threads;
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  launch.attrs = &cooperative;
  launch.numAttrs = 1;
  cudaLaunchKernelEx(&launch, kernel, static_cast<Parameters>(arguments)...);
}

// 64 x 64, 20 sweeps, between two buffers.
__global__ void jacobi(const std::uint32_t* in, float* buffer, float* out) {
  constexpr int kSize = 64;
  const auto grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank()), x = i % kSize, y = i / kSize;
  const bool inside = x > 0 && y > 0 && x < kSize - 1 && y < kSize - 1;
  out[i] = inside ? 0 : real(in[i]);
  buffer[i] = out[i];
  float *from = out, *to = buffer;
  for (int sweep = 0; sweep < 20; ++sweep) {
    grid.sync();
    if (inside) to[i] = 0.25f * ((from[i - 1] + from[i + 1]) + (from[i - kSize] + from[i + kSize]));
    float* const held = from;
    from = to;
    to = held;
  }
}

// A x = b for the Laplacian of a line of 1024 points; every block sums the blocks' shares in the same order.
__global__ void conjugate_gradient(const std::uint32_t* in, double* p, double* shares, double* out) {
  constexpr unsigned kCount = 1024;
  __shared__ double of_warp[4];
  const auto grid = cg::this_grid();
  const auto i = static_cast<unsigned>(grid.thread_rank());
  unsigned turn = 0;
  const auto dot = [&](double a, double b) {
    double sum = __dmul_rn(a, b);
    for (int step = 16; step > 0; step /= 2) sum = __dadd_rn(sum, __shfl_xor_sync(0xffffffff, sum, step));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    double* const own = shares + turn * gridDim.x;
    turn ^= 1;
    if (threadIdx.x == 0) own[blockIdx.x] = (of_warp[0] + of_warp[1]) + (of_warp[2] + of_warp[3]);
    grid.sync();
    double total = 0;
    for (unsigned block = 0; block < gridDim.x; ++block) total = __dadd_rn(total, own[block]);
    return total;
  };
  double x = 0, r = real(in[i]), own = r;
  p[i] = own;
  double rr = dot(r, r);
  for (int iteration = 0; iteration < 12; ++iteration) {
    const double left = i > 0 ? p[i - 1] : 0, right = i + 1 < kCount ? p[i + 1] : 0;
    const double ap = __dsub_rn(__dmul_rn(2.5, own), __dadd_rn(left, right));
    const double alpha = __ddiv_rn(rr, dot(own, ap));
    x = __fma_rn(alpha, own, x);
    r = __fma_rn(-alpha, ap, r);
    const double next = dot(r, r);
    own = __fma_rn(__ddiv_rn(next, rr), own, r);
    rr = next;
    p[i] = own;
    grid.sync();
  }
  out[i] = x;
}

// Blocks take tiles of unequal work from a counter until there are none.
__global__ void persistent(const std::uint32_t* in, unsigned* next, std::uint32_t* out) {
  __shared__ unsigned tile;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) tile = atomicAdd(next, 1u);
    __syncthreads();
    if (tile >= 128) return;
    std::uint32_t x = in[tile * 64 + threadIdx.x];
    for (std::uint32_t round = 0; round < in[tile] % 64; ++round) x = x * 1664525 + 1013904223;
    out[tile * 64 + threadIdx.x] = x;
  }
}

// Rows of 1 to 32 entries, a warp a row.
__global__ void sparse_product(const std::uint32_t* in, float* out) {
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  const unsigned first = row * 32, count = in[row] % 32 + 1;
  float term = 0;
  if (lane < count) term = __fmul_rn(real(in[8192 + first + lane]), real(in[200000 + in[70000 + first + lane] % 8192]));
  const float sum = warp_sum(term);
  if (lane == 0) out[row] = sum;
}

// Distances from node 0 in a random graph with three edges a node, level by level.
__global__ void breadth_first(const std::uint32_t* in, int nodes, int* frontier, int* sizes, int* distance) {
  const auto grid = cg::this_grid();
  const int rank = static_cast<int>(grid.thread_rank()), step = static_cast<int>(grid.size());
  for (int i = rank; i < nodes; i += step) distance[i] = i == 0 ? 0 : -1;
  if (rank == 0) {
    frontier[0] = 0;
    sizes[0] = 1;
  }
  for (int level = 0;; ++level) {
    grid.sync();
    const int count = sizes[level % 3];
    if (count == 0) return;
    if (rank == 0) sizes[(level + 2) % 3] = 0;
    const int* const from = frontier + level % 2 * nodes;
    int* const to = frontier + (level + 1) % 2 * nodes;
    for (int i = rank; i < count; i += step) {
      for (int edge = 0; edge < 3; ++edge) {
        const int other = static_cast<int>(in[from[i] * 3 + edge] % static_cast<unsigned>(nodes));
        if (atomicCAS(&distance[other], -1, level + 1) == -1) to[atomicAdd(&sizes[(level + 1) % 3], 1)] = other;
      }
    }
  }
}

// The least number of each component, by hooking roots under smaller roots.
__device__ int root_of(int* parent, int node) {
  for (;;) {
    const int up = cuda::atomic_ref<int, cuda::thread_scope_device>(parent[node]).load(cuda::memory_order_relaxed);
    if (up == node) return node;
    node = up;
  }
}
__global__ void number_nodes(int* parent) { parent[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x * blockDim.x + threadIdx.x; }
__global__ void join_edges(const std::uint32_t* in, int nodes, int* parent) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int a = static_cast<int>(in[2 * i] % static_cast<unsigned>(nodes)), b = static_cast<int>(in[2 * i + 1] % static_cast<unsigned>(nodes));
  for (;;) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a == b) return;
    if (a < b) {
      const int held = a;
      a = b;
      b = held;
    }
    if (atomicCAS(&parent[a], a, b) == a) return;
  }
}
__global__ void flatten(int* parent, int* out) {
  const int node = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  out[node] = root_of(parent, node);
}

// Open addressing: how often each key of 1024 occurs, found again by its key.
__global__ void insert(const std::uint32_t* in, unsigned* keys, unsigned* counts) {
  const unsigned key = in[blockIdx.x * blockDim.x + threadIdx.x] % 1024 + 1;
  unsigned slot = key * 2654435761u >> 21;
  for (;; slot = (slot + 1) % 2048) {
    const unsigned there = atomicCAS(&keys[slot], 0u, key);
    if (there == 0 || there == key) break;
  }
  atomicAdd(&counts[slot], 1u);
}
__global__ void look_up(const unsigned* keys, const unsigned* counts, unsigned* out) {
  const unsigned key = blockIdx.x * blockDim.x + threadIdx.x + 1;
  for (unsigned slot = key * 2654435761u >> 21; keys[slot] != 0; slot = (slot + 1) % 2048) {
    if (keys[slot] == key) out[key - 1] = counts[slot];
  }
}

// 32 cells a word, 64 words a row, neighbours counted by bit-sliced adders.
__global__ void life(const std::uint32_t* in, std::uint32_t* out, int wide, int high) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  std::uint32_t ones = 0, twos = 0, fours = 0, own = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    const std::uint32_t* const row = in + (y + dy + high) % high * wide;
    const std::uint32_t word = row[x], before = row[(x + wide - 1) % wide], after = row[(x + 1) % wide];
    if (dy == 0) own = word;
    const std::uint32_t neighbours[] = {__funnelshift_l(before, word, 1), dy == 0 ? 0 : word, __funnelshift_r(word, after, 1)};
    for (const std::uint32_t each : neighbours) {
      const std::uint32_t carry = ones & each, more = twos & carry;
      ones ^= each;
      twos ^= carry;
      fours |= more;
    }
  }
  out[y * wide + x] = twos & ~fours & (ones | own);
}

__global__ void mandelbrot(short* out) {
  const unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  const double cr = __fma_rn(x, 3.0 / 128, -2.2), ci = __fma_rn(y, 2.5 / 128, -1.25);
  double zr = 0, zi = 0;
  short steps = 0;
  for (; steps < 200; ++steps) {
    const double rr = __dmul_rn(zr, zr), ii = __dmul_rn(zi, zi);
    if (__dadd_rn(rr, ii) > 4) break;
    zi = __fma_rn(__dadd_rn(zr, zr), zi, ci);
    zr = __dadd_rn(__dsub_rn(rr, ii), cr);
  }
  out[y * 128 + x] = steps;
}

// Philox-4x32-10 counts points in a circle.
__global__ void monte_carlo(const std::uint32_t* in, unsigned long long* inside, uint4* last) {
  unsigned hits = 0;
  uint4 c = {};
  for (unsigned i = 0; i < 16; ++i) {
    c = {i, blockIdx.x * blockDim.x + threadIdx.x, in[0], in[1]};
    uint2 key = {in[2], in[3]};
    for (int round = 0; round < 10; ++round) {
      const unsigned low0 = 0xD2511F53u * c.x, high0 = __umulhi(0xD2511F53u, c.x);
      const unsigned low1 = 0xCD9E8D57u * c.z, high1 = __umulhi(0xCD9E8D57u, c.z);
      c = {high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0};
      key = {key.x + 0x9E3779B9u, key.y + 0xBB67AE85u};
    }
    const float x = __uint2float_rz(c.x) * 0x1p-32f, y = __uint2float_rz(c.y) * 0x1p-32f;
    hits += __fmaf_rn(x, x, __fmul_rn(y, y)) < 1;
  }
  hits = __reduce_add_sync(0xffffffff, hits);
  if (threadIdx.x % 32 == 0) atomicAdd(inside, static_cast<unsigned long long>(hits));
  last[blockIdx.x * blockDim.x + threadIdx.x] = c;
}

__device__ std::uint32_t of_byte(std::uint32_t crc, std::uint32_t byte) {
  crc ^= byte;
  for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc % 2 == 1 ? 0xedb88320u : 0u);
  return crc;
}
__global__ void checksums(const std::uint32_t* in, std::uint32_t* out) {
  __shared__ std::uint32_t table[256];
  table[threadIdx.x] = of_byte(0, threadIdx.x);
  __syncthreads();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t crc = ~0u;
  for (unsigned word = 0; word < 16; ++word) {
    const std::uint32_t value = in[i * 16 + word];
    for (unsigned byte = 0; byte < 4; ++byte) crc = crc >> 8 ^ table[(crc ^ __byte_perm(value, 0, 0x4440 | byte)) & 255];
  }
  out[i] = ~crc;
}

// Distances of strings of 64 letters, a warp a pair: lane 2k and 2k + 1 go down two columns as a wavefront.
__global__ void edit_distance(const std::uint32_t* in, int* out) {
  const unsigned lane = threadIdx.x, pair = blockIdx.x;
  const auto letter = [&](unsigned string, unsigned i) { return in[(pair * 2 + string) * 64 + i] % 4; };
  int left[2] = {static_cast<int>(2 * lane) + 1, static_cast<int>(2 * lane) + 2}, corner = static_cast<int>(2 * lane);
  for (unsigned step = 0; step < 64 + 31; ++step) {
    const int border = static_cast<int>(step) + 1;
    const int from_left = __shfl_up_sync(0xffffffff, left[1], 1);
    const bool active = step >= lane && step - lane < 64;
    const unsigned row = step - lane;
    int beside = lane == 0 ? border : from_left, diagonal = corner;
    if (active) {
      corner = beside;
      for (unsigned c = 0; c < 2; ++c) {
        const int differs = letter(0, row) != letter(1, 2 * lane + c);
        const int next = min(diagonal + differs, min(beside, left[c]) + 1);
        diagonal = left[c];
        left[c] = beside = next;
      }
    }
  }
  if (lane == 31) out[pair] = left[1];
}

// 256 times 256 bits with carries through the flag.
__global__ void long_product(const std::uint32_t* in, std::uint32_t* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t product[16] = {};
  for (unsigned row = 0; row < 8; ++row) {
    const std::uint32_t a = in[i * 8 + row];
    std::uint32_t carry = 0;
    for (unsigned column = 0; column < 8; ++column) {
      const std::uint32_t b = in[131072 + i * 8 + column];
      asm("mad.lo.cc.u32 %0, %2, %3, %0;\nmadc.hi.u32 %1, %2, %3, 0;\nadd.cc.u32 %0, %0, %4;\naddc.u32 %1, %1, 0;"
          : "+r"(product[row + column]), "=&r"(carry)
          : "r"(a), "r"(b), "r"(carry));
    }
    product[row + 8] = carry;
  }
  for (unsigned k = 0; k < 16; ++k) out[i * 16 + k] = product[k];
}

// A stack machine whose instructions are called through a table of functions.
struct Machine {
  std::uint32_t stack[8];
  unsigned top = 0;
  __device__ void push(std::uint32_t value) { stack[top++ % 8] = value; }
  __device__ std::uint32_t pop() { return stack[--top % 8]; }
};
using Operation = void (*)(Machine&, std::uint32_t);
__device__ void put(Machine& m, std::uint32_t value) { m.push(value); }
__device__ void add(Machine& m, std::uint32_t) { m.push(m.pop() + m.pop()); }
__device__ void mix(Machine& m, std::uint32_t by) {
  const std::uint32_t low = m.pop(), high = m.pop();
  m.push(__funnelshift_l(low, high, by));
}
__device__ void copy(Machine& m, std::uint32_t) {
  const std::uint32_t value = m.pop();
  m.push(value);
  m.push(value * 0x9e3779b9u);
}
__device__ const Operation operations[4] = {put, add, mix, copy};
__global__ void interpret(const std::uint32_t* in, std::uint32_t* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  Machine m;
  for (unsigned k = 0; k < 8; ++k) m.push(in[i + k]);
  for (unsigned step = 0; step < 40; ++step) {
    const std::uint32_t word = in[(i * 40 + step) % 131072];
    operations[word % 4](m, word);
  }
  std::uint32_t result = m.top;
  for (const std::uint32_t each : m.stack) result = result * 31 + each;
  out[i] = result;
}

// Work recorded once and replayed with its order.
__global__ void advance(std::uint32_t* data, std::uint32_t by) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = data[i] * 69069 + by;
}
void replay(const std::uint32_t* in, void* out) {
  auto* const data = static_cast<std::uint32_t*>(out);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaDeviceSynchronize();
  cudaGraph_t graph;
  cudaGraphExec_t runnable;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyAsync(data, in, 4 * 4096, cudaMemcpyDeviceToDevice, stream);
  for (std::uint32_t step = 0; step < 4; ++step) advance<<<16, 256, 0, stream>>>(data, step);
  cudaMemcpyAsync(data + 4096, data, 4 * 4096, cudaMemcpyDeviceToDevice, stream);
  advance<<<16, 256, 0, stream>>>(data, 9);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&runnable, graph, 0);
  for (int i = 0; i < 3; ++i) cudaGraphLaunch(runnable, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace pkb::virtual_gpu::answers

using namespace pkb::virtual_gpu::answers;

PKB_ANSWERS(
    {"grid_jacobi", 4 * 64 * 64,
     [](const std::uint32_t* in, void* out) {
       const Scratch<float> buffer(64 * 64);
       launch_cooperative(jacobi, 16, 256, in, buffer, static_cast<float*>(out));
     }},
    {"grid_conjugate_gradient", 8 * 1024,
     [](const std::uint32_t* in, void* out) {
       const Scratch<double> p(1024), shares(16);
       launch_cooperative(conjugate_gradient, 8, 128, in, p, shares, static_cast<double*>(out));
     }},
    {"grid_persistent", 4 * 128 * 64,
     [](const std::uint32_t* in, void* out) {
       const Scratch<unsigned> next(1);
       persistent<<<12, 64>>>(in, next, static_cast<std::uint32_t*>(out));
     }},
    {"sparse_product", 4 * 1024,
     [](const std::uint32_t* in, void* out) { sparse_product<<<128, dim3(32, 8)>>>(in, static_cast<float*>(out)); }},
    {"graph_breadth_first", 4 * 8192,
     [](const std::uint32_t* in, void* out) {
       const Scratch<int> frontier(2 * 8192), sizes(3);
       launch_cooperative(breadth_first, 16, 128, in, 8192, frontier, sizes, static_cast<int*>(out));
     }},
    {"graph_components", 4 * 8192,
     [](const std::uint32_t* in, void* out) {
       const Scratch<int> parent(8192);
       number_nodes<<<32, 256>>>(parent);
       join_edges<<<24, 256>>>(in, 8192, parent);
       flatten<<<32, 256>>>(parent, static_cast<int*>(out));
     }},
    {"table_hash", 4 * 1024,
     [](const std::uint32_t* in, void* out) {
       const Scratch<unsigned> keys(2048), counts(2048);
       insert<<<64, 256>>>(in, keys, counts);
       look_up<<<4, 256>>>(keys, counts, static_cast<unsigned*>(out));
     }},
    {"bits_life", 4 * 64 * 256,
     [](const std::uint32_t* in, void* out) {
       const Scratch<std::uint32_t> other(64 * 256);
       auto* const cells = static_cast<std::uint32_t*>(out);
       life<<<256, 64>>>(in, other, 64, 256);
       life<<<256, 64>>>(other, cells, 64, 256);
       life<<<256, 64>>>(cells, other, 64, 256);
       life<<<256, 64>>>(other, cells, 64, 256);
     }},
    {"loop_mandelbrot", 2 * 128 * 128,
     [](const std::uint32_t*, void* out) { mandelbrot<<<dim3(8, 8), dim3(16, 16)>>>(static_cast<short*>(out)); }},
    {"random_monte_carlo", 16 + 16 * 8192,
     [](const std::uint32_t* in, void* out) {
       auto* const inside = static_cast<unsigned long long*>(out);
       monte_carlo<<<64, 128>>>(in, inside, reinterpret_cast<uint4*>(inside + 2));
     }},
    {"bits_checksums", 4 * 8192,
     [](const std::uint32_t* in, void* out) { checksums<<<32, 256>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"loop_edit_distance", 4 * 256,
     [](const std::uint32_t* in, void* out) { edit_distance<<<256, 32>>>(in, static_cast<int*>(out)); }},
    {"bits_long_product", 4 * 16 * 4096,
     [](const std::uint32_t* in, void* out) { long_product<<<32, 128>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"call_interpreter", 4 * 4096,
     [](const std::uint32_t* in, void* out) { interpret<<<32, 128>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"call_graph_replay", 4 * 2 * 4096, replay})
