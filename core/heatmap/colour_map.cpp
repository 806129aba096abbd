// SPDX-FileCopyrightText: 2026 The Forkpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "core/heatmap/colour_map.h"

#include "core/heatmap/colour_tables.h"

#include <algorithm>
#include <cmath>

namespace forkpoint::heatmap {
namespace {

using Table = std::array<Rgba, kColours>;

struct LinearRgb {
    double red = 0, green = 0, blue = 0;
};

/// IEC 61966-2-1.
double fromSrgb(unsigned value)
{
    const double x = value / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}

unsigned toSrgb(double x)
{
    const double clamped = std::clamp(x, 0.0, 1.0);
    const double value = clamped <= 0.0031308 ? 12.92 * clamped : 1.055 * std::pow(clamped, 1 / 2.4) - 0.055;
    return static_cast<unsigned>(std::lround(255 * value));
}

Rgba fromOkLab(const OkLab& lab)
{
    const auto cubed = [](double x) { return x * x * x; };
    const double l = cubed(lab.lightness + 0.3963377774 * lab.greenRed + 0.2158037573 * lab.blueYellow);
    const double m = cubed(lab.lightness - 0.1055613458 * lab.greenRed - 0.0638541728 * lab.blueYellow);
    const double s = cubed(lab.lightness - 0.0894841775 * lab.greenRed - 1.2914855480 * lab.blueYellow);
    return rgba(toSrgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                toSrgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                toSrgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s));
}

Table published(const std::uint32_t* colours)
{
    Table table;
    for (std::size_t i = 0; i < kColours; ++i)
        table[i] = rgba(colours[i] >> 16 & 0xffu, colours[i] >> 8 & 0xffu, colours[i] & 0xffu);
    return table;
}

Table greyTable()
{
    Table table;
    for (unsigned i = 0; i < kColours; ++i)
        table[i] = rgba(i, i, i);
    return table;
}

/// Straight lines in OKLab from near-white to two ends of equal lightness, so that equal differences of either sign weigh the same.
Table divergingTable()
{
    const OkLab middle = okLab(rgba(0xf5, 0xf5, 0xf3));
    const OkLab low = okLab(rgba(41, 102, 191));
    const OkLab high = okLab(rgba(170, 71, 0));
    Table table;
    constexpr std::size_t kHalf = kColours / 2;
    for (std::size_t i = 0; i < kHalf; ++i) {
        const double share = static_cast<double>(i) / (kHalf - 1);
        const auto between = [&](const OkLab& end) {
            return fromOkLab({middle.lightness + (end.lightness - middle.lightness) * share, middle.greenRed + (end.greenRed - middle.greenRed) * share,
                              middle.blueYellow + (end.blueYellow - middle.blueYellow) * share});
        };
        table[kHalf - 1 - i] = between(low);
        table[kHalf + i] = between(high);
    }
    return table;
}

} // namespace

std::string_view name(ColourMap map)
{
    switch (map) {
    case ColourMap::Viridis:
        return "viridis";
    case ColourMap::Cividis:
        return "cividis";
    case ColourMap::Grey:
        return "grey";
    case ColourMap::BlueWhiteOrange:
        break;
    }
    return "blue-white-orange";
}

bool isDiverging(ColourMap map) { return map == ColourMap::BlueWhiteOrange; }

std::span<const Rgba, kColours> colours(ColourMap map)
{
    static const std::array<Table, std::size(kColourMaps)> tables = {published(kViridis), published(kCividis), greyTable(), divergingTable()};
    return tables[static_cast<std::size_t>(map)];
}

SpecialColours specialColours(ColourMap map)
{
    switch (map) { // found by search: at least 0.08 in OKLab from the map and each other, also as seen without one kind of cone
    case ColourMap::Viridis:
        return {rgba(255, 0, 255), rgba(153, 0, 0), rgba(0, 0, 0)};
    case ColourMap::Cividis:
        return {rgba(255, 0, 255), rgba(204, 0, 0), rgba(0, 0, 0)};
    case ColourMap::Grey:
        return {rgba(255, 0, 255), rgba(153, 102, 0), rgba(102, 255, 0)};
    case ColourMap::BlueWhiteOrange:
        break;
    }
    return {rgba(153, 0, 255), rgba(102, 0, 0), rgba(0, 0, 0)};
}

OkLab okLab(Rgba colour)
{
    const LinearRgb c{fromSrgb(redOf(colour)), fromSrgb(greenOf(colour)), fromSrgb(blueOf(colour))};
    const double l = std::cbrt(0.4122214708 * c.red + 0.5363325363 * c.green + 0.0514459929 * c.blue);
    const double m = std::cbrt(0.2119034982 * c.red + 0.6806995451 * c.green + 0.1073969566 * c.blue);
    const double s = std::cbrt(0.0883024619 * c.red + 0.2817188376 * c.green + 0.6299787005 * c.blue);
    return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s, 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

} // namespace forkpoint::heatmap
