// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/visible_layout.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <fmt/format.h>
#include <numeric>
#include <tuple>
#include <unordered_map>

// Frames are laid out from the inside out: the content of a frame by itself, then the frame is one node in the content around it. So a
// group's nodes stay together, equal blocks look equal, and the cost is that of many small layouts.
//
// An edge that crosses a frame's border does so at a port, a point on the upper border (entry) or the lower one (exit). Ports are shared:
// sources that lead to the same targets on the other side of the border use one port. Nothing is lost by that, since whoever follows a line
// from a source through ports still reaches its targets and no others; and what would be every producer of a residual sum times every
// consumer becomes two short fans. Sharing nests: sources that share a port of a frame lead to the same targets within each frame inside.
//
// An edge is thus a path of segments, one in each content it passes: out of the frames around its source, across, into the frames around
// its target. Segments between the same two points are one.
//
// An edge to a frame itself (the group's own input) ends at its border, one from it begins there. How the group's output came about is not
// recorded, so a segment from what ends in the frame to that port is added and marked as implied.
namespace forkpoint::graph {

namespace {

constexpr double kGrid = 16;
constexpr std::uint32_t kNoPort = UINT32_MAX;
constexpr std::uint32_t kNoEdge = UINT32_MAX;

struct Crossing {
    ItemId frame = 0;
    std::uint32_t edge = 0;
    std::uint32_t port = kNoPort;
    bool exit = false;
};

struct Port {
    ItemId frame = 0;
    bool exit = false;
    bool ownOutput = false;   ///< of an exit: the frame itself is its only source
    std::vector<ItemId> targets; ///< of its edges
    std::uint32_t local = 0;  ///< number among the nodes of the frame's content, if it is connected there
    bool connected = false;
    double x = 0;             ///< from the frame's left side
};

/// A place where a segment ends: an item of the content, a port of a frame in it, or a port of the content's own frame.
struct Station {
    ItemId item = kNoItem;
    std::uint32_t port = kNoPort;
    bool operator==(const Station&) const = default;
    auto operator<=>(const Station&) const = default;
};

/// One edge's use of a segment.
struct Use {
    Station from, to;
    std::uint32_t edge = kNoEdge;
    std::uint32_t slot = 0;    ///< where the segment's number belongs in edgeSegments
    bool arrives = false;
};

struct Content {
    std::vector<ItemId> children;
    std::uint32_t firstSegment = 0, endSegment = 0;
    LayeredLayout layout;
    double left = 0, top = 0; ///< of the content within the frame
};

class Compound {
public:
    Compound(const VisibleGraph& graph, std::span<const ItemSize> sizes, const FrameStyle& style, const std::stop_token& stop, Progress* progress)
        : m_graph(graph)
        , m_sizes(sizes)
        , m_style(style)
        , m_stop(stop)
        , m_progress(progress)
        , m_contents(graph.items.size() + 1)
    {
    }

    Result<VisibleLayout> run()
    {
        if (m_sizes.size() != m_graph.items.size()) {
            return fail(ErrorCode::Usage, fmt::format("{} sizes for {} items", m_sizes.size(), m_graph.items.size()));
        }
        findChildren();
        findCrossings();
        makePorts();
        makeSegments();
        if (auto done = layOutContents(); !done) {
            return tl::unexpected(done.error());
        }
        place();
        return std::move(m_out);
    }

private:
    bool contains(ItemId frame, ItemId item) const { return frame == kNoItem || (frame < item && item < m_graph.items[frame].end); }
    Content& contentOf(ItemId frame) { return m_contents[frame == kNoItem ? m_graph.items.size() : frame]; }
    ItemId parentOf(ItemId item) const { return m_graph.items[item].parent; }

    void findChildren()
    {
        m_local.resize(m_graph.items.size());
        for (ItemId i = 0; i < m_graph.items.size(); ++i) {
            auto& siblings = contentOf(parentOf(i)).children;
            m_local[i] = static_cast<std::uint32_t>(siblings.size());
            siblings.push_back(i);
        }
    }

    /// Per edge: the frames it leaves, innermost first, then those it enters, outermost first.
    void findCrossings()
    {
        m_crossingsBegin.push_back(0);
        for (std::uint32_t e = 0; e < m_graph.edges.size(); ++e) {
            const auto& edge = m_graph.edges[e];
            if (!contains(edge.from, edge.to) && !contains(edge.to, edge.from)) {
                const auto framesOf = [&](ItemId item, ItemId other, bool exit) {
                    for (ItemId f = m_graph.items[item].frame ? item : parentOf(item); f != kNoItem && !contains(f, other); f = parentOf(f)) {
                        m_crossings.push_back({ f, e, kNoPort, exit });
                    }
                };
                framesOf(edge.from, edge.to, true);
                const auto entries = m_crossings.size();
                framesOf(edge.to, edge.from, false);
                std::reverse(m_crossings.begin() + static_cast<std::ptrdiff_t>(entries), m_crossings.end());
            }
            m_crossingsBegin.push_back(static_cast<std::uint32_t>(m_crossings.size()));
        }
    }

    void makePorts()
    {
        // By frame and side, edges in order: those of one source are neighbours and their targets ascend.
        const auto key = [](const Crossing& c) { return 2 * static_cast<std::size_t>(c.frame) + (c.exit ? 1 : 0); };
        std::vector<std::uint32_t> begin(2 * m_graph.items.size() + 1, 0);
        for (const auto& c : m_crossings) {
            ++begin[key(c) + 1];
        }
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        std::vector<std::uint32_t> byBorder(m_crossings.size()), next(begin.begin(), begin.end());
        for (std::uint32_t c = 0; c < m_crossings.size(); ++c) {
            byBorder[next[key(m_crossings[c])]++] = c;
        }
        for (std::size_t border = 0; border + 1 < begin.size(); ++border) {
            if (begin[border] != begin[border + 1]) {
                makePortsOf(std::span(byBorder).subspan(begin[border], begin[border + 1] - begin[border]));
            }
        }
        m_ownOutput.assign(m_graph.items.size(), kNoPort);
        for (std::uint32_t p = 0; p < m_ports.size(); ++p) {
            if (m_ports[p].ownOutput) {
                m_ownOutput[m_ports[p].frame] = p;
            }
        }
    }

    void makePortsOf(std::span<const std::uint32_t> crossings)
    {
        const auto edgeOf = [&](std::uint32_t c) -> const VisibleEdge& { return m_graph.edges[m_crossings[c].edge]; };
        struct Known {
            std::size_t begin, end; ///< the targets that lead to it
            std::uint32_t port;
        };
        std::unordered_map<std::uint64_t, std::vector<Known>> known; // looked up only
        for (std::size_t begin = 0; begin < crossings.size();) {
            std::size_t end = begin;
            std::uint64_t hash = 14695981039346656037u;
            for (; end < crossings.size() && edgeOf(crossings[end]).from == edgeOf(crossings[begin]).from; ++end) {
                hash = (hash ^ edgeOf(crossings[end]).to) * 1099511628211u;
            }
            auto& candidates = known[hash];
            const auto match = std::find_if(candidates.begin(), candidates.end(), [&](const Known& k) {
                return std::equal(crossings.begin() + static_cast<std::ptrdiff_t>(begin), crossings.begin() + static_cast<std::ptrdiff_t>(end),
                                  crossings.begin() + static_cast<std::ptrdiff_t>(k.begin), crossings.begin() + static_cast<std::ptrdiff_t>(k.end),
                                  [&](std::uint32_t x, std::uint32_t y) { return edgeOf(x).to == edgeOf(y).to; });
            });
            const auto& first = m_crossings[crossings[begin]];
            const bool own = first.exit && edgeOf(crossings[begin]).from == first.frame;
            std::uint32_t port = match == candidates.end() ? static_cast<std::uint32_t>(m_ports.size()) : match->port;
            if (match == candidates.end()) {
                Port made;
                made.frame = first.frame;
                made.exit = first.exit;
                made.ownOutput = own;
                for (auto c = begin; c < end; ++c) {
                    made.targets.push_back(edgeOf(crossings[c]).to);
                }
                m_ports.push_back(std::move(made));
                candidates.push_back({ begin, end, port });
            }
            m_ports[port].ownOutput = m_ports[port].ownOutput && own;
            for (; begin < end; ++begin) {
                m_crossings[crossings[begin]].port = port;
            }
        }
    }

    /// What the edge's path looks like from within `frame` at a crossing: the frame's own port, or that of a frame in it.
    static Station stationAt(const Crossing& crossing, ItemId frame)
    {
        return { crossing.frame == frame ? kNoItem : crossing.frame, crossing.port };
    }

    void makeSegments()
    {
        std::vector<std::uint32_t> begin(m_graph.items.size() + 2, 0);
        const auto slotOf = [&](ItemId frame) { return frame == kNoItem ? m_graph.items.size() : static_cast<std::size_t>(frame); };
        const auto forEachUse = [&](auto&& visit) {
            std::uint32_t slot = 0;
            for (std::uint32_t e = 0; e < m_graph.edges.size(); ++e) {
                const auto& edge = m_graph.edges[e];
                if (contains(edge.from, edge.to) || contains(edge.to, edge.from)) {
                    continue;
                }
                Station from { edge.from, kNoPort };
                ItemId frame = parentOf(edge.from);
                const auto last = m_crossingsBegin[e + 1];
                for (auto c = m_crossingsBegin[e]; c <= last; ++c) {
                    if (c == last) {
                        if (!m_graph.items[edge.to].frame) {
                            visit(frame, Use { from, { edge.to, kNoPort }, e, slot++, true });
                        }
                        break;
                    }
                    const auto& crossing = m_crossings[c];
                    const bool leavesSource = crossing.exit && crossing.frame == edge.from;
                    if (!leavesSource) {
                        visit(frame, Use { from, stationAt(crossing, frame), e, slot++, crossing.frame == edge.to });
                    }
                    frame = crossing.exit ? parentOf(crossing.frame) : crossing.frame;
                    from = stationAt(crossing, frame);
                }
            }
        };
        std::size_t count = 0;
        forEachUse([&](ItemId frame, const Use&) {
            ++begin[slotOf(frame) + 1];
            ++count;
        });
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        std::vector<Use> uses(count);
        std::vector<std::uint32_t> next(begin.begin(), begin.end());
        m_out.edgeSegments.resize(count);
        m_out.edgeSegmentsBegin.assign(m_graph.edges.size() + 1, 0);
        forEachUse([&](ItemId frame, const Use& use) {
            uses[next[slotOf(frame)]++] = use;
            ++m_out.edgeSegmentsBegin[use.edge + 1];
        });
        std::partial_sum(m_out.edgeSegmentsBegin.begin(), m_out.edgeSegmentsBegin.end(), m_out.edgeSegmentsBegin.begin());
        for (std::size_t slot = 0; slot < m_contents.size(); ++slot) {
            const ItemId frame = slot == m_graph.items.size() ? kNoItem : static_cast<ItemId>(slot);
            mergeUses(frame, std::span(uses).subspan(begin[slot], begin[slot + 1] - begin[slot]));
        }
    }

    void mergeUses(ItemId frame, std::span<Use> uses)
    {
        std::sort(uses.begin(), uses.end(), [](const Use& x, const Use& y) { return std::tie(x.from, x.to, x.slot) < std::tie(y.from, y.to, y.slot); });
        auto& content = contentOf(frame);
        content.firstSegment = static_cast<std::uint32_t>(m_out.segments.size());
        for (std::size_t i = 0; i < uses.size();) {
            const auto number = static_cast<std::uint32_t>(m_out.segments.size());
            const Use first = uses[i];
            Segment segment;
            segment.frame = frame;
            segment.parameter = true;
            for (; i < uses.size() && uses[i].from == first.from && uses[i].to == first.to; ++i) {
                const auto& edge = m_graph.edges[uses[i].edge];
                segment.sides = segment.sides | edge.sides;
                segment.recorded = segment.recorded || edge.recorded;
                segment.parameter = segment.parameter && edge.parameter;
                segment.arrives = segment.arrives || uses[i].arrives;
                m_out.edgeSegments[uses[i].slot] = number;
            }
            addSegment(segment, first.from, first.to);
        }
        addImplied(frame, content.firstSegment);
        content.endSegment = static_cast<std::uint32_t>(m_out.segments.size());
    }

    void addSegment(const Segment& segment, const Station& from, const Station& to)
    {
        m_out.segments.push_back(segment);
        m_ends.emplace_back(from, to);
        for (const auto& end : { from, to }) {
            if (end.item == kNoItem) {
                m_ports[end.port].connected = true;
            }
        }
    }

    /// From what ends in the frame to the frame's own output; if that is a frame, so on within it. Outer frames are done first.
    void addImplied(ItemId frame, std::uint32_t firstSegment)
    {
        const auto port = frame == kNoItem ? kNoPort : m_ownOutput[frame];
        if (port == kNoPort) {
            return;
        }
        const auto& content = contentOf(frame);
        std::vector<std::uint8_t> fed(content.children.size(), 0), feeds(content.children.size(), 0);
        std::vector<Sides> sides(content.children.size(), Sides::None);
        for (auto s = firstSegment; s < m_out.segments.size(); ++s) {
            const auto& [from, to] = m_ends[s];
            if (from.item != kNoItem) {
                feeds[m_local[from.item]] = 1;
            }
            if (to.item != kNoItem) {
                fed[m_local[to.item]] = 1;
                sides[m_local[to.item]] = sides[m_local[to.item]] | m_out.segments[s].sides;
            }
        }
        for (std::size_t i = 0; i < content.children.size(); ++i) {
            if (fed[i] && !feeds[i]) {
                Segment segment;
                segment.frame = frame;
                segment.implied = true;
                segment.sides = sides[i];
                addSegment(segment, { content.children[i], addOwnOutput(content.children[i]) }, { kNoItem, port });
            }
        }
    }

    /// The port of an output that nothing recorded takes.
    std::uint32_t addOwnOutput(ItemId item)
    {
        if (!m_graph.items[item].frame) {
            return kNoPort;
        }
        Port made;
        made.frame = item;
        made.exit = true;
        made.ownOutput = true;
        m_ports.push_back(made);
        return m_ownOutput[item] = static_cast<std::uint32_t>(m_ports.size() - 1);
    }

    Result<void> layOutContents()
    {
        m_rects.resize(m_graph.items.size());
        m_portsOf.resize(m_graph.items.size());
        for (std::uint32_t p = 0; p < m_ports.size(); ++p) {
            m_portsOf[m_ports[p].frame].push_back(p);
        }
        for (auto& ports : m_portsOf) { // what feeds earlier items stands further left, whatever its own place: equal blocks look equal
            std::stable_sort(ports.begin(), ports.end(), [&](std::uint32_t x, std::uint32_t y) { return m_ports[x].targets < m_ports[y].targets; });
        }
        for (auto i = m_graph.items.size() + 1; i-- > 0;) { // inner frames have greater numbers; the canvas is done last
            const bool canvas = i == m_graph.items.size();
            if (!canvas && !m_graph.items[i].frame) {
                m_rects[i] = { 0, 0, m_sizes[i].width, m_sizes[i].height };
                continue;
            }
            if (canvas) {
                continue;
            }
            if (auto done = layOutFrame(static_cast<ItemId>(i)); !done) {
                return done;
            }
            if (m_progress && i % 64 == 0) {
                m_progress->report("layout", 1.0 - static_cast<double>(i) / static_cast<double>(m_graph.items.size()));
            }
        }
        return layOut(kNoItem);
    }

    Result<void> layOutFrame(ItemId frame)
    {
        if (auto done = layOut(frame); !done) {
            return done;
        }
        auto& content = contentOf(frame);
        const double wanted = std::max(m_sizes[frame].width, content.layout.width + 2 * m_style.padding);
        const double width = std::ceil(wanted * kGrid / 2) * 2 / kGrid; // so that half of it is on the grid too
        content.left = std::floor((width - content.layout.width) / 2 * kGrid) / kGrid;
        content.top = m_style.header;
        m_rects[frame] = { 0, 0, width, m_style.header + content.layout.height + m_style.padding };
        for (const auto p : m_portsOf[frame]) {
            auto& port = m_ports[p];
            port.x = port.connected ? content.left + content.layout.nodes[port.local].x : width / 2;
        }
        return {};
    }

    Result<void> layOut(ItemId frame)
    {
        auto& content = contentOf(frame);
        std::vector<LayoutNode> nodes;
        for (const auto child : content.children) {
            nodes.push_back({ m_rects[child].width, m_rects[child].height, Pin::None });
        }
        if (frame != kNoItem) {
            for (const auto p : m_portsOf[frame]) {
                if (m_ports[p].connected) {
                    m_ports[p].local = static_cast<std::uint32_t>(nodes.size());
                    nodes.push_back({ 0, 0, m_ports[p].exit ? Pin::Bottom : Pin::Top });
                }
            }
        }
        std::vector<LayoutEdge> edges;
        for (auto s = content.firstSegment; s < content.endSegment; ++s) {
            const auto& [from, to] = m_ends[s];
            LayoutEdge edge;
            edge.from = localOf(from);
            edge.to = localOf(to);
            edge.fromOffset = offsetOf(from);
            edge.toOffset = offsetOf(to);
            edge.minor = m_out.segments[s].parameter;
            edges.push_back(edge);
        }
        auto layout = layeredLayout(nodes, edges, m_style.layers, m_stop);
        if (!layout) {
            return tl::unexpected(layout.error());
        }
        content.layout = std::move(*layout);
        const auto& stats = content.layout.stats;
        m_out.stats.parts += stats.parts;
        m_out.stats.layers = std::max(m_out.stats.layers, stats.layers);
        m_out.stats.lanePlaces += stats.lanePlaces;
        m_out.stats.marginEdges += stats.marginEdges;
        m_out.stats.reversedEdges += stats.reversedEdges;
        m_out.stats.crossings += stats.crossings;
        return {};
    }

    std::uint32_t localOf(const Station& station) const { return station.item == kNoItem ? m_ports[station.port].local : m_local[station.item]; }
    double offsetOf(const Station& station) const
    {
        return station.item == kNoItem || station.port == kNoPort ? 0 : m_ports[station.port].x - m_rects[station.item].width / 2;
    }

    /// From coordinates within each content to absolute ones, outermost first.
    void place()
    {
        const auto& canvas = contentOf(kNoItem);
        m_out.width = canvas.layout.width;
        m_out.height = canvas.layout.height;
        m_out.items.resize(m_graph.items.size());
        const auto originOf = [&](ItemId frame) {
            const auto& content = contentOf(frame);
            return frame == kNoItem ? Point {} : Point { m_out.items[frame].x + content.left, m_out.items[frame].y + content.top };
        };
        for (ItemId i = 0; i < m_graph.items.size(); ++i) {
            const Point origin = originOf(parentOf(i));
            auto rect = contentOf(parentOf(i)).layout.nodes[m_local[i]];
            rect.x += origin.x;
            rect.y += origin.y;
            m_out.items[i] = rect;
        }
        for (std::uint32_t s = 0; s < m_out.segments.size(); ++s) {
            auto& segment = m_out.segments[s];
            const auto& content = contentOf(segment.frame);
            const auto number = s - content.firstSegment;
            const Point origin = originOf(segment.frame);
            segment.upward = content.layout.reversed[number] != 0;
            segment.begin = static_cast<std::uint32_t>(m_out.points.size());
            for (const auto& p : content.layout.route(number)) {
                m_out.points.push_back({ p.x + origin.x, p.y + origin.y });
            }
            segment.end = static_cast<std::uint32_t>(m_out.points.size());
            reachBorder(segment, m_ends[s].first.item == kNoItem, m_ends[s].second.item == kNoItem);
        }
    }

    /// Ports lie on the frame's border; the content's layout knows them at its own edge.
    void reachBorder(Segment& segment, bool fromPort, bool toPort)
    {
        auto& points = m_out.points;
        const auto extend = [&](std::uint32_t end, std::uint32_t inner, double y) {
            // A vertical piece grows, before a slanted one a vertical is put.
            if (points[end].x == points[inner].x) {
                points[end].y = y;
            } else {
                points.insert(points.begin() + (end == segment.begin ? end : end + 1), { points[end].x, y });
                ++segment.end;
            }
        };
        if (fromPort) {
            extend(segment.begin, segment.begin + 1, m_out.items[segment.frame].y);
        }
        if (toPort) {
            extend(segment.end - 1, segment.end - 2, m_out.items[segment.frame].bottom());
        }
    }

    const VisibleGraph& m_graph;
    std::span<const ItemSize> m_sizes;
    const FrameStyle& m_style;
    const std::stop_token& m_stop;
    Progress* m_progress;
    VisibleLayout m_out;
    std::vector<Content> m_contents; ///< per frame; the last one is the canvas
    std::vector<std::uint32_t> m_local; ///< per item, its number among its siblings
    std::vector<Crossing> m_crossings;
    std::vector<std::uint32_t> m_crossingsBegin;
    std::vector<Port> m_ports;
    std::vector<std::vector<std::uint32_t>> m_portsOf; ///< per frame
    std::vector<std::uint32_t> m_ownOutput; ///< per frame, the exit that only its own output takes
    std::vector<std::pair<Station, Station>> m_ends; ///< per segment
    std::vector<Rect> m_rects; ///< sizes
};

} // namespace

Result<VisibleLayout> visibleLayout(const VisibleGraph& graph, std::span<const ItemSize> sizes, const FrameStyle& style, std::stop_token stop,
                                    Progress* progress)
{
    return Compound(graph, sizes, style, stop, progress).run();
}

} // namespace forkpoint::graph
