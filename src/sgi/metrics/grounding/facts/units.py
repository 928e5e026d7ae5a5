"""Units of measurement and their spellings."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple


class Unit(NamedTuple):
    """A unit: its dimension, canonical name, and conversion to the base unit."""

    dimension: str
    name: str
    factor: Decimal
    offset: Decimal = Decimal(0)


NO_UNIT = Unit("", "", Decimal(1))
"""A number without a unit."""

ORDINAL = Unit("ordinal", "ordinal", Decimal(1))
"""The unit of "13th"."""

AGE = Unit("time", "year of age", Decimal(31556952))
"""The unit of "aged 25" and "25-year-old"."""

SHARE = Unit("share", "share", Decimal(1))
"""The unit of "half"."""

# Each line: dimension; canonical name; factor; spellings.
_TABLE = """
length;mm;0.001;mm millimeter millimeters millimetre millimetres
length;cm;0.01;cm cms centimeter centimeters centimetre centimetres
length;m;1;m meter meters metre metres
length;km;1000;km kms kilometer kilometers kilometre kilometres
length;inch;0.0254;inch inches ″
length;foot;0.3048;foot feet ft ft. ′
length;yard;0.9144;yard yards yd yds
length;mile;1609.344;mile miles mi
area;m²;1;m² sqm
area;km²;1000000;km²
area;hectare;10000;hectare hectares ha
area;acre;4046.8564224;acre acres
volume;ml;0.001;ml mL milliliter milliliters millilitre millilitres cc
volume;dl;0.1;dl dL deciliter deciliters decilitre decilitres
volume;l;1;l L liter liters litre litres
volume;teaspoon;0.00492892159375;tsp tsps tsp. teaspoon teaspoons
volume;tablespoon;0.01478676478125;tbsp tbsps tbsp. tbs tablespoon tablespoons
volume;fluid ounce;0.0295735295625;fl_oz fluid_ounce fluid_ounces
volume;cup;0.2365882365;cup cups
volume;pint;0.473176473;pint pints pt
volume;quart;0.946352946;quart quarts qt qts
volume;gallon;3.785411784;gallon gallons gal gals
mass;µg;0.000001;µg μg ug mcg microgram micrograms
mass;ng;0.000000001;ng nanogram nanograms
mass;mg;0.001;mg mgs milligram milligrams
mass;g;1;g gm gms gram grams
mass;kg;1000;kg kgs kilo kilos kilogram kilograms
mass;ounce;28.349523125;oz oz. ounce ounces
mass;pound;453.59237;lb lbs lb. lbs. pound pounds
mass;tonne;1000000;tonne tonnes metric_ton metric_tons
mass;ton;907184.74;ton tons
time;millisecond;0.001;ms millisecond milliseconds
time;second;1;s sec secs second seconds
time;minute;60;min mins min. minute minutes
time;hour;3600;h hr hrs hour hours
time;day;86400;day days
time;week;604800;week weeks wk wks
time;month;2629746;month months mo mos
time;year;31556952;year years yr yrs
time;decade;315569520;decade decades
time;century;3155695200;century centuries
time;fortnight;1209600;fortnight fortnights
speed;km/h;0.27777777777777777778;km/h kmh kph kilometers_per_hour kilometres_per_hour km_per_hour
speed;mph;0.44704;mph miles_per_hour
speed;m/s;1;m/s meters_per_second metres_per_second
speed;knot;0.51444444444444444444;knot knots
data;bit;0.125;bit bits
data;byte;1;byte bytes
data;kB;1000;kB KB kilobyte kilobytes
data;MB;1000000;MB megabyte megabytes
data;GB;1000000000;GB gb gigabyte gigabytes
data;TB;1000000000000;TB tb terabyte terabytes
energy;calorie;4184;calorie calories kcal kcals cal Calories
energy;kJ;1000;kJ kj kilojoule kilojoules
energy;J;1;joule joules
energy;kWh;3600000;kWh kwh kilowatt-hour kilowatt-hours
power;W;1;W watt watts
power;kW;1000;kW kilowatt kilowatts
power;MW;1000000;MW megawatt megawatts
power;horsepower;745.69987158227;hp horsepower
voltage;V;1;V volt volts
current;A;1;amp amps ampere amperes
frequency;Hz;1;Hz hz hertz
frequency;kHz;1000;kHz khz
frequency;MHz;1000000;MHz mhz
frequency;GHz;1000000000;GHz ghz
share;percent;0.01;% ％ ٪ percent percentage per_cent pct pc percentage_points percentage_point
share;per mille;0.001;‰
degree;degree;1;° degree degrees deg
currency;usd;1;$ usd dollar dollars us_dollars us_dollar US$ buck bucks
currency;usd;0.01;cent cents ¢
currency;eur;1;€ eur euro euros
currency;eur;0.01;centime centimes eurocent eurocents
currency;gbp;1;£ gbp quid pounds_sterling
currency;gbp;0.01;pence
currency;jpy;1;¥ jpy yen
currency;inr;1;₹ inr rupee rupees
"""

_TEMPERATURES = {
    Unit(
        "temperature", "°C", Decimal(1)
    ): "°C ℃ C celsius degrees_c degree_c deg_c deg_celsius degrees_celsius degree_celsius"
    " degrees_centigrade celcius degrees_celcius",
    Unit("temperature", "°F", Decimal(5) / 9, Decimal(-32)): "°F ℉ F fahrenheit degrees_f degree_f"
    " deg_f deg_fahrenheit degrees_fahrenheit degree_fahrenheit",
    Unit("temperature", "K", Decimal(1), Decimal("-273.15")): "K kelvin kelvins",
}


def _read() -> dict[str, Unit]:
    units = {}
    for line in _TABLE.strip().splitlines():
        dimension, name, factor, spellings = line.split(";")
        for spelling in spellings.split():
            units[spelling.replace("_", " ")] = Unit(dimension, name, Decimal(factor))
    for unit, spellings in _TEMPERATURES.items():
        units |= {spelling.replace("_", " "): unit for spelling in spellings.split()}
    return units


_UNITS = _read()
_SPELLINGS: dict[str, frozenset[str]] = {
    unit.name: frozenset(spelling for spelling, other in _UNITS.items() if other.name == unit.name)
    for unit in _UNITS.values()
}
_SQUARES = {"square": 2, "sq": 2, "sq.": 2, "cubic": 3}
STARTS = frozenset(spelling.partition(" ")[0] for spelling in _UNITS if " " in spelling) | _SQUARES.keys()
"""First words of units with two or three words."""


def unit_named(spelling: str) -> Unit | None:
    """Return the unit with this spelling, or None; case matters if it separates units ("M" is not metre).

    A slash gives a rate ("mg/dl"); "square" and "cubic" give a power of a length.

    >>> unit_named("Kilometers").name, unit_named("mg/dL").dimension, unit_named("square feet").dimension
    ('km', 'mass/volume', 'area')
    """
    unit = _UNITS.get(spelling)
    if unit is None and len(spelling) > 1:
        unit = _UNITS.get(spelling.lower())
    if unit is not None:
        return unit
    above, slash, below = spelling.partition("/")
    if slash:
        return _rate(unit_named(above), unit_named(below) if "/" not in below else None)
    first, space, rest = spelling.partition(" ")
    power = _SQUARES.get(first.lower(), 0) if space else 0
    length = _UNITS.get(rest.lower()) if power else None
    if length is None or length.dimension != "length":
        return None
    litres = 1000  # in a cubic metre
    if power == _SQUARES["square"]:
        return Unit("area", f"{length.name}²", length.factor**2)
    return Unit("volume", f"{length.name}³", length.factor**3 * litres)


def _rate(above: Unit | None, below: Unit | None) -> Unit | None:
    if above is None or below is None:
        return None
    return Unit(
        f"{above.dimension}/{below.dimension}", f"{above.name}/{below.name}", above.factor / below.factor
    )


def spellings_of(name: str) -> frozenset[str]:
    """Return the spellings of a unit by its canonical name; empty for rates and powers."""
    return _SPELLINGS.get(name, frozenset())
