// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/sha256.h"

#include <openssl/evp.h>

namespace forkpoint::bundle {

struct Sha256::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    bool ok = false;
    ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256()
    : m_state(std::make_unique<State>())
{
    m_state->ok = m_state->context && EVP_DigestInit_ex(m_state->context, EVP_sha256(), nullptr) == 1;
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes)
{
    m_state->ok = m_state->ok && EVP_DigestUpdate(m_state->context, bytes.data(), bytes.size()) == 1;
}

std::optional<Digest> Sha256::finish()
{
    Digest digest = {};
    unsigned size = 0;
    if (!m_state->ok || EVP_DigestFinal_ex(m_state->context, digest.data(), &size) != 1 || size != digest.size())
        return std::nullopt;
    return digest;
}

std::string hexText(const Digest& digest)
{
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : digest) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 0xf];
    }
    return text;
}

std::optional<Digest> digestFromHex(std::string_view text)
{
    Digest digest = {};
    if (text.size() != 2 * digest.size())
        return std::nullopt;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        int value = 0;
        if (c >= '0' && c <= '9')
            value = c - '0';
        else if (c >= 'a' && c <= 'f')
            value = c - 'a' + 10;
        else if (c >= 'A' && c <= 'F')
            value = c - 'A' + 10;
        else
            return std::nullopt;
        digest[i / 2] = static_cast<std::uint8_t>(digest[i / 2] * 16 + value);
    }
    return digest;
}

} // namespace forkpoint::bundle
