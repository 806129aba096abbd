// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/run_builder.h"

// A training that really happens: one linear layer `fc`, squared error, plain gradient descent, in float32. The same samples may be split
// over ranks (dealt in turn, as a DistributedSampler does) and over micro-steps (each loss divided by their number). Two healthy ways to
// train it differ by rounding only; `defect` says what goes wrong in an unhealthy one.
namespace forkpoint::test {

struct ToyTraining {
    enum class Defect { None, UnreducedGradients, GradientTimesTwo, OtherStart, OtherBatch, LearningRate, NaNOutput };
    int world = 1;
    int micros = 1;
    int steps = 2;
    int firstStep = 0;
    Defect defect = Defect::None;
};

inline constexpr int kToyBatch = 8, kToyIn = 4, kToyOut = 3;

inline void writeToy(RecordedRun& run, const ToyTraining& toy)
{
    using Defect = ToyTraining::Defect;
    const std::string prefix = toy.world > 1 ? "module." : "", root = toy.world > 1 ? "module" : "", fc = prefix + "fc";
    auto weight = gaussian(kToyOut * kToyIn, 1), bias = gaussian(kToyOut, 2);
    if (toy.defect == Defect::OtherStart) {
        weight[0] += 0.5f;
    }
    const int rows = kToyBatch / toy.world / toy.micros;
    for (int r = 0; r < toy.world; ++r) {
        run.rank(r).module(root, "Net").module(fc, "Linear", { "weight", "bias" });
    }
    for (int step = 0; step < toy.steps; ++step) {
        std::vector<std::vector<float>> weightGrads, biasGrads; // per rank, summed over its micro-steps
        for (int r = 0; r < toy.world; ++r) {
            auto& rank = run.rank(r);
            rank.step(toy.firstStep + step)
                .start(fc + ".weight", f32({ kToyOut, kToyIn }, weight))
                .start(fc + ".bias", f32({ kToyOut }, bias));
            std::vector<float> weightSum(weight.size()), biasSum(bias.size());
            for (int micro = 0; micro < toy.micros; ++micro) {
                std::vector<float> x, target, output, gradOutput, weightGrad(weight.size()), biasGrad(bias.size());
                std::vector<std::int64_t> ids;
                double loss = 0;
                for (int i = 0; i < rows; ++i) {
                    int id = step * kToyBatch + micro * (kToyBatch / toy.micros) + i * toy.world + r;
                    id += toy.defect == Defect::OtherBatch && step == 0 && i == 0 ? 100 : 0;
                    ids.push_back(id);
                    const auto sample = gaussian(kToyIn, 100u + static_cast<unsigned>(id)),
                               wanted = gaussian(kToyOut, 9000u + static_cast<unsigned>(id));
                    for (std::size_t o = 0; o < kToyOut; ++o) {
                        float y = bias[o];
                        for (std::size_t k = 0; k < kToyIn; ++k) {
                            y += weight[o * kToyIn + k] * sample[k];
                        }
                        const float scale = 2.0f / static_cast<float>(rows * kToyOut * toy.micros), g = scale * (y - wanted[o]);
                        loss += static_cast<double>((y - wanted[o]) * (y - wanted[o])) / (rows * kToyOut * toy.micros);
                        output.push_back(y);
                        gradOutput.push_back(g);
                        biasGrad[o] += g;
                        for (std::size_t k = 0; k < kToyIn; ++k) {
                            weightGrad[o * kToyIn + k] += g * sample[k];
                        }
                    }
                    x.insert(x.end(), sample.begin(), sample.end());
                    target.insert(target.end(), wanted.begin(), wanted.end());
                }
                if (toy.defect == Defect::NaNOutput && step == 0) {
                    output[1] = std::numeric_limits<float>::quiet_NaN();
                }
                const auto in = f32({ rows, kToyIn }, x), out = f32({ rows, kToyOut }, output);
                rank.micro(micro).batch(in, { .slot = "0", .sampleIds = ids }).batch(f32({ rows, kToyOut }, target), { .slot = "1" });
                rank.call(root, "model.py:3").input(root, in).call(fc, "model.py:7").input(fc, in).output(fc, out).output(root, out);
                rank.edge(fc, "loss").edge(root, "loss").backward("train.py:41").loss(static_cast<float>(loss));
                rank.gradOutput(root, f32({ rows, kToyOut }, gradOutput)).gradOutput(fc, f32({ rows, kToyOut }, gradOutput));
                rank.grad(fc + ".weight", f32({ kToyOut, kToyIn }, weightGrad)).grad(fc + ".bias", f32({ kToyOut }, biasGrad));
                for (std::size_t i = 0; i < weight.size(); ++i) {
                    weightSum[i] += weightGrad[i];
                }
                for (std::size_t i = 0; i < bias.size(); ++i) {
                    biasSum[i] += biasGrad[i];
                }
            }
            weightGrads.push_back(weightSum);
            biasGrads.push_back(biasSum);
        }
        const auto mean = [&](const std::vector<std::vector<float>>& parts) {
            std::vector<float> out(parts[0].size());
            for (std::size_t i = 0; i < out.size(); ++i) {
                for (const auto& part : parts) {
                    out[i] += part[i];
                }
                out[i] *= (toy.defect == Defect::GradientTimesTwo ? 2.0f : 1.0f) / static_cast<float>(toy.world);
            }
            return out;
        };
        const auto weightMean = mean(weightGrads), biasMean = mean(biasGrads);
        const float lr = toy.defect == Defect::LearningRate ? 0.2f : 0.1f;
        auto nextWeight = weight, nextBias = bias;
        for (int r = 0; r < toy.world; ++r) {
            const auto rank = static_cast<std::size_t>(r);
            const bool own = toy.defect == Defect::UnreducedGradients;
            const auto &wg = own ? weightGrads[rank] : weightMean, &bg = own ? biasGrads[rank] : biasMean;
            for (std::size_t i = 0; i < weight.size(); ++i) {
                nextWeight[i] = weight[i] - lr * wg[i];
            }
            for (std::size_t i = 0; i < bias.size(); ++i) {
                nextBias[i] = bias[i] - lr * bg[i];
            }
            run.rank(r).reduced(fc + ".weight", f32({ kToyOut, kToyIn }, wg)).reduced(fc + ".bias", f32({ kToyOut }, bg));
            run.rank(r)
                .after(fc + ".weight", f32({ kToyOut, kToyIn }, nextWeight))
                .after(fc + ".bias", f32({ kToyOut }, nextBias))
                .scalar("lr", static_cast<double>(lr));
        }
        weight = nextWeight;
        bias = nextBias;
    }
}

} // namespace forkpoint::test
