import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { after, describe, it } from "node:test";
import { defineHook, defineKeyedHook, GatewayError, type HookKind, type HookSpec, type TapOptions } from "@svc/sdk";
import { Deadlines } from "../../../host/hooks/deadline.ts";
import { TRACE_THROWS } from "../../../host/hooks/guard.ts";
import { HookBus } from "../../../host/hooks/hook-bus.ts";
import { type FakeOwner, fakeOwner } from "./fake-owner.ts";

const facts = { owner: "host", when: "-", returns: "-", throws: "-" };
const hookOf = <const K extends HookKind>(kind: K, more: object = {}) =>
  defineHook<{ text: string }, string>()(kind, { name: `a-${kind}`, ...facts, ...more });

// Neither deadlines nor handlers that never settle keep a process alive.
const alive = setInterval(() => {}, 1_000);
after(() => clearInterval(alive));

const input = { text: "hi" };
const runsOf = ({ tally }: FakeOwner) => {
  const { hookRuns, hookErrors } = tally.stats(0, undefined);
  return `${hookRuns} run, ${hookErrors} failed`;
};
const boom = () => {
  throw new Error("boom");
};
const late = () => new Promise<never>(() => {});

function busOf(spec: HookSpec, deadlines?: Deadlines) {
  const bus = new HookBus(deadlines);
  const emitter = bus.emitter(spec);
  return {
    bus,
    emitter,
    emit: async (value: unknown = input) => emitter.emit(value),
    tap: (owner: FakeOwner, options: TapOptions, handler: Parameters<HookBus["tap"]>[4]) =>
      bus.tap(spec, undefined, owner, options, handler),
  };
}

describe("every asynchronous kind", () => {
  const kinds = ["observe", "series", "first", "gate", "waterfall", "collect"] as const;
  for (const kind of kinds) {
    const spec = hookOf(kind, { deadlineMs: 20 });
    const answers: Record<typeof kind, unknown> = {
      observe: undefined,
      series: undefined,
      first: undefined,
      gate: { allow: false, reason: "plugin broken could not decide" },
      waterfall: input,
      collect: [{ plugin: "broken", error: "boom" }],
    };

    it(`${kind}: without taps it completes at once`, async () => {
      const emitter = new HookBus().emitter(spec);
      assert.equal(emitter.isUsed(), false);
      assert.deepEqual(await emitter.emit(input), kind === "waterfall" ? input : kind === "collect" ? [] : undefined);
    });

    const breakages: [how: string, handler: () => unknown, error: RegExp][] = [
      ["throws", boom, /boom/],
      ["rejects", () => Promise.reject(new Error("boom")), /boom/],
      ["never settles", late, /no answer within 20 ms/],
    ];
    for (const [how, handler, error] of breakages) {
      it(`${kind}: a handler that ${how} is contained and attributed, also as the second handler`, async () => {
        const bus = new HookBus(new Deadlines());
        const [good, broken] = [fakeOwner("good", 1), fakeOwner("broken", 2)];
        let ran = 0;
        bus.tap(spec, undefined, good, {}, () => void ran++);
        bus.tap(spec, undefined, broken, {}, handler);
        bus.tap(spec, undefined, fakeOwner("third", 3), {}, () => void ran++);
        const answer = await bus.emitter(spec).emit(input);
        const expected =
          how === "never settles" && kind === "collect"
            ? [{ plugin: "broken", error: "no answer within 20 ms" }]
            : answers[kind];
        assert.deepEqual(answer, expected);
        assert.equal(ran, kind === "gate" ? 1 : 2, "a denial ends a gate; everywhere else the others run");
        assert.equal(broken.charges.length, 1);
        assert.match(String(broken.charges[0]?.error), error);
        assert.equal(good.charges.length, 0);
        assert.deepEqual([runsOf(good), runsOf(broken)], ["1 run, 0 failed", "1 run, 1 failed"]);
      });
    }
  }
});

describe("a deadline", () => {
  const spec = hookOf("observe", { deadlineMs: 50 });

  it("is not missed by a result that arrived while the event loop was blocked", async () => {
    const bus = new HookBus(new Deadlines());
    const owner = fakeOwner("a", 1);
    bus.tap(spec, undefined, owner, {}, async () => void (await stat(".")));
    const answered = bus.emitter(spec).emit(input);
    const until = performance.now() + 150;
    while (performance.now() < until);
    await answered;
    assert.deepEqual(owner.charges, []);
  });

  it("missed by many calls because of one stall counts as one failure; the next stall as another", async () => {
    const bus = new HookBus(new Deadlines());
    const owner = fakeOwner("a", 1);
    bus.tap(spec, undefined, owner, {}, late);
    const emitter = bus.emitter(spec);
    for (const expected of [1, 2]) {
      await Promise.all(Array.from({ length: 5 }, () => emitter.emit(input)));
      assert.equal(owner.charges.filter(({ counts }) => counts === "counts").length, expected);
    }
    assert.equal(runsOf(owner), "10 run, 10 failed");
  });
});

describe("first", () => {
  it("rejects with the error of a handler if the hook has `refuses`; a GatewayError is no failure", async () => {
    const spec = hookOf("first", { refuses: true, deadlineMs: 20 });
    const refusal = new GatewayError("CONFLICT", "taken");
    const throwing = () => {
      throw refusal;
    };
    const cases: [handler: () => unknown, says: RegExp, runs: string][] = [
      [throwing, /taken/, "1 run, 0 failed"],
      [() => Promise.reject(refusal), /taken/, "1 run, 0 failed"],
      [() => Promise.reject(new Error("boom")), /boom/, "1 run, 1 failed"],
      [late, /no answer within 20 ms/, "1 run, 1 failed"],
    ];
    for (const [handler, says, runs] of cases) {
      const bus = new HookBus(new Deadlines());
      const [owner, next] = [fakeOwner("a", 1), fakeOwner("b", 2)];
      bus.tap(spec, undefined, owner, {}, handler);
      bus.tap(spec, undefined, next, {}, () => "never asked");
      await assert.rejects(async () => bus.emitter(spec).emit(input), says);
      assert.deepEqual([runsOf(owner), runsOf(next)], [runs, "0 run, 0 failed"]);
      assert.ok(owner.charges.every(({ counts }) => counts === "caller"));
    }
  });

  it("ends with the first result; null and undefined are none", async () => {
    const { tap, emit } = busOf(hookOf("first"));
    const seen: string[] = [];
    const answer = (name: string, value: unknown) => () => (seen.push(name), value);
    tap(fakeOwner("a", 1), {}, answer("a", null));
    tap(fakeOwner("b", 2), {}, answer("b", Promise.resolve("yes")));
    tap(fakeOwner("c", 3), {}, answer("c", "late"));
    assert.equal(await emit(), "yes");
    assert.deepEqual(seen, ["a", "b"]);
  });
});

describe("gate", () => {
  it("cannot say yes: another gate's denial stands", async () => {
    const { tap, emit } = busOf(hookOf("gate"));
    tap(fakeOwner("a", 1), {}, () => ({ allow: true }));
    tap(fakeOwner("b", 2), {}, () => ({ allow: false, reason: "no" }));
    assert.deepEqual(await emit(), { allow: false, reason: "no" });
  });

  it("passes a frozen value to its handlers", async () => {
    const { tap, emit } = busOf(hookOf("gate"));
    const value = { text: "hi", deep: { list: [1] } };
    tap(fakeOwner("a", 1), {}, () => undefined);
    await emit(value);
    assert.throws(() => value.deep.list.push(2), TypeError);
  });

  it("stays closed after its plugin has stopped", async () => {
    const { tap, emit } = busOf(hookOf("gate"));
    const owner = fakeOwner("a", 1);
    tap(owner, {}, () => undefined);
    owner.stop();
    const reason = "plugin a is not running";
    assert.deepEqual(await emit(), { allow: false, reason, retryAfterMs: 1_000 });
  });
});

it("waterfall passes each handler the result of the previous one", async () => {
  const { tap, emit } = busOf(hookOf("waterfall"));
  const add = (suffix: string) => (value: unknown) => ({ text: (value as { text: string }).text + suffix });
  tap(fakeOwner("b", 2), {}, add("b"));
  tap(fakeOwner("a", 1), {}, add("a"));
  assert.deepEqual(await emit(), { text: "hiab" });
});

it("order is phase first, then plugin order, whatever the order of taps", async () => {
  const { tap, emit } = busOf(hookOf("series"));
  const seen: string[] = [];
  const note = (name: string) => () => void seen.push(name);
  tap(fakeOwner("c", 3), {}, note("c"));
  tap(fakeOwner("z", 9), { phase: "first" }, note("z-first"));
  tap(fakeOwner("a", 1), {}, note("a"));
  tap(fakeOwner("b", 2), { phase: "last" }, note("b-last"));
  tap(fakeOwner("d", 4), { phase: "early" }, note("d-early"));
  await emit();
  assert.deepEqual(seen, ["z-first", "d-early", "a", "c", "b-last"]);
});

describe("untap", () => {
  for (const kind of ["observe", "series", "first", "gate", "waterfall", "collect", "trace"] as const) {
    it(`${kind}: the handler never runs again, other handlers do, and a second call is safe`, async () => {
      const { bus, tap, emit } = busOf(hookOf(kind));
      const seen: string[] = [];
      const untap = tap(fakeOwner("a", 1), {}, () => void seen.push("a"));
      tap(fakeOwner("b", 2), {}, () => void seen.push("b"));
      await emit();
      untap();
      untap();
      await emit();
      assert.deepEqual(seen.sort(), ["a", "b", "b"]);
      assert.deepEqual(
        bus.taps().map(({ plugin }) => plugin),
        ["b"],
      );
    });
  }

  it("does not affect a call in flight", async () => {
    const { tap, emit } = busOf(hookOf("series"));
    const seen: string[] = [];
    let untap = () => {};
    tap(fakeOwner("a", 1), {}, async () => {
      untap();
      await Promise.resolve();
      seen.push("a");
    });
    untap = tap(fakeOwner("b", 2), {}, () => void seen.push("b"));
    await emit();
    assert.deepEqual(seen, ["a", "b"]);
  });
});

it("keyed hooks run only the taps of their key", async () => {
  const bus = new HookBus();
  const spec = defineKeyedHook<{ text: string }>()("series", { name: "keyed", ...facts });
  const seen: string[] = [];
  bus.tap(spec, "x", fakeOwner("a", 1), {}, (_, { key }) => void seen.push(`x:${key}`));
  bus.tap(spec, "y", fakeOwner("a", 1), {}, () => void seen.push("y"));
  const emitter = bus.emitter(spec);
  assert.deepEqual([emitter.isUsed("x"), emitter.isUsed("z"), emitter.isUsed()], [true, false, false]);
  await emitter.emit(input, "x");
  assert.deepEqual(seen, ["x:x"]);
});

it(`trace runs synchronously and loses a tap after ${TRACE_THROWS} throws`, () => {
  const { tap, emitter } = busOf(hookOf("trace"));
  const owner = fakeOwner("a", 1);
  let calls = 0;
  tap(owner, {}, () => {
    calls++;
    throw new Error("boom");
  });
  for (let turn = 0; turn < 5; turn++) void emitter.emit(input);
  assert.equal(calls, TRACE_THROWS);
  assert.equal(owner.charges.length, TRACE_THROWS);
  assert.equal(runsOf(owner), `${TRACE_THROWS} run, ${TRACE_THROWS} failed`);
  assert.equal(emitter.isUsed(), false);
});

describe("a handler's signal", () => {
  it("aborts at the deadline", async () => {
    const { tap, emit } = busOf(hookOf("series", { deadlineMs: 20 }));
    let signal: AbortSignal | undefined;
    tap(fakeOwner("a", 1), {}, (_: unknown, call: { signal: AbortSignal }) => ((signal = call.signal), late()));
    await emit();
    assert.equal(signal?.aborted, true);
  });

  it("a tap may shorten the deadline of the hook, not extend it", async () => {
    const { tap, emit } = busOf(hookOf("series", { deadlineMs: 60 }));
    const [quick, slow] = [fakeOwner("quick", 1), fakeOwner("slow", 2)];
    tap(quick, { timeoutMs: 10 }, late);
    tap(slow, { timeoutMs: 9_000 }, late);
    await emit();
    assert.match(String(quick.charges[0]?.error), /within 10 ms/);
    assert.match(String(slow.charges[0]?.error), /within 60 ms/);
  });
});

it("two different hooks with the same name are refused", () => {
  const bus = new HookBus();
  bus.tap(hookOf("series", { name: "same" }), undefined, fakeOwner("a", 1), {}, () => {});
  assert.throws(
    () => bus.tap(hookOf("first", { name: "same" }), undefined, fakeOwner("b", 2), {}, () => {}),
    /two hooks are named same/,
  );
});

describe("a gate that supports questions", () => {
  const ask = (title: string) => ({ allow: "ask", title, subject: { title } }) as const;

  function scene(asks: boolean, answers: Record<string, object | undefined> = {}) {
    const bus = new HookBus();
    const spec = { ...hookOf("gate"), asks };
    const put: string[] = [];
    bus.askPeople = ({ plugin, ask: { title } }) => {
      put.push(`${plugin}: ${title}`);
      return Promise.resolve(answers[title] as never);
    };
    const tap = (id: string, answer: () => unknown) => {
      const owner = fakeOwner(id, put.length);
      bus.tap(spec, undefined, owner, {}, answer);
      return owner;
    };
    return { emit: () => bus.emitter(spec).emit(input), put, tap };
  }

  it("asks them one at a time if no handler denies, and passes when all are allowed", async () => {
    const { emit, put, tap } = scene(true);
    tap("a", () => ask("one"));
    tap("b", () => undefined);
    tap("c", () => ask("two"));
    assert.equal(await emit(), undefined);
    assert.deepEqual(put, ["a: one", "c: two"]);
  });

  it("asks no question if a later handler denies", async () => {
    const { emit, put, tap } = scene(true);
    tap("a", () => ask("one"));
    tap("b", () => ({ allow: false, reason: "no" }));
    assert.deepEqual(await emit(), { allow: false, reason: "no" });
    assert.deepEqual(put, []);
  });

  it("denies at the first denial, and asks no further question", async () => {
    const { emit, put, tap } = scene(true, { one: { allow: false, reason: "no" } });
    tap("a", () => ask("one"));
    tap("b", () => ask("two"));
    assert.deepEqual(await emit(), { allow: false, reason: "no" });
    assert.deepEqual(put, ["a: one"]);
  });

  for (const [what, answer] of [
    ["no title", { allow: "ask", title: " ", subject: 1 }],
    ["a title that is no text", { allow: "ask", title: 5, subject: 1 }],
    ["no subject", { allow: "ask", title: "t" }],
  ] as const)
    it(`denies a question with ${what}, and attributes a failure to its plugin`, async () => {
      const { emit, put, tap } = scene(true);
      const owner = tap("a", () => answer);
      assert.match((await emit())?.reason ?? "", /no title or no subject/);
      assert.deepEqual([put.length, owner.charges.length], [0, 1]);
    });

  it("a gate that does not support questions denies", async () => {
    const { emit, put, tap } = scene(false);
    tap("a", () => ask("one"));
    assert.match((await emit())?.reason ?? "", /does not support questions/);
    assert.deepEqual(put, []);
  });

  it("denies if no one can be asked", async () => {
    const { tap, emit } = busOf({ ...hookOf("gate"), asks: true });
    tap(fakeOwner("a", 1), {}, () => ask("one"));
    const reason = "no one can be asked for a decision here";
    assert.deepEqual(await emit(), { allow: false, reason });
  });
});
