"""Corners of the syntax: where two parsers may place things differently."""

CORNERS = r'''
import a.b, c as d, e.f as g
from . import x
from ..y import z as w, q
from m import *
@deco(1)
@other
class A(Base, *bases, metaclass=M, **kw):
    """doc é"""
    x: int = 1; y = 2
    é = "ü"; z = "é" + f(é, "ö")
    def m(self, /, a, b=1, *args, c: int, d=2, **kwargs) -> int: return 1
    async def \
        n(self):
        async with (a as b, c): pass
        async for i, j in (x): break
        else: continue
        await (yield)
        yield from (z)
class B: pass
class C(): x = 1
def gen():
    def inner(): yield 1
    return lambda *, a=1, **k: (yield)
x = (1)
x = y, = z = (1, 2)
x, *y = (a), b
(x) = [*a, (b)]
x: "int"
x += (1); x |= 2; x -= 3
f((a), *(b), k=(c), **(d))
f(x for x in (y) if (z))
f((x for x in y), 1)
f(*a, k=1, *b, **c, l=2)
((f))((x))
(a).b.c
a[1], a[1:2], a[b, c], a[(b, c)], a[(b), c], a[*b], a[(b), (c)]
a[1:2, ::3], a[...], a[:, None], a[()], a[None,]
d = {1: (2), **e, (3): 4}
s = {1, *x}
-1; not a; a < b < c; a < (b); a not in b; a is not b
a or b or (c) or d; (a or b) or c; a or (b or c); a and b or c and d and e
(a) or b or c
a if (b) else (c)
b"x" b"y"; 1j; 1.5; 0x10; 1_000; ...; None; True
"a" "b"; "a" f"b{x}" 'c'; f"{x!r:>{w}}" f"{y!s}"; f"{x=}"; f"{ x = !s}"; f"{{}}"
f"a\n{b}\x41"; rf"\d{x}"
f"{ {1, 2} } {{x}} {{{x}}}"; f"{ {x}.pop() }{y}"; f"{ {x: 1}[x] }"; F"é{é}{a.b[0]!r}{x }"
f"{a:{b}} {b}"; f"{(lambda: 1)()}"; f"{a!=b}{c}"; f'{x + "é"}{y}'
f""
f"" "" f"{x}"; f"{x}{x}{f(x, 'a')}"
f"{x:.2f} {y[0]}" f'{z["}"]}' "{no}" rf"\{x}\N{{y}}" f"\N{DASH}{x}" f"\{x}"
f"{x:{w}.{p}} {a == b} {a <= b!r} {a[b:c]} {f(x=1)}"; f"{x == 1=}"; f"{f(a)(b)['c']:>{n}}{z}"
f"{(a,)}{[a for a in b]}" \
  f"{a if b else c}"; f"{(y := 1)}{lambda_}"; (f"{a}"  # {not}
  # nor {this}
  f"{b}")
z = (f"one {a.b}"
  f"two {c(d)}"
  "three")
t = f"""
{a}
  {b["k"]} {c:{d}}
é{e}
"""
"\N{BULLET}"
"\ud800"
del a; del a, b; del (a, b); del (a), b[1]
assert a, "b"
global_ = 1
def g():
    global a, b
    nonlocal_ = 1
    if (n := 10) > 5: pass
    elif a: pass
    else:
        if b: return
        raise E from f
    raise
    while (x): break
    else: pass
    try: pass
    except (A, B) as e: pass
    except C: pass
    except: pass
    else: pass
    finally: pass
    with a: pass
    with (a): pass
    with (a) as b: pass
    with (a, b) as c: pass
    with (a, b): pass
    with (
        a as b,
        (c) as (d, e),
    ): pass
    with a as (b), c as d.e, f as g[1]: pass
    for (a, b) in c: pass
    for a, b in (c, d): pass
    for a in b, c: pass
    return 1, 2
match x:
    case 1 | 2: pass
    case (A(x=b, y=[c, *d]) as e) if (f): pass
    case {"a": g, **rest}: pass
    case [_, *_]:
        pass
    case (
        "a"
    ): pass
    case _: pass
match (a, b):
    case a.b: pass
[x for x in y for z in w if a if b]
{x: (y) for x, y in z}
{(x) for x in y}
lambda: (a)
lambda a, /, b=1, *c: 1
x = yield_
async def h():
    return [x async for x in y]
    await x
    return await (x)
print(a, end="")
if x: y; z
x = 1 # c
x = \
  2
def f(
    a,
    *,
    b = (1),
): pass
def f(*args: (int), **kwargs: int): pass
@a
# comment
def f(): pass
@a.b(c)

async def f(): pass
(yield_)
((a, b))
(a,)
x = (  # c
  a
)
'''
