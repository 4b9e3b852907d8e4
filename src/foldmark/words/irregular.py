"""English words whose forms no rule of endings joins: went and go, children and child. Knows nothing of texts.

Left out are forms that are as often another word: left, bit, lay, saw (a tool), rose, bore, ground, wound, lives.
"""

from __future__ import annotations

_TABLE = """
age: aged aging
become: became
begin: began begun
break: broke broken
bring: brought
build: built
burn: burnt
buy: bought
catch: caught
child: children
choose: chose chosen
come: came
creep: crept
criterion: criteria
deal: dealt
die: died dying
dig: dug
do: did done does doing
draw: drew drawn
dream: dreamt
drink: drank drunk
drive: drove driven
eat: ate eaten
fall: fell fallen
feed: fed
feel: felt
fight: fought
find: found
flee: fled
fly: flew flown flies
foot: feet
forbid: forbade forbidden
forget: forgot forgotten
forgive: forgave forgiven
freeze: froze frozen
get: got gotten
give: gave given
go: went gone goes going
goose: geese
grow: grew grown
half: halves
hang: hung
have: has had
hear: heard
hide: hid hidden
hold: held
index: indices
keep: kept
kneel: knelt
knife: knives
know: knew known
lead: led
leap: leapt
learn: learnt
lend: lent
lie: lied lying
loaf: loaves
lose: lost
make: made
man: men
matrix: matrices
mean: meant
meet: met
mistake: mistook mistaken
mouse: mice
overcome: overcame
pay: paid
person: people
phenomenon: phenomena
prove: proven
rebuild: rebuilt
rewrite: rewrote rewritten
ride: rode ridden
ring: rang rung
rise: risen
run: ran
say: said
see: seen
seek: sought
sell: sold
send: sent
shake: shook shaken
shelf: shelves
shine: shone
shoot: shot
show: shown
shrink: shrank shrunk
sing: sang sung
sink: sank sunk
sit: sat
sleep: slept
speak: spoke spoken
spend: spent
spin: spun
stand: stood
steal: stole stolen
stick: stuck
strike: struck stricken
swear: swore sworn
sweep: swept
swim: swam swum
swing: swung
take: took taken
teach: taught
tear: tore torn
tell: told
thief: thieves
think: thought
throw: threw thrown
tie: tied tying
tooth: teeth
understand: understood
undo: undid undone
use: used using
vertex: vertices
wake: woke woken
wear: wore worn
weave: wove woven
weep: wept
wife: wives
win: won
withdraw: withdrew withdrawn
wolf: wolves
woman: women
write: wrote written
"""
_ROWS = [line.partition(": ")[::2] for line in _TABLE.split("\n") if line]
BASES = {form: base for base, forms in _ROWS for form in forms.split()}
"""form -> the word that it is a form of."""
