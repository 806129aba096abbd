// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bundle/record.h"

#include <span>
#include <string_view>
#include <unordered_set>

namespace forkpoint::bundle {

std::size_t hashOf(std::string_view text);
std::size_t hashOf(std::span<const std::int64_t> numbers);
std::size_t hashOf(std::span<const Placement> placements);

/// Gives out one SharedValue for equal values, so that what repeats in a bundle is in memory once. For one thread at a time.
class ValuePool {
public:
    SharedText text(std::string_view text) { return m_texts.of(text); }
    SharedShape shape(std::span<const std::int64_t> sizes) { return m_shapes.of(sizes); }
    SharedPlacements placements(std::span<const Placement> placements) { return m_placements.of(placements); }

private:
    template <class T, class View> class Table {
    public:
        SharedValue<T> of(View view)
        {
            if (view.empty())
                return {};
            if (const auto found = m_values.find(view); found != m_values.end())
                return *found;
            return *m_values.emplace(T(view.begin(), view.end())).first;
        }

    private:
        struct Hash {
            using is_transparent = void;
            std::size_t operator()(View view) const { return hashOf(view); }
            std::size_t operator()(const SharedValue<T>& value) const { return hashOf(View(*value)); }
        };
        struct Equal {
            using is_transparent = void;
            static View view(View view) { return view; }
            static View view(const SharedValue<T>& value) { return *value; }
            template <class X, class Y> bool operator()(const X& x, const Y& y) const
            {
                const View a = view(x);
                const View b = view(y);
                return std::equal(a.begin(), a.end(), b.begin(), b.end());
            }
        };
        std::unordered_set<SharedValue<T>, Hash, Equal> m_values;
    };

    Table<std::string, std::string_view> m_texts;
    Table<Shape, std::span<const std::int64_t>> m_shapes;
    Table<std::vector<Placement>, std::span<const Placement>> m_placements;
};

} // namespace forkpoint::bundle
