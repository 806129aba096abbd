// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/pickle.h"

#include "core/files/little_endian.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <unordered_map>

namespace forkpoint::import {

using namespace files;

namespace {

using Type = PickleNode::Type;

constexpr std::size_t kMaxNodes = 4'000'000; ///< a checkpoint of ten thousand tensors has some 300 000

constexpr std::size_t kMaxNameBytes = 16u << 20;

/// What is wrong, thrown within this file only.
struct Problem {
    ErrorCode code;
    std::string message;
};

/// Opcodes that are known and not read: objects of protocol 0, extension codes, buffers outside the pickle.
std::string_view nameOfUnread(unsigned opcode)
{
    switch (opcode) {
    case 'i':
        return "INST";
    case 'o':
        return "OBJ";
    case 'P':
        return "PERSID";
    case 0x82:
        return "EXT1";
    case 0x83:
        return "EXT2";
    case 0x84:
        return "EXT4";
    case 0x97:
        return "NEXT_BUFFER";
    case 0x98:
        return "READONLY_BUFFER";
    default:
        return {};
    }
}

class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes)
        : m_bytes(bytes)
    {
    }

    Pickle read()
    {
        bool more = true;
        while (more) {
            m_opcodeAt = m_at;
            more = step(static_cast<unsigned>(byte()));
        }
        m_pickle.root = pop();
        m_pickle.names = std::make_shared<const std::unordered_set<std::string>>(std::move(m_names)); // its texts stay where they are
        m_pickle.size = m_at;
        return std::move(m_pickle);
    }

    std::size_t opcodeAt() const { return m_opcodeAt; }

private:
    // Bytes of the file.

    std::span<const std::byte> take(std::uint64_t size)
    {
        if (size > m_bytes.size() - m_at) {
            throw Problem { ErrorCode::Truncated, fmt::format("{} more bytes are needed, {} are left", size, m_bytes.size() - m_at) };
        }
        const auto out = m_bytes.subspan(m_at, static_cast<std::size_t>(size));
        m_at += static_cast<std::size_t>(size);
        return out;
    }
    std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
    std::uint64_t number(std::size_t size) { return littleEndian(take(size), 0, size); }
    std::string_view text(std::uint64_t size)
    {
        const auto bytes = take(size);
        return { reinterpret_cast<const char*>(bytes.data()), bytes.size() };
    }
    std::string_view line()
    {
        const std::string_view rest(reinterpret_cast<const char*>(m_bytes.data()) + m_at, m_bytes.size() - m_at);
        const auto end = rest.find('\n');
        if (end == std::string_view::npos) {
            throw Problem { ErrorCode::Truncated, "a line has no end" };
        }
        m_at += end + 1;
        return rest.substr(0, end);
    }

    // Nodes and the stack.

    PickleNode& add(Type type)
    {
        if (m_pickle.nodes.size() >= kMaxNodes) {
            throw Problem { ErrorCode::Unsupported, fmt::format("more than {} objects", kMaxNodes) };
        }
        m_stack.push_back(static_cast<NodeId>(m_pickle.nodes.size()));
        auto& node = m_pickle.nodes.emplace_back();
        node.type = type;
        return node;
    }
    void addInteger(std::int64_t value) { add(Type::Integer).number = value; }
    void addText(Type type, std::string_view value) { add(type).text = value; }

    std::size_t floor() const { return m_marks.empty() ? 0 : m_marks.back(); }
    NodeId pop()
    {
        if (m_stack.size() <= floor()) {
            throw Problem { ErrorCode::Corrupt, "the stack is empty" };
        }
        const NodeId id = m_stack.back();
        m_stack.pop_back();
        return id;
    }
    NodeId peek() const
    {
        if (m_stack.size() <= floor()) {
            throw Problem { ErrorCode::Corrupt, "the stack is empty" };
        }
        return m_stack.back();
    }
    std::vector<NodeId> popToMark()
    {
        if (m_marks.empty()) {
            throw Problem { ErrorCode::Corrupt, "there is no mark on the stack" };
        }
        const auto from = m_stack.begin() + static_cast<std::ptrdiff_t>(m_marks.back());
        std::vector<NodeId> out(from, m_stack.end());
        m_stack.erase(from, m_stack.end());
        m_marks.pop_back();
        return out;
    }
    void addItems(Type type, std::vector<NodeId> items)
    {
        if (type == Type::Dict && items.size() % 2 != 0) {
            throw Problem { ErrorCode::Corrupt, "a key has no value" };
        }
        auto& node = add(type);
        node.items = std::move(items);
        node.pairs = type == Type::Dict;
    }
    void tuple(std::size_t size)
    {
        std::vector<NodeId> items(size);
        for (std::size_t i = size; i-- > 0;) {
            items[i] = pop();
        }
        addItems(Type::Tuple, std::move(items));
    }
    void put(std::uint64_t slot) { m_memo[slot] = peek(); }
    void get(std::uint64_t slot)
    {
        const auto found = m_memo.find(slot);
        if (found == m_memo.end()) {
            throw Problem { ErrorCode::Corrupt, fmt::format("memo {} was never stored", slot) };
        }
        m_stack.push_back(found->second);
        if (m_stack.size() > kMaxNodes) {
            throw Problem { ErrorCode::Unsupported, fmt::format("more than {} objects", kMaxNodes) };
        }
    }

    /// Items go into a container, or into what a call returns.
    PickleNode& container(NodeId id, Type expected)
    {
        auto& node = m_pickle.nodes[id];
        if (node.type != expected && node.type != Type::Call) {
            throw Problem { ErrorCode::Corrupt, "items for something that holds none" };
        }
        return node;
    }
    void append(const std::vector<NodeId>& items, Type type)
    {
        auto& node = container(peek(), type);
        if (node.pairs) {
            throw Problem { ErrorCode::Corrupt, "items for something that holds keys and values" };
        }
        node.items.insert(node.items.end(), items.begin(), items.end());
    }
    void setItems(const std::vector<NodeId>& items)
    {
        auto& node = container(peek(), Type::Dict);
        if (items.size() % 2 != 0) {
            throw Problem { ErrorCode::Corrupt, "a key has no value" };
        }
        if (!node.pairs && !node.items.empty()) {
            throw Problem { ErrorCode::Corrupt, "keys and values for something that holds items" };
        }
        node.pairs = true;
        node.items.insert(node.items.end(), items.begin(), items.end());
    }

    void global(std::string_view module, std::string_view name)
    {
        if (module.size() + name.size() > 1000) {
            throw Problem { ErrorCode::Corrupt, "a name is longer than 1000 characters" };
        }
        const auto [text, isNew] = m_names.insert(fmt::format("{}.{}", module, name));
        m_nameBytes += isNew ? text->size() : 0;
        if (m_nameBytes > kMaxNameBytes) {
            throw Problem { ErrorCode::Unsupported, fmt::format("more than {} bytes of names", kMaxNameBytes) };
        }
        addText(Type::Global, *text);
    }
    void call(NodeId callee, NodeId arguments)
    {
        auto& node = add(Type::Call);
        node.callee = callee;
        node.arguments = arguments;
    }

    void decimal(std::string_view digits)
    {
        if (digits.ends_with('L')) {
            digits.remove_suffix(1);
        }
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error == std::errc::result_out_of_range && end == digits.data() + digits.size()) {
            add(Type::BigInteger);
        } else if (error != std::errc() || end != digits.data() + digits.size()) {
            throw Problem { ErrorCode::Corrupt, "is no number" };
        } else {
            addInteger(value);
        }
    }
    void longInteger(std::uint64_t size)
    {
        const auto bytes = take(size);
        if (size > 8) {
            addText(Type::BigInteger, { reinterpret_cast<const char*>(bytes.data()), bytes.size() });
            return;
        }
        std::uint64_t value = littleEndian(bytes, 0, bytes.size());
        if (size > 0 && size < 8 && (value >> (8 * size - 1)) != 0) {
            value |= ~std::uint64_t(0) << (8 * size); // two's complement
        }
        addInteger(static_cast<std::int64_t>(value));
    }
    void bigEndianFloat()
    {
        const auto bytes = take(8);
        std::uint64_t bits = 0;
        for (const std::byte b : bytes) {
            bits = (bits << 8) | static_cast<std::uint64_t>(b);
        }
        add(Type::Float).real = std::bit_cast<double>(bits);
    }
    void decimalFloat()
    {
        const std::string digits(line());
        char* end = nullptr;
        const double value = std::strtod(digits.c_str(), &end);
        if (digits.empty() || *end != '\0') {
            throw Problem { ErrorCode::Corrupt, "is no number" };
        }
        add(Type::Float).real = value;
    }
    void plainLine()
    {
        const auto value = line();
        if (value.find('\\') != std::string_view::npos) {
            throw Problem { ErrorCode::Unsupported, "a text of protocol 0 with escapes; save the file again with a current PyTorch" };
        }
        addText(Type::Text, value);
    }

    bool step(unsigned opcode)
    {
        switch (opcode) {
        case '.':
            return false;
        case 0x80: // PROTO
            if (const auto protocol = byte(); protocol > 5) {
                throw Problem { ErrorCode::Unsupported, fmt::format("pickle protocol {} is newer than 5", protocol) };
            }
            break;
        case 0x95: // FRAME: only says how much to buffer
            take(8);
            break;
        case '(':
            m_marks.push_back(m_stack.size());
            break;
        case '0':
            if (m_stack.size() == floor() && !m_marks.empty()) {
                m_marks.pop_back();
            } else {
                pop();
            }
            break;
        case '1':
            popToMark();
            break;
        case '2':
            m_stack.push_back(peek());
            break;
        case 'N':
            add(Type::None);
            break;
        case 0x88:
            add(Type::Bool).number = 1;
            break;
        case 0x89:
            add(Type::Bool).number = 0;
            break;
        case 'I':
            if (const auto digits = line(); digits == "00" || digits == "01") {
                add(Type::Bool).number = digits == "01" ? 1 : 0;
            } else {
                decimal(digits);
            }
            break;
        case 'L':
            decimal(line());
            break;
        case 'J':
            addInteger(static_cast<std::int32_t>(number(4)));
            break;
        case 'K':
            addInteger(byte());
            break;
        case 'M':
            addInteger(static_cast<std::int64_t>(number(2)));
            break;
        case 0x8a:
            longInteger(byte());
            break;
        case 0x8b:
            longInteger(number(4));
            break;
        case 'F':
            decimalFloat();
            break;
        case 'G':
            bigEndianFloat();
            break;
        case 'V':
            plainLine();
            break;
        case 'S': {
            const auto quoted = line();
            if (quoted.size() < 2 || quoted.front() != quoted.back() || quoted.find('\\') != std::string_view::npos) {
                throw Problem { ErrorCode::Unsupported, "a text of protocol 0 with escapes; save the file again with a current PyTorch" };
            }
            addText(Type::Text, quoted.substr(1, quoted.size() - 2));
            break;
        }
        case 'X':
            addText(Type::Text, text(number(4)));
            break;
        case 0x8c:
            addText(Type::Text, text(byte()));
            break;
        case 0x8d:
            addText(Type::Text, text(number(8)));
            break;
        case 'U': // a text of Python 2
            addText(Type::Text, text(byte()));
            break;
        case 'T':
            addText(Type::Text, text(number(4)));
            break;
        case 'C':
            addText(Type::Bytes, text(byte()));
            break;
        case 'B':
            addText(Type::Bytes, text(number(4)));
            break;
        case 0x8e:
        case 0x96:
            addText(Type::Bytes, text(number(8)));
            break;
        case ']':
            add(Type::List);
            break;
        case ')':
            add(Type::Tuple);
            break;
        case '}':
            add(Type::Dict).pairs = true;
            break;
        case 0x8f:
            add(Type::Set);
            break;
        case 'a': {
            const NodeId item = pop();
            append({ item }, Type::List);
            break;
        }
        case 'e':
            append(popToMark(), Type::List);
            break;
        case 0x90:
            append(popToMark(), Type::Set);
            break;
        case 'l':
            addItems(Type::List, popToMark());
            break;
        case 't':
            addItems(Type::Tuple, popToMark());
            break;
        case 0x85:
            tuple(1);
            break;
        case 0x86:
            tuple(2);
            break;
        case 0x87:
            tuple(3);
            break;
        case 0x91:
            addItems(Type::Set, popToMark());
            break;
        case 'd':
            addItems(Type::Dict, popToMark());
            break;
        case 's': {
            const NodeId value = pop(), key = pop();
            setItems({ key, value });
            break;
        }
        case 'u':
            setItems(popToMark());
            break;
        case 'p':
            if (const auto slot = slotNumber(line())) {
                put(*slot);
            }
            break;
        case 'g':
            if (const auto slot = slotNumber(line())) {
                get(*slot);
            }
            break;
        case 'q':
            put(byte());
            break;
        case 'r':
            put(number(4));
            break;
        case 0x94: // MEMOIZE
            put(m_memo.size());
            break;
        case 'h':
            get(byte());
            break;
        case 'j':
            get(number(4));
            break;
        case 'c': {
            const auto module = line(), name = line();
            global(module, name);
            break;
        }
        case 0x93: { // STACK_GLOBAL
            const NodeId name = pop(), module = pop();
            if (m_pickle.nodes[name].type != Type::Text || m_pickle.nodes[module].type != Type::Text) {
                throw Problem { ErrorCode::Corrupt, "a global whose name is no text" };
            }
            global(m_pickle.nodes[module].text, m_pickle.nodes[name].text);
            break;
        }
        case 'R':
        case 0x81: { // REDUCE, NEWOBJ
            const NodeId arguments = pop(), callee = pop();
            call(callee, arguments);
            break;
        }
        case 0x92: { // NEWOBJ_EX
            pop();
            const NodeId arguments = pop(), callee = pop();
            call(callee, arguments);
            break;
        }
        case 'b': {
            const NodeId state = pop();
            m_pickle.nodes[peek()].state = state;
            break;
        }
        case 'Q': {
            const NodeId id = pop();
            add(Type::Persistent).arguments = id;
            break;
        }
        default: {
            const auto name = nameOfUnread(opcode);
            throw Problem { name.empty() ? ErrorCode::Corrupt : ErrorCode::Unsupported,
                            name.empty() ? fmt::format("0x{:02x} is no opcode", opcode) : fmt::format("the opcode {} is not read", name) };
        }
        }
        return true;
    }

    std::optional<std::uint64_t> slotNumber(std::string_view digits)
    {
        std::uint64_t slot = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), slot);
        if (error != std::errc() || end != digits.data() + digits.size()) {
            throw Problem { ErrorCode::Corrupt, "is no memo number" };
        }
        return slot;
    }

    std::span<const std::byte> m_bytes;
    std::size_t m_at = 0, m_opcodeAt = 0;
    Pickle m_pickle;
    std::unordered_set<std::string> m_names;
    std::size_t m_nameBytes = 0;
    std::vector<NodeId> m_stack;
    std::vector<std::size_t> m_marks;
    std::unordered_map<std::uint64_t, NodeId> m_memo;
};

} // namespace

Result<Pickle> readPickle(std::span<const std::byte> bytes, const std::string& label, std::uint64_t base)
{
    Reader reader(bytes);
    try {
        return reader.read();
    } catch (const Problem& problem) {
        return fail(problem.code, fmt::format("the pickle cannot be read at byte {}: {}", base + reader.opcodeAt(), problem.message), label);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::Unreadable, "there is not enough memory to read the pickle", label);
    }
}

} // namespace forkpoint::import
