// SPDX-License-Identifier: Apache-2.0
#include "harness/candidate/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>

#include "harness/error/error.h"

namespace pkb::candidate {
namespace {

EVP_MD_CTX* context_of(void* context) { return static_cast<EVP_MD_CTX*>(context); }

void require(int done) {
  if (done != 1) throw EnvironmentError({"libcrypto", "SHA-256 failed", "reinstall OpenSSL"});
}

std::string finish(EVP_MD_CTX* context) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  require(EVP_DigestFinal_ex(context, bytes.data(), &size));
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

}  // namespace

void Digest::Free::operator()(void* context) const { EVP_MD_CTX_free(context_of(context)); }

Digest::Digest() : x_context(EVP_MD_CTX_new()) {
  require(EVP_DigestInit_ex(context_of(x_context.get()), EVP_sha256(), nullptr));
}

Digest& Digest::field(std::string_view bytes) {
  const std::uint64_t size = bytes.size();
  require(EVP_DigestUpdate(context_of(x_context.get()), &size, sizeof size));
  require(EVP_DigestUpdate(context_of(x_context.get()), bytes.data(), bytes.size()));
  return *this;
}

std::string Digest::hex() { return finish(context_of(x_context.get())); }

std::string sha256(std::string_view bytes) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  require(EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr));
  require(EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()));
  return finish(context.get());
}

}  // namespace pkb::candidate
