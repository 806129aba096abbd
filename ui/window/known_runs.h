// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>

#include <optional>
#include <vector>

// What can be opened without looking for it: samples that come with the program, and pairs opened before.
namespace forkpoint::ui {

/// Without a candidate: the path of a portable comparison.
struct RunPair {
    QString reference, candidate, noise;
    bool operator==(const RunPair&) const = default;
};
QString titleOf(const RunPair& pair); ///< "single against ddp2"

/// The same with absolute paths.
RunPair absolute(const RunPair& pair);

/// Two sample bundles of resources/samples that belong together.
struct Sample {
    QString name;        ///< of --sample: "sumloss"
    QString title, text; ///< translated
    RunPair runs;
};

/// The samples there are, in the order to try them. Found relative to the program, in the build tree and where it was installed.
std::vector<Sample> samples();
std::vector<Sample> samplesIn(const QString& folder);

/// Newest first, at most ten; those whose bundles are gone are left out.
std::vector<RunPair> recentPairs();
void rememberPair(const RunPair& pair);

/// True for a portable comparison, also a damaged one: by its content or its name.
bool looksPortable(const QString& path);

} // namespace forkpoint::ui
