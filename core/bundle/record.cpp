// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/bundle/record.h"

namespace forkpoint::bundle {

namespace {

constexpr std::array<std::string_view, 6> kPhases = {"start", "data", "forward", "backward", "reduce", "optimizer"};
constexpr std::array<std::string_view, 9> kKinds
    = {"batch", "input", "output", "grad_output", "grad", "param", "buffer", "optimizer_state", "scale"};

constexpr std::array<std::string_view, 4> kDetails = {"full", "sketch", "digest", "fold"};

template <class T, std::size_t N> std::optional<T> valueOf(const std::array<std::string_view, N>& names, std::string_view name)
{
    for (std::size_t i = 0; i < N; ++i) {
        if (names[i] == name)
            return static_cast<T>(i);
    }
    return std::nullopt;
}

} // namespace

std::string_view name(Phase phase)
{
    return kPhases[static_cast<std::size_t>(phase)];
}

std::string_view name(Kind kind)
{
    return kKinds[static_cast<std::size_t>(kind)];
}

std::string_view name(Detail detail)
{
    return kDetails[static_cast<std::size_t>(detail)];
}

std::optional<Detail> detailFromName(std::string_view name)
{
    return valueOf<Detail>(kDetails, name);
}

std::optional<Phase> phaseFromName(std::string_view name)
{
    return valueOf<Phase>(kPhases, name);
}

std::optional<Kind> kindFromName(std::string_view name)
{
    return valueOf<Kind>(kKinds, name);
}

bool hasMicro(Phase phase)
{
    return phase == Phase::Data || phase == Phase::Forward || phase == Phase::Backward;
}

bool hasParam(Kind kind)
{
    return kind == Kind::Param || kind == Kind::Buffer || kind == Kind::Grad || kind == Kind::OptimizerState;
}

} // namespace forkpoint::bundle
