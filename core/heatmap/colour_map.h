// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

// Colours for numbers. A colour is a pixel of QImage::Format_RGBA8888 as a little-endian word: red in the lowest byte, alpha in the highest.
namespace forkpoint::heatmap {

using Rgba = std::uint32_t;

constexpr Rgba rgba(unsigned red, unsigned green, unsigned blue, unsigned alpha = 255)
{
    return red | green << 8 | blue << 16 | alpha << 24;
}
constexpr unsigned redOf(Rgba colour) { return colour & 0xffu; }
constexpr unsigned greenOf(Rgba colour) { return colour >> 8 & 0xffu; }
constexpr unsigned blueOf(Rgba colour) { return colour >> 16 & 0xffu; }
constexpr unsigned alphaOf(Rgba colour) { return colour >> 24; }

enum class ColourMap : std::uint8_t { Viridis, Cividis, Grey, BlueWhiteOrange };

inline constexpr ColourMap kColourMaps[] = {ColourMap::Viridis, ColourMap::Cividis, ColourMap::Grey, ColourMap::BlueWhiteOrange};

inline constexpr std::size_t kColours = 256;

std::string_view name(ColourMap map); ///< "viridis", ...: a stable key for settings
bool isDiverging(ColourMap map);      ///< its middle means zero

/// The map from low to high, opaque. BlueWhiteOrange: blue (B < A) over near-white to orange (B > A).
std::span<const Rgba, kColours> colours(ColourMap map);

/// What numbers cannot show. Those of specialColours() are apart from every colour of the map and from each other, also for the colour-blind.
struct SpecialColours {
    Rgba nan = 0, positiveInf = 0, negativeInf = 0;
    bool operator==(const SpecialColours&) const = default;
};
SpecialColours specialColours(ColourMap map);

/// Colours of the tolerance classes.
struct ClassColours {
    Rgba equal = rgba(0xb4, 0xc3, 0xd0), within = rgba(0x8f, 0xbc, 0x9a), over = rgba(0xc5, 0x34, 0x4d);
    bool operator==(const ClassColours&) const = default;
};

/// Perceived lightness in [0, 1] and the opponent axes of OKLab (B. Ottosson, "A perceptual color space for image processing", 2020), from sRGB.
struct OkLab {
    double lightness = 0, greenRed = 0, blueYellow = 0;
};
OkLab okLab(Rgba colour);

} // namespace forkpoint::heatmap
