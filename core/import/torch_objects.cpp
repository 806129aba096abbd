// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/import/torch_objects.h"

#include "core/bundle/problem_log.h"
#include "core/import/numpy_array.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

// A tensor is a call of one of PyTorch's rebuild functions; this file knows them by name and takes their arguments as data. Containers are
// walked; so are objects of classes that nobody here knows, by their state: a whole module is its _parameters, _buffers and _modules. A call of
// an unknown function that is given a tensor is refused by name, because only the function knows what the tensor becomes.
namespace forkpoint::import {

namespace {

using Type = PickleNode::Type;
using Path = std::vector<std::string>;

constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kMaxVisits = 4'000'000; ///< lists that contain each other twice have exponentially many paths

template <std::size_t N> bool isOneOf(std::string_view name, const std::array<std::string_view, N>& names)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::size_t kMaxNames = 256u << 20; ///< bytes

/// Functions and types that hold no tensor, or whose items are all there is to them.
constexpr auto kPlain = std::to_array<std::string_view>({ "collections.OrderedDict", "collections.defaultdict", "collections.Counter", "torch.Size",
                                                          "torch.device", "torch.serialization._get_layout", "__builtin__.set", "builtins.set",
                                                          "__builtin__.complex", "builtins.complex", "__builtin__.slice", "builtins.slice",
                                                          "__builtin__.bytearray", "builtins.bytearray", "_codecs.encode", "numpy.dtype" });

/// Named containers in which a module keeps what it is made of, and which are not part of a name.
constexpr auto kModuleParts = std::to_array<std::string_view>({ "_parameters", "_buffers", "_modules" });

struct Unread {
    std::string_view function, what;
};
constexpr auto kUnread = std::to_array<Unread>({
    { "torch._utils._rebuild_sparse_tensor", "a sparse tensor; save tensor.to_dense()" },
    { "torch._utils._rebuild_sparse_csr_tensor", "a sparse tensor; save tensor.to_dense()" },
    { "torch._utils._rebuild_qtensor", "a quantized tensor; save tensor.dequantize(), or tensor.int_repr()" },
    { "torch._utils._rebuild_nested_tensor", "a nested tensor; save tensor.to_padded_tensor(0)" },
    { "torch._utils._rebuild_meta_tensor_no_storage", "a tensor on the meta device: it has no values" },
});

bool isTensorFunction(std::string_view name)
{
    return name == "torch._utils._rebuild_tensor" || name == "torch._utils._rebuild_tensor_v2" || name == "torch._utils._rebuild_tensor_v3";
}

class Collector {
public:
    Collector(const Pickle& pickle, const FindStorage& find, bool bigEndian, const std::string& label, FileContents& contents)
        : m_pickle(pickle)
        , m_find(find)
        , m_bigEndian(bigEndian)
        , m_label(label)
        , m_contents(contents)
        , m_active(pickle.nodes.size(), false)
    {
    }

    void collect()
    {
        noteLayer();
        walk(m_pickle.root);
        if (m_visits > kMaxVisits) {
            m_contents.refuse("", fmt::format("more than {} objects are reached: the rest is not read", kMaxVisits));
        }
    }

private:
    const PickleNode& node(NodeId id) const { return m_pickle[id]; }
    const PickleNode* argument(const PickleNode& call, std::size_t index) const
    {
        if (call.arguments == kNoNode || node(call.arguments).type != Type::Tuple || node(call.arguments).items.size() <= index) {
            return nullptr;
        }
        return &node(node(call.arguments).items[index]);
    }
    std::string_view callee(const PickleNode& call) const
    {
        return call.callee != kNoNode && node(call.callee).type == Type::Global ? node(call.callee).text : std::string_view();
    }

    /// {"layer": text, "tensor": ...} and nothing else that holds a tensor, as hooks save it.
    void noteLayer()
    {
        const auto& top = m_pickle.top();
        const auto function = top.type == Type::Call ? callee(top) : std::string_view();
        const bool isObject = top.type == Type::Call && top.state != kNoNode && !isArrayFunction(function) && !function.starts_with("torch._");
        m_contents.named = top.pairs || isObject; // a whole module has names too
        std::optional<std::string> layer;
        bool tensor = false;
        for (std::size_t i = 0; top.pairs && i + 1 < top.items.size(); i += 2) {
            const auto& key = node(top.items[i]);
            const auto& value = node(top.items[i + 1]);
            if (key.type == Type::Text && key.text == "layer" && value.type == Type::Text) {
                layer = std::string(value.text);
            }
            tensor = tensor || (key.type == Type::Text && key.text == "tensor");
        }
        if (layer && tensor) {
            m_contents.layer = std::move(layer);
            m_contents.named = false;
        }
    }

    std::string keyText(NodeId id, int depth = 0) const
    {
        const auto& key = node(id);
        switch (key.type) {
        case Type::Text:
            return depth == 0 ? std::string(key.text) : fmt::format("'{}'", key.text);
        case Type::Integer:
            return fmt::format("{}", key.number);
        case Type::Float:
            return fmt::format("{}", key.real);
        case Type::Bool:
            return key.number != 0 ? "True" : "False";
        case Type::None:
            return "None";
        case Type::Tuple: {
            std::string text = "(";
            for (std::size_t i = 0; i < key.items.size() && i < 8 && depth < 4; ++i) {
                text += (i > 0 ? ", " : "") + keyText(key.items[i], depth + 1);
            }
            return text + (key.items.size() == 1 ? ",)" : ")");
        }
        default:
            return fmt::format("key {}", id);
        }
    }

    void refuse(std::string message) { m_contents.refuse(joined(m_path), std::move(message)); }

    void walk(NodeId id)
    {
        if (id == kNoNode || ++m_visits > kMaxVisits || m_active[id]) { // active: it contains itself, and was read above
            return;
        }
        if (m_depth >= kMaxDepth) {
            refuse(fmt::format("is nested deeper than {} levels: not read", kMaxDepth));
            return;
        }
        m_active[id] = true;
        ++m_depth;
        visit(node(id));
        --m_depth;
        m_active[id] = false;
    }

    void walkItems(const PickleNode& parent)
    {
        if (parent.pairs) {
            for (std::size_t i = 0; i + 1 < parent.items.size(); i += 2) {
                walkNamed(parent.items[i + 1], keyText(parent.items[i]));
            }
            return;
        }
        for (std::size_t i = 0; i < parent.items.size(); ++i) {
            walkNamed(parent.items[i], fmt::format("{}", i));
        }
    }
    void walkNamed(NodeId id, std::string name)
    {
        if (id == kNoNode || !mayHold(node(id))) {
            return;
        }
        m_path.push_back(std::move(name));
        walk(id);
        m_path.pop_back();
    }
    /// Numbers and texts are most of what a file holds besides tensors.
    static bool mayHold(const PickleNode& child)
    {
        return child.type == Type::Tuple || child.type == Type::List || child.type == Type::Dict || child.type == Type::Call
            || child.type == Type::Persistent;
    }

    void visit(const PickleNode& it)
    {
        switch (it.type) {
        case Type::Tuple:
        case Type::List:
        case Type::Dict:
            walkItems(it);
            return;
        case Type::Persistent:
            refuse("is a bare storage without a shape: not read");
            return;
        case Type::Call:
            visitCall(it);
            return;
        default:
            return;
        }
    }

    void visitCall(const PickleNode& call)
    {
        const auto function = callee(call);
        if (isTensorFunction(function)) {
            addTensor(call, {});
            return;
        }
        if (function == "torch._utils._rebuild_parameter" || function == "torch._utils._rebuild_parameter_with_state") {
            if (const auto* data = argument(call, 0); data && data->type == Type::Call) {
                visitCall(*data, "a parameter");
            }
            return;
        }
        if (function == "torch._tensor._rebuild_from_type_v2") {
            rebuildFromType(call);
            return;
        }
        if (isArrayFunction(function)) {
            if (auto array = pickledArray(m_pickle, call, m_label)) {
                keep({ {}, std::move(*array), {}, {} });
            } else if (array.error().code != ErrorCode::NotFound) { // a numpy scalar is no tensor
                refuse(array.error().message);
            }
            return;
        }
        for (const auto& unread : kUnread) {
            if (unread.function == function) {
                refuse(fmt::format("is {}: not read", unread.what));
                return;
            }
        }
        if (!call.items.empty()) {
            walkItems(call);
        }
        if (call.state != kNoNode) {
            walkState(call.state);
        }
        if (!isOneOf(function, kPlain) && call.arguments != kNoNode && holdsTensor(call.arguments)) {
            refuse(fmt::format("is made by {}, which is not known here: not read", bundle::shownText(std::string(function))));
        }
    }
    /// One level of wrapping: a wrapper around a wrapper around ... is a chain of calls, and its length the stranger's choice.
    void visitCall(const PickleNode& call, std::string_view what)
    {
        if (m_depth >= kMaxDepth) {
            refuse(fmt::format("is {} nested deeper than {} levels: not read", what, kMaxDepth));
            return;
        }
        ++m_depth;
        visitCall(call);
        --m_depth;
    }

    /// The attributes of an object: a dict, or (dict, slots).
    void walkState(NodeId id)
    {
        const auto& state = node(id);
        if (++m_visits > kMaxVisits) {
            return;
        }
        if (state.type == Type::Tuple && m_depth < kMaxDepth) {
            ++m_depth;
            for (const NodeId part : state.items) {
                walkState(part);
            }
            --m_depth;
            return;
        }
        if (!state.pairs) {
            return;
        }
        for (std::size_t i = 0; i + 1 < state.items.size(); i += 2) {
            const auto& key = node(state.items[i]);
            if (key.type == Type::Text && isOneOf(key.text, kModuleParts)) {
                walk(state.items[i + 1]);
            } else {
                walkNamed(state.items[i + 1], keyText(state.items[i]));
            }
        }
    }

    bool holdsTensor(NodeId from)
    {
        constexpr std::size_t kLooked = 1000;
        std::vector<NodeId> next { from };
        for (std::size_t seen = 0; !next.empty() && seen < kLooked && next.size() < kLooked; ++seen) {
            ++m_visits;
            const auto& it = node(next.back());
            next.pop_back();
            if (it.type == Type::Persistent || (it.type == Type::Call && callee(it).starts_with("torch._utils._rebuild"))) {
                return true;
            }
            next.insert(next.end(), it.items.begin(), it.items.begin() + static_cast<std::ptrdiff_t>(std::min(it.items.size(), kLooked)));
            if (it.arguments != kNoNode) {
                next.push_back(it.arguments);
            }
        }
        return !next.empty(); // too much to look at: rather name it than lose it
    }

    /// (function, type, arguments, state): tensors with attributes, buffers, and subclasses that wrap other tensors.
    void rebuildFromType(const PickleNode& call)
    {
        const auto *function = argument(call, 0), *type = argument(call, 1), *arguments = argument(call, 2), *state = argument(call, 3);
        if (!function || function->type != Type::Global || !type || !arguments || arguments->type != Type::Tuple) {
            refuse("its rebuild call has no function, type and arguments: not read");
            return;
        }
        if (isTensorFunction(function->text)) {
            addTensor(*arguments, {}, true);
            return;
        }
        if (function->text == "torch._utils._rebuild_parameter" && !arguments->items.empty() && node(arguments->items[0]).type == Type::Call) {
            visitCall(node(arguments->items[0]), "a parameter");
            return;
        }
        if (function->text != "torch._utils._rebuild_wrapper_subclass") {
            for (const auto& unread : kUnread) {
                if (unread.function == function->text) {
                    refuse(fmt::format("is {}: not read", unread.what));
                    return;
                }
            }
            refuse(fmt::format("is made by {}, which is not known here: not read", bundle::shownText(std::string(function->text))));
            return;
        }
        const auto* wrapper = arguments->items.empty() ? nullptr : &node(arguments->items[0]);
        const std::string name(wrapper && wrapper->type == Type::Global ? wrapper->text : std::string_view("an unknown type"));
        if (!name.ends_with(".DTensor") || !state) {
            refuse(fmt::format("is a {}: of the tensors that wrap others only DTensors are read; not read: save the tensor inside",
                bundle::shownText(name)));
            return;
        }
        const auto* local = entry(*state, "_local_tensor");
        const auto* spec = entry(*state, "_spec");
        if (!local || local->type != Type::Call) {
            refuse("is a DTensor without its local tensor: not read");
            return;
        }
        if (isTensorFunction(callee(*local))) {
            addTensor(*local, distribution(spec, arguments->items));
        } else {
            visitCall(*local, "a local tensor");
        }
    }

    /// An entry of a dict, or of an object's state, which may be (dict, slots).
    const PickleNode* entry(const PickleNode& dict, std::string_view key) const
    {
        if (dict.type == Type::Tuple && dict.items.size() == 2) {
            for (const NodeId part : dict.items) {
                const auto* found = node(part).pairs ? entry(node(part), key) : nullptr;
                if (found) {
                    return found;
                }
            }
            return nullptr;
        }
        for (std::size_t i = 0; dict.pairs && i + 1 < dict.items.size(); i += 2) {
            if (node(dict.items[i]).type == Type::Text && node(dict.items[i]).text == key) {
                return &node(dict.items[i + 1]);
            }
        }
        return nullptr;
    }
    const PickleNode* attribute(const PickleNode* object, std::string_view key) const
    {
        return object && object->state != kNoNode ? entry(node(object->state), key) : nullptr;
    }

    struct Distribution {
        Shape globalShape;
        std::vector<bundle::Placement> placement;
    };

    /// What a DTensor's spec says. `arguments` of the wrapper: type, dtype, global size, ...
    std::optional<Distribution> distribution(const PickleNode* spec, const std::vector<NodeId>& arguments) const
    {
        Distribution out;
        if (arguments.size() > 2) {
            if (auto size = integers(&node(arguments[2]))) {
                out.globalShape = std::move(*size);
            }
        }
        const auto* placements = attribute(spec, "placements");
        if (!placements || (placements->type != Type::Tuple && placements->type != Type::List) || placements->items.size() > 16) {
            return out;
        }
        const auto* names = attribute(attribute(spec, "mesh"), "_mesh_dim_names");
        names = names ? names : attribute(attribute(spec, "mesh"), "mesh_dim_names");
        for (std::size_t i = 0; i < placements->items.size(); ++i) {
            const auto& it = node(placements->items[i]);
            const auto kind = it.type == Type::Call ? callee(it) : std::string_view();
            bundle::Placement placement;
            placement.axis = names && i < names->items.size() && node(names->items[i]).type == Type::Text ? std::string(node(names->items[i]).text)
                                                                                                          : fmt::format("{}", i);
            if (kind.ends_with(".Shard")) {
                const auto* dim = attribute(&it, "dim");
                if (!dim || dim->type != Type::Integer || dim->number < 0 || dim->number > 64) {
                    return Distribution { std::move(out.globalShape), {} };
                }
                placement.type = bundle::Placement::Type::Shard;
                placement.dim = dim->number;
            } else if (kind.ends_with(".Partial") || kind.ends_with("._Partial")) {
                const auto* op = attribute(&it, "reduce_op");
                placement.type = bundle::Placement::Type::Partial;
                placement.op = op && op->type == Type::Text && op->text == "avg" ? "mean" : "sum";
            } else if (!kind.ends_with(".Replicate")) {
                return Distribution { std::move(out.globalShape), {} };
            }
            out.placement.push_back(std::move(placement));
        }
        return out;
    }

    std::optional<std::vector<std::int64_t>> integers(const PickleNode* list) const
    {
        if (list && list->type == Type::Call && callee(*list) == "torch.Size") {
            list = argument(*list, 0);
        }
        if (!list || (list->type != Type::Tuple && list->type != Type::List)) {
            return std::nullopt;
        }
        std::vector<std::int64_t> out;
        for (const NodeId id : list->items) {
            if (node(id).type != Type::Integer) {
                return std::nullopt;
            }
            out.push_back(node(id).number);
        }
        return out;
    }

    /// (storage, offset, size, stride, ...) of a rebuild function; the arguments themselves if `bare`.
    void addTensor(const PickleNode& call, std::optional<Distribution> distribution, bool bare = false)
    {
        const auto at = [&](std::size_t i) -> const PickleNode* {
            return !bare ? argument(call, i) : i < call.items.size() ? &node(call.items[i]) : nullptr;
        };
        const auto *storage = at(0), *offset = at(1);
        auto size = integers(at(2)), stride = integers(at(3));
        if (!storage || storage->type != Type::Persistent || !offset || offset->type != Type::Integer || !size || !stride) {
            refuse("its rebuild call has no storage, offset, size and stride: not read");
            return;
        }
        const auto id = storageId(m_pickle, *storage);
        if (!id) {
            refuse(id.error().message);
            return;
        }
        FileTensor tensor;
        std::string typeName = id->type;
        auto dtype = id->dtype;
        const bool typedHere = !bare ? callee(call) == "torch._utils._rebuild_tensor_v3" : id->untyped;
        if (typedHere) {
            const auto* type = at(6);
            typeName = type && type->type == Type::Global ? std::string(type->text) : "without a type";
            dtype = typeName.starts_with("torch.") ? dtypeFromName(std::string_view(typeName).substr(6)) : std::nullopt;
        }
        if (!dtype) {
            refuse(unknownType(typeName));
            return;
        }
        auto& where = tensor.where;
        where.dtype = *dtype;
        where.shape = std::move(*size);
        where.strides = std::move(*stride);
        where.start = offset->number;
        where.swapped = m_bigEndian && itemSize(*dtype) > 1;
        if (const auto* flags = at(typedHere ? 7 : 6)) {
            const auto isSet = [&](std::string_view name) {
                const auto* flag = entry(*flags, name);
                return flag && flag->type == Type::Bool && flag->number != 0;
            };
            where.conjugated = isComplex(*dtype) && isSet("conj");
            where.negated = isSet("neg");
        }
        std::int64_t claimed = 0;
        if (id->count < 0 || __builtin_mul_overflow(id->count, static_cast<std::int64_t>(id->untyped ? 1 : itemSize(id->dtype.value_or(*dtype))),
            &claimed)) {
            refuse(fmt::format("its storage claims {} elements: not read", id->count));
            return;
        }
        const auto bytes = m_find(*id);
        if (!bytes) {
            refuse(bytes.error().message);
            return;
        }
        if (static_cast<std::uint64_t>(claimed) > bytes->size) {
            refuse(fmt::format("its storage {} claims {} bytes, but the file holds {} of it: not read", bundle::shownText(id->key), claimed,
                bytes->size));
            return;
        }
        where.bytes = bytes->bytes;
        where.offset = bytes->offset;
        where.storage = static_cast<std::uint64_t>(claimed);
        if (const auto problem = storedProblem(where); !problem.empty()) {
            refuse(problem + ": not read");
            return;
        }
        if (distribution) {
            tensor.globalShape = std::move(distribution->globalShape);
            tensor.placement = std::move(distribution->placement);
        }
        keep(std::move(tensor));
    }

    void keep(FileTensor tensor)
    {
        for (const auto& name : m_path) {
            m_nameBytes += name.size() + sizeof(std::string);
        }
        if (m_nameBytes > kMaxNames) {
            refuse(fmt::format("the names of the tensors take more than {} bytes: the rest is not read", kMaxNames));
            m_visits = kMaxVisits + 1;
            return;
        }
        tensor.path = m_path;
        m_contents.tensors.push_back(std::move(tensor));
    }

    const Pickle& m_pickle;
    const FindStorage& m_find;
    bool m_bigEndian;
    const std::string& m_label;
    FileContents& m_contents;
    std::vector<bool> m_active;
    Path m_path;
    std::size_t m_depth = 0, m_visits = 0, m_nameBytes = 0;
};

struct StorageType {
    std::string_view name;
    DType dtype;
};
constexpr auto kStorages = std::to_array<StorageType>({ { "DoubleStorage", DType::Float64 },
                                                        { "FloatStorage", DType::Float32 },
                                                        { "HalfStorage", DType::Float16 },
                                                        { "BFloat16Storage", DType::BFloat16 },
                                                        { "LongStorage", DType::Int64 },
                                                        { "IntStorage", DType::Int32 },
                                                        { "ShortStorage", DType::Int16 },
                                                        { "CharStorage", DType::Int8 },
                                                        { "ByteStorage", DType::UInt8 },
                                                        { "BoolStorage", DType::Bool },
                                                        { "ComplexFloatStorage", DType::Complex64 },
                                                        { "ComplexDoubleStorage", DType::Complex128 } });

} // namespace

Result<StorageId> storageId(const Pickle& pickle, const PickleNode& persistent)
{
    const auto bad = [] { return fail(ErrorCode::Corrupt, "its storage is not named as PyTorch does: not read"); };
    const auto& id = pickle[persistent.arguments];
    if (id.type != PickleNode::Type::Tuple || id.items.size() < 5) {
        return bad();
    }
    const auto &tag = pickle[id.items[0]], &type = pickle[id.items[1]], &key = pickle[id.items[2]], &count = pickle[id.items[4]];
    if (tag.type != PickleNode::Type::Text || tag.text != "storage" || type.type != PickleNode::Type::Global || key.type != PickleNode::Type::Text
        || count.type != PickleNode::Type::Integer) {
        return bad();
    }
    if (id.items.size() > 5 && pickle[id.items[5]].type != PickleNode::Type::None) {
        return fail(ErrorCode::Unsupported, "its storage is a view of another one, as only PyTorch before 0.4 wrote it: save it again");
    }
    StorageId out;
    out.key = std::string(key.text);
    out.type = std::string(type.text);
    out.count = count.number;
    const auto plain = type.text.substr(type.text.rfind('.') + 1);
    out.untyped = plain == "UntypedStorage" || plain == "_UntypedStorage";
    const auto known = std::find_if(kStorages.begin(), kStorages.end(), [&](const StorageType& s) { return s.name == plain; });
    if (known != kStorages.end() && type.text.starts_with("torch.")) {
        out.dtype = known->dtype;
    }
    return out;
}

void collectTensors(const Pickle& pickle, const FindStorage& find, bool bigEndian, const std::string& label, FileContents& contents)
{
    Collector(pickle, find, bigEndian, label, contents).collect();
}

} // namespace forkpoint::import
