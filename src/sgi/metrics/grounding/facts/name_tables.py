"""Tables of names that mean the same: places and peoples, initialisms, short first names."""

from __future__ import annotations

from sgi.metrics.grounding.facts.words import word_set

# Each line: names of one place and its people. Underscores are spaces.
_COUNTRIES = """
afghanistan afghan afghans
albania albanian albanians
algeria algerian algerians
argentina argentine argentinian argentines
armenia armenian armenians
australia australian australians aussie
austria austrian austrians
bangladesh bangladeshi bangladeshis
belgium belgian belgians
bolivia bolivian bolivians
brazil brazilian brazilians
britain british briton britons great_britain uk united_kingdom
bulgaria bulgarian bulgarians
cambodia cambodian cambodians
canada canadian canadians
chile chilean chileans
china chinese prc
colombia colombian colombians
croatia croatian croatians
cuba cuban cubans
cyprus cypriot cypriots
czechia czech czechs czech_republic
denmark danish dane danes
egypt egyptian egyptians
england english englishman englishmen
estonia estonian estonians
ethiopia ethiopian ethiopians
europe european europeans
eu european_union european
bc christ
finland finnish finn finns
france french frenchman frenchmen franco
germany german germans
greece greek greeks
hungary hungarian hungarians
iceland icelandic icelander icelanders
india indian indians
indonesia indonesian indonesians
iran iranian iranians
iraq iraqi iraqis
ireland irish irishman irishmen
israel israeli israelis
italy italian italians
jamaica jamaican jamaicans
japan japanese
jordan jordanian jordanians
kenya kenyan kenyans
korea korean koreans
kuwait kuwaiti kuwaitis
latvia latvian latvians
lebanon lebanese
libya libyan libyans
lithuania lithuanian lithuanians
malaysia malaysian malaysians
malta maltese
mexico mexican mexicans
morocco moroccan moroccans
myanmar burma burmese
nepal nepalese nepali
netherlands dutch holland dutchman dutchmen
new_zealand new_zealander new_zealanders kiwi
nigeria nigerian nigerians
niger nigerien
norway norwegian norwegians
pakistan pakistani pakistanis
palestine palestinian palestinians
paraguay paraguayan
peru peruvian peruvians
philippines philippine filipino filipina filipinos
poland polish pole poles
portugal portuguese
romania romanian romanians
rome roman romans
russia russian russians
saudi_arabia saudi saudis saudi_arabian
scotland scottish scot scots scotsman
serbia serbian serb serbs
sicily sicilian sicilians
singapore singaporean
slovakia slovak slovaks slovakian
slovenia slovenian slovene
somalia somali somalis
south_africa south_african south_africans
soviet_union soviet soviets ussr
spain spanish spaniard spaniards
sri_lanka sri_lankan
sudan sudanese
sweden swedish swede swedes
switzerland swiss
syria syrian syrians
taiwan taiwanese
thailand thai thais
tibet tibetan tibetans
troy trojan trojans
tunisia tunisian tunisians
turkey turkish turk turks turkiye
uganda ugandan ugandans
ukraine ukrainian ukrainians
us usa united_states united_states_of_america america american americans
uruguay uruguayan
venezuela venezuelan venezuelans
venice venetian venetians
vietnam vietnamese
wales welsh welshman welshmen
yemen yemeni yemenis
zimbabwe zimbabwean
"""
_TOWNS = """
london londoner londoners
paris parisian parisians
new_york nyc new_york_city new_yorker
los_angeles la
washington_dc dc washington
"""
_STATES = """
alabama al
alaska ak alaskan
arizona az ariz
arkansas ar
california ca calif californian
rockies rocky_mountains
colorado co colo
connecticut ct conn
delaware de
florida fl fla floridian
hawaii hi hawaiian
idaho id
illinois il
indiana ind
iowa ia
kansas ks
kentucky ky
louisiana
maine me
maryland md
massachusetts ma mass
michigan mi mich
minnesota mn minn
mississippi ms
missouri mo
montana mt
nebraska ne neb
nevada nv
new_hampshire nh
new_jersey nj
new_mexico nm
north_carolina nc
north_dakota nd
ohio oh
oklahoma ok okla
oregon or ore
pennsylvania pa penn
rhode_island ri
south_carolina sc
south_dakota sd
tennessee tn tenn
texas tx texan texans
utah ut
vermont vt
virginia va
washington wa
west_virginia wv
wisconsin wi wis
wyoming wy
"""
_INITIALISMS = """
ai artificial_intelligence
ml machine_learning
tv television televised
pc personal_computer
phd doctorate doctoral doctor_of_philosophy phds
mba master_of_business_administration
ceo chief_executive chief_executive_officer
cfo chief_financial_officer
cto chief_technology_officer
pm prime_minister
mp member_of_parliament mps
gdp gross_domestic_product
vat value_added_tax
hiv human_immunodeficiency_virus
dna deoxyribonucleic_acid
mri magnetic_resonance_imaging
ct computed_tomography ct_scan
er emergency_room
icu intensive_care_unit
gp general_practitioner
ocd obsessive_compulsive_disorder
adhd attention_deficit_hyperactivity_disorder
ptsd post_traumatic_stress_disorder
uti urinary_tract_infection
std sexually_transmitted_disease stds
bmi body_mass_index
fb facebook
ps4 playstation_4
ps3 playstation_3
un united_nations
nato north_atlantic_treaty_organization
fbi federal_bureau_of_investigation
cia central_intelligence_agency
nasa national_aeronautics_and_space_administration
who world_health_organization
imf international_monetary_fund
bbc british_broadcasting_corporation
irs internal_revenue_service
nhs national_health_service
nfl national_football_league
nba national_basketball_association
mlb major_league_baseball
nhl national_hockey_league
mls major_league_soccer
ufc ultimate_fighting_championship
wwe world_wrestling_entertainment
gps global_positioning_system
hr human_resources
it information_technology
pr public_relations
vp vice_president
llc limited_liability_company
ipo initial_public_offering
atm automated_teller_machine
suv sport_utility_vehicle
ev electric_vehicle evs
usb universal_serial_bus
url web_address
faq frequently_asked_questions
diy do_it_yourself
rv recreational_vehicle
id identification identity_card
ptsd post_traumatic_stress_disorder
covid coronavirus covid_19
xmas christmas
ivf in_vitro_fertilisation in_vitro_fertilization
"""
_SHORT_NAMES = """
alexander alex alec sandy
andrew andy drew
anthony tony
barbara barb
benjamin ben benny
catherine katherine kathryn kate katie cathy kathy
charles charlie chuck
christopher chris
daniel dan danny
david dave
deborah debbie
donald don
edward ed eddie ted
elizabeth liz beth betty eliza
eugene gene
francis frank
frederick fred
geoffrey jeffrey jeff geoff
gerald gerry jerry
gregory greg
henry harry hank
jacob jake
james jim jimmy jamie
jennifer jen jenny
john jack johnny jon
joseph joe joey
joshua josh
kenneth ken kenny
lawrence laurence larry
leonard leo len
margaret maggie peggy meg
matthew matt
michael mike mick
nicholas nick
pamela pam
patricia pat patty
patrick pat paddy
peter pete
philip phillip phil
rebecca becky
richard rick dick rich richie
robert bob bobby rob
ronald ron ronnie
samuel sam
samantha sam
stephen steven steve
susan sue
theodore ted theo
thomas tom tommy
timothy tim
victoria vicky
vincent vince
walter walt
william bill billy will
zachary zach
"""
# Cities that are found in text without capitals.
_CITIES = """
adelaide amsterdam ankara antwerp athens atlanta auckland baghdad baltimore bangkok barcelona beijing
beirut belfast belgrade berlin birmingham bogota bologna boston brisbane bristol brooklyn brussels
bucharest budapest cairo calcutta cambridge cardiff caracas casablanca chicago cincinnati cleveland
cologne copenhagen dallas damascus delhi denver detroit dresden dubai dublin edinburgh frankfurt geneva
genoa glasgow hamburg hanoi havana helsinki hiroshima honolulu houston indianapolis istanbul jakarta
jerusalem johannesburg kabul karachi krakow kyoto lahore leeds leipzig lima lisbon liverpool london lyon
madrid manchester manhattan manila marseille melbourne memphis miami milan milwaukee minneapolis montreal
moscow mumbai munich nairobi naples nashville orlando osaka oslo oxford paris philadelphia pittsburgh
prague quebec reykjavik riga rotterdam salzburg santiago sarajevo seattle seoul shanghai sheffield
singapore sofia stockholm strasbourg stuttgart sydney tehran tokyo toronto tripoli turin vancouver venice
vienna warsaw winnipeg zurich
"""
_FIRMS = """
airbus boeing google honda hyundai microsoft netflix nintendo nissan pfizer samsung tesla toyota
volkswagen walmart
"""
_MORE_FIRST_NAMES = """
ada adam adele agnes alan albert alfred alice alison allan amanda amelia amy andrea angela ann anna anne
antonio arnold arthur audrey barack bernard bernie boris brad brandon brenda brian bruce bryan calvin
carl carla carlos carol caroline cecil cheryl christian christina christine christoph cindy claire clara
clark claude colin craig curtis cynthia dennis derek diana diane dimitri dominic donna doris dorothy
douglas duncan edgar edith elena ellen elon elsa emily emma eric erica erik ernest esther ethan eva
evelyn felix fernando fiona florence franklin franz fritz gabriel gareth gary george georgia gilbert
giovanni gloria gordon graham gustave hannah hans harold harrison harvey heather hector heidi helen
helena herbert herman howard hugh hugo ian igor ingrid irene isaac isabel isabella ivan jackson
jacqueline jacques jane janet jason javier jean jeremy jessica jill joan joanna joanne jonathan jose
juan judith julia julian julie justin karen karl katarina keith kelly kevin klaus kurt lars laura lauren
leon leonardo leslie lewis lillian linda lisa louis louise lucas lucy luis luke lydia madeleine marcel
marcus maria marie marilyn mario marion marlon martha martin marvin mary maurice max megan melissa
michelle miguel mikhail miriam mohamed mohammed monica muhammad nancy naomi natalie nathan neil nelson
nigel nicole nina nora norman oliver olivia oscar otto owen pablo patrick paul paula pauline pedro
penelope pierre rachel ralph ramon raymond renee rita roger roland rosa rosemary ross roy rudolf rupert
russell ruth ryan sandra sara sarah scott sean sergei sharon sheila shirley sidney simon sofia sophia
sophie stanley stella stuart sylvia teresa terry theresa tracy trevor ursula valerie vanessa vera
veronica victor vivian vladimir wallace warren wayne wendy wilhelm winston wolfgang xavier yvonne
"""
# Words of the tables that are also common words in small letters.
_COMMON = word_set(
    """
    polish pole poles turkey china jordan troy mark will bill pat rob rich dick jack frank sue gene drew
    will don ted chuck harry roman romans soviet la ca al ar co ct de fl hi id ia me md ma mass mi ms mo mt
    ne nd oh ok or ore pa ri sc va wa dc us or pm it er who id mp ml un ct pr ev std ai tv pc dna gps faq
    url suv atm grace rose dean art max clark christian colin curtis georgia florence jean josh kelly leon
    leslie nick len meg miles nelson norman grant victor warren wallace dutch swiss thai niger washington
    franklin jackson harrison theo walt dan ross sandy hank jake jimmy jen hugo gilbert gordon coronavirus
    television televised doctorate doctoral identification scot scots swede finn dane serb kiwi mick rick
    pete becky liz al beth betty neb ind wis minn tenn okla calif fla mich holland franco burma malta cuba
    french english german spanish greek danish irish welsh scottish norwegian swedish finnish european
    american
    """
)


def _rows(table: str) -> list[list[str]]:
    return [[form.replace("_", " ") for form in line.split()] for line in table.strip().splitlines()]


def _forms(*tables: str) -> dict[str, frozenset[str]]:
    """Return the forms of each name, with those of all its lines."""
    forms: dict[str, set[str]] = {}
    for line in (line for table in tables for line in _rows(table)):
        for form in line:
            forms.setdefault(form, set()).update(line)
    return {form: frozenset(others) for form, others in forms.items()}


SAME_THING = _forms(_COUNTRIES, _TOWNS, _STATES, _INITIALISMS)
"""The forms of each name of a place, its people, or an initialism, in small letters."""

COUNTRIES, STATES = frozenset(_forms(_COUNTRIES)), frozenset(_forms(_STATES))
"""Names of countries and peoples, and of the states of the USA, in small letters."""

PLACES = COUNTRIES | STATES | frozenset(_forms(_TOWNS))
"""Names of places and peoples, in small letters."""

SAME_FIRST_NAME = _forms(_SHORT_NAMES)
"""The short and long forms of each first name, in small letters."""

SURE_PLACES = frozenset(name for name in PLACES if " " not in name and len(name) > len("iowa")) - _COMMON
"""Names of places and peoples in one word that are seldom another word in small letters."""

CITIES = word_set(_CITIES)
"""Names of cities, in small letters."""

SURE_PLACES |= CITIES | word_set(_FIRMS)

SURE_FIRST_NAMES = frozenset([*SAME_FIRST_NAME, *_MORE_FIRST_NAMES.split()]) - _COMMON
"""First names that are seldom another word in small letters."""
