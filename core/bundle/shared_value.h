// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <compare>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace forkpoint::bundle {

/// An immutable value that many records hold in common, in the size of a pointer: a million records name the same few modules, shapes and
/// files. Reads like a `const T`; assigning gives this one another value and leaves the others alone. Empty values need no memory. Copies
/// may be made and dropped on any thread.
template <class T> class SharedValue {
public:
    SharedValue() = default;
    SharedValue(T value)
        : m_node(value == T{} ? nullptr : new Node{std::move(value)})
    {
    }
    template <class U>
        requires(!std::same_as<std::remove_cvref_t<U>, SharedValue> && !std::same_as<std::remove_cvref_t<U>, T>
                 && (std::convertible_to<U, T> || (std::same_as<T, std::string> && std::convertible_to<U, std::string_view>)))
    SharedValue(U&& value)
        : SharedValue(T(std::forward<U>(value)))
    {
    }
    SharedValue(const SharedValue& other) noexcept
        : m_node(other.m_node)
    {
        if (m_node)
            m_node->holders.fetch_add(1, std::memory_order_relaxed);
    }
    SharedValue(SharedValue&& other) noexcept
        : m_node(std::exchange(other.m_node, nullptr))
    {
    }
    SharedValue& operator=(SharedValue other) noexcept
    {
        std::swap(m_node, other.m_node);
        return *this;
    }
    SharedValue& operator=(std::initializer_list<typename T::value_type> values) { return *this = SharedValue(T(values)); }
    ~SharedValue()
    {
        if (m_node && m_node->holders.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete m_node;
    }

    const T& operator*() const { return m_node ? m_node->value : nothing(); }
    const T* operator->() const { return &**this; }
    operator const T&() const { return **this; }
    operator std::string_view() const
        requires std::same_as<T, std::string>
    {
        return **this;
    }

    bool empty() const { return m_node == nullptr; }
    std::size_t size() const { return (**this).size(); }
    auto begin() const { return (**this).begin(); }
    auto end() const { return (**this).end(); }
    const auto& operator[](std::size_t index) const { return (**this)[index]; }

    friend bool operator==(const SharedValue& a, const SharedValue& b) { return a.m_node == b.m_node || *a == *b; }
    friend auto operator<=>(const SharedValue& a, const SharedValue& b)
        requires std::three_way_comparable<T>
    {
        return *a <=> *b;
    }
    friend bool operator==(const SharedValue& a, const T& b) { return *a == b; }
    friend bool operator==(const SharedValue& a, std::string_view b)
        requires std::same_as<T, std::string>
    {
        return *a == b;
    }
    friend bool operator==(const SharedValue& a, const char* b)
        requires std::same_as<T, std::string>
    {
        return *a == b;
    }

private:
    struct Node {
        T value;
        std::atomic<std::uint32_t> holders = 1;
    };
    static const T& nothing()
    {
        static const T value{};
        return value;
    }
    Node* m_node = nullptr;
};

using SharedText = SharedValue<std::string>;

} // namespace forkpoint::bundle
