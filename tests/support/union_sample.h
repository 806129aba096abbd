// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/align/alignment.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

// Runs that nobody trained: the graph records of one micro-step, and the pairs that an alignment of two would have.
namespace forkpoint::test {

/// One side's recording of step 0, micro-step 0, rank 0. Records calls as the recorder does: a call's line at its entry.
class SampleRun {
public:
    SampleRun();

    void module(const std::string& path, const std::string& className, const std::vector<std::string>& parameters = {});
    /// Opens a call; returns its number. The call is below the innermost open one.
    std::int32_t enter(const std::string& path);
    void leave();
    /// A call without calls in it.
    std::int32_t call(const std::string& path);
    void edge(const std::string& from, const std::string& to, std::int32_t fromCall = 0, std::int32_t toCall = 0, const std::string& toSlot = "");
    void backward(const std::string& root = "loss");

    bundle::RankData& rank() { return *m_rank; }
    const bundle::RankData& rank() const { return *m_rank; }

private:
    struct Open {
        std::string path;
        std::int32_t call;
    };
    std::shared_ptr<bundle::RankData> m_rank;
    std::vector<Open> m_open;
    std::map<std::string, std::int32_t> m_calls;
    std::int64_t m_order = 0;
};

/// Shape of a transformer as the recorder sees it: blocks of attention (query, key, value, projection) and MLP, with residuals, in a root
/// module; batch and loss.
struct GptShape {
    int blocks = 2;
    std::string layers = "layers"; ///< name of the list of blocks
    int extraBlock = -1;          ///< a block that only this run has, before block number extraBlock
};
SampleRun gpt(const GptShape& shape = {});

/// Both runs as aligned: one step, one micro-step. Pairs: batch, inputs, outputs, grad_outputs of each call, loss, and for each parameter
/// start, reduced gradient and value after the step; in execution order, what one side lacks as OnlyA or OnlyB. The alignment refers to the runs.
align::Alignment aligned(const SampleRun& a, const SampleRun& b);

} // namespace forkpoint::test
