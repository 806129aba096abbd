// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/bundle/writer.h"

#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

// Bundles with a graph, in a few lines.
namespace forkpoint::test {

/// What one run of a small transformer does, and how it differs from another one.
struct GraphShape {
    int blocks = 2;
    std::string differsFrom;      ///< path of the call whose output is off, and with it all later ones
    std::string reducedDiffers;   ///< path of the module whose reduced gradient is off
    std::string extra;            ///< path of a module after the head that only this run has
    std::string embedding = "tok"; ///< may be a hostile name
    bool graph = true;            ///< false: tensors without module, call or edge
};

/// Writes one rank, step 0, as the recorder does: a call's line at its entry, its output at its end.
class GraphRun {
public:
    GraphRun(const std::filesystem::path& folder, GraphShape shape)
        : m_writer(must(bundle::RankWriter::create(folder, 0)))
        , m_shape(std::move(shape))
    {
        must(bundle::writeBundleInfo(folder, { { "run", folder.stem().string() }, { "world_size", 1 } }));
        must(m_writer.info({ { "world_size", 1 }, { "status", "complete" } }));
        record();
    }
    const std::set<std::pair<std::string, std::string>>& edges() const { return m_edges; } ///< as recorded
    int calls() const { return m_calls; }

private:
    template <class T>
    static T must(Result<T> result)
    {
        if (!result) {
            throw std::runtime_error(result.error().text());
        }
        if constexpr (!std::is_void_v<T>) {
            return std::move(*result);
        }
    }

    void tensor(bundle::Phase phase, bundle::Kind kind, const std::string& module, const std::string& param, bool off)
    {
        bundle::TensorRecord record;
        record.phase = phase;
        record.kind = kind;
        record.micro = bundle::hasMicro(phase) ? 0 : bundle::kNoMicro;
        record.module = module;
        record.param = param;
        record.shape = { 2, 2 };
        record.order = m_order++;
        const std::vector<float> values { 1, 2, 3, off ? 5.0f : 4.0f };
        must(m_writer.tensor(record, std::as_bytes(std::span(values))));
    }

    void enter(const std::string& path, const std::string& className, const std::vector<std::string>& from, bool parameters = false)
    {
        bundle::ModuleRecord module;
        module.path = path;
        module.className = className;
        if (parameters) {
            module.parameters = { "weight" };
            m_parameters.push_back(path);
        }
        must(m_writer.module(module));
        bundle::CallRecord call;
        call.module = path;
        call.order = m_order++;
        call.source = "model.py:" + std::to_string(call.order);
        if (!m_open.empty()) {
            call.parent = m_open.back();
        }
        must(m_writer.call(call));
        m_open.push_back(path);
        ++m_calls;
        for (const auto& producer : from) {
            edge(producer, path);
        }
    }
    void leave()
    {
        const auto path = m_open.back();
        m_open.pop_back();
        m_off = m_off || (path == m_shape.differsFrom && !path.empty());
        tensor(bundle::Phase::Forward, bundle::Kind::Output, path, "", m_off);
    }
    void leaf(const std::string& path, const std::string& className, const std::vector<std::string>& from, bool parameters = false)
    {
        enter(path, className, from, parameters);
        leave();
    }
    void edge(const std::string& from, const std::string& to)
    {
        bundle::EdgeRecord record;
        record.from.module = from;
        record.to.module = to;
        must(m_writer.edge(record));
        m_edges.emplace(from, to);
    }

    void block(const std::string& path, const std::string& from)
    {
        enter(path, "Block", { from });
        leaf(path + ".norm1", "LayerNorm", { from }, true);
        enter(path + ".attn", "Attention", { path + ".norm1" });
        leaf(path + ".attn.qkv", "Linear", { path + ".norm1" }, true);
        leaf(path + ".attn.proj", "Linear", { path + ".attn.qkv" }, true);
        leave();
        leaf(path + ".norm2", "LayerNorm", { path + ".attn", from }, true); // the residual
        enter(path + ".ff", "FeedForward", { path + ".norm2" });
        leaf(path + ".ff.up", "Linear", { path + ".norm2" }, true);
        leaf(path + ".ff.down", "Linear", { path + ".ff.up" }, true);
        leave();
        leave();
    }

    void record()
    {
        if (!m_shape.graph) {
            tensor(bundle::Phase::Data, bundle::Kind::Batch, "", "", false);
            return;
        }
        enter("", "GPT", {});
        leaf(m_shape.embedding, "Embedding", {}, true);
        std::string last = m_shape.embedding;
        for (int i = 0; i < m_shape.blocks; ++i) {
            const std::string path = "layers." + std::to_string(i);
            block(path, last);
            last = path;
        }
        leaf("head", "Linear", { last }, true);
        if (!m_shape.extra.empty()) {
            leaf(m_shape.extra, "Linear", { "head" });
        }
        leave();
        for (const auto& path : m_parameters) {
            tensor(bundle::Phase::Reduce, bundle::Kind::Grad, path, "weight", path == m_shape.reducedDiffers);
        }
    }

    bundle::RankWriter m_writer;
    GraphShape m_shape;
    std::vector<std::string> m_open, m_parameters;
    std::set<std::pair<std::string, std::string>> m_edges;
    std::int64_t m_order = 0;
    int m_calls = 0;
    bool m_off = false;
};

} // namespace forkpoint::test
