// long: runs many threads
/** One call of a transform, in the gateway's thread and in a worker thread. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { callOf, LIMIT, resultOf, scene } from "./scene.ts";

const MISBEHAVES = `import { setTimeout as wait } from "node:timers/promises";
let calls = 0;
const acts: Record<string, (context: any) => unknown> = {
  "throw": () => { throw new TypeError("bad input"); },
  "throw nothing": () => { throw null; },
  reject: () => Promise.reject(new Error("later")),
  never: () => new Promise(() => {}),
  "heed the signal": ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
  spin: () => { for (;;); },
  memory: () => { const all = []; for (;;) all.push(new Array(100_000).fill(0).map((_, n) => ({ n }))); },
  exit: () => process.exit(5),
  "throw elsewhere": () => { setTimeout(() => { throw new Error("elsewhere"); }); return wait(60_000); },
  "reject elsewhere": () => { void Promise.reject(new Error("unheard")); return wait(60_000); },
  slow: () => wait(1_000).then(() => ({ text: "slow" })),
  blocking: () => { const until = Date.now() + 1_500; while (Date.now() < until); return { text: "late" }; },
  list: () => [1], text: () => "text", number: () => 7, yes: () => true, code: () => () => 1,
  "nothing": () => undefined, "null": () => null, no: () => false, zero: () => 0, blank: () => "", nan: () => NaN,
  date: () => ({ at: { when: new Date(0) } }), map: () => ({ a: [new Map()] }), infinite: () => ({ a: 1 / 0 }),
  big: () => ({ a: 1n }), fn: () => ({ a: () => 1 }), hole: () => ({ a: [undefined] }),
  cycle: () => { const a: any = {}; a.a = a; return a; },
  "long text": () => ({ text: "x".repeat(2 ** 20) }), "long list": () => ({ list: Array(200_000).fill(1) }),
  getter: () => ({ get a() { throw new Error("got"); } }),
  "undefined keys": () => ({ a: undefined, b: null, c: { d: undefined } }),
  bare: () => Object.assign(Object.create(null), { a: 1 }),
  count: () => ({ n: (calls += 1) }),
  echo: ({ payload, headers, url, path, signal }) => ({ payload, headers, url: [url instanceof URL, url.href, url.searchParams.get("x")], path, signal: signal instanceof AbortSignal && !signal.aborted }),
  spoil: (context) => { context.payload.act = "spoiled"; context.payload.deep.push(1); context.headers.a = "spoiled"; return { ok: true }; },
};
export default (context: any) => acts[context.payload.act]?.(context);
`;

const PLACES = ["host", "worker"] as const;

for (const placement of PLACES)
  describe(`a transform that is called (${placement})`, () => {
    const ref = { module: "t.ts", placement };
    const made = (t: Parameters<typeof scene>[0]) => scene(t, { "t.ts": MISBEHAVES }).configured([ref]);

    it("gets what the request is", LIMIT, async (t) => {
      const transforms = await made(t);
      const named = JSON.parse('{"act":"echo","__proto__":{"evil":true},"constructor":{"prototype":1}}');
      const echoed = (await resultOf(transforms, ref, named)) as { payload: object };
      assert.deepEqual(Object.keys(echoed.payload), ["act", "constructor"]);
      assert.equal(({} as { evil?: boolean }).evil, undefined);
      const plain = await resultOf(transforms, ref, { act: "echo", list: [1, null, "ü"] });
      assert.deepEqual(plain, {
        payload: { act: "echo", list: [1, null, "ü"] },
        headers: {},
        url: [true, "http://localhost/hooks/a?x=1", "1"],
        path: "a",
        signal: true,
      });
    });

    it("may skip, or leave everything to the mapping", LIMIT, async (t) => {
      const transforms = await made(t);
      assert.equal(await resultOf(transforms, ref, { act: "null" }), null);
      for (const act of ["nothing", "no", "zero", "blank", "nan"])
        assert.equal(await resultOf(transforms, ref, { act }), undefined, act);
      assert.deepEqual(await resultOf(transforms, ref, { act: "undefined keys" }), { b: null, c: {} });
      assert.deepEqual(await resultOf(transforms, ref, { act: "bare" }), { a: 1 });
    });

    it("fails with what it did and where", LIMIT, async (t) => {
      const transforms = await made(t);
      const failures: [act: string, message: RegExp][] = [
        ["throw", /^transform t\.ts: TypeError: bad input \(t\.ts:4\)$/],
        ["throw nothing", /^transform t\.ts: threw null$/],
        ["reject", /^transform t\.ts: Error: later \(t\.ts:6\)/],
        ["list", /returned an array; return an object, null to skip, or undefined/],
        ["text", /returned a string/],
        ["number", /returned a number/],
        ["yes", /returned a boolean/],
        ["code", /returned a function/],
        ["date", /the result\.at\.when is a Date; return JSON only/],
        ["map", /the result\.a\[0\] is a Map/],
        ["infinite", /the result\.a is Infinity/],
        ["big", /the result\.a is a bigint/],
        ["fn", /the result\.a is a function/],
        ["hole", /the result\.a\[0\] is undefined/],
        ["cycle", /nested more than 100 deep/],
        ["long text", /the result is larger than 1048576 bytes; return less/],
        ["long list", /the result is larger than 1048576 bytes; return less/],
        ["getter", /Error: got/],
      ];
      for (const [act, message] of failures)
        await assert.rejects(resultOf(transforms, ref, { act }), { name: "TransformError", message }, act);
      assert.deepEqual(await resultOf(transforms, ref, { act: "count" }), { n: 1 }); // nothing was lost by it
      assert.equal(transforms.info(ref).state, "live");
      assert.equal(transforms.info(ref).problem, undefined);
    });

    it("fails at its deadline, without effect on other calls", LIMIT, async (t) => {
      const transforms = await made(t);
      const hasty = { ...ref, timeoutMs: 100 };
      const slow = resultOf(transforms, ref, { act: "slow" });
      await assert.rejects(resultOf(transforms, hasty, { act: "never" }), {
        name: "TransformError",
        message: "transform t.ts: no answer within 100 ms",
      });
      await assert.rejects(resultOf(transforms, hasty, { act: "heed the signal" }), /no answer within 100 ms/);
      assert.deepEqual(await slow, { text: "slow" });
    });

    it("cannot spoil what others see of the request", LIMIT, async (t) => {
      const transforms = await made(t);
      const call = callOf({ act: "spoil", deep: [] }, { headers: { a: "1" } });
      await transforms.run(ref, call);
      assert.deepEqual(call, callOf({ act: "spoil", deep: [] }, { headers: { a: "1" } }));
    });

    it("never sees a payload that does not match its schema", LIMIT, async (t) => {
      const text = `import { defineTransform, Type } from "@svc/sdk/transform";\nlet calls = 0;\nexport default defineTransform({ payload: Type.Object({ id: Type.String(), n: Type.Optional(Type.Integer()) }), transform() { return { text: String(calls += 1) }; } });`;
      const transforms = await scene(t, { "t.ts": text }).configured([ref]);
      assert.deepEqual(await transforms.run(ref, callOf({ id: 7, n: "x" })), {
        kind: "invalid-payload",
        violations: [
          { path: "/id", message: "must be string", type: "string" },
          { path: "/n", message: "must be integer", type: "integer" },
        ],
      });
      assert.deepEqual(await resultOf(transforms, ref, { id: "a" }), { text: "1" });
    });
  });

it("an answer that comes late because the thread was busy counts as none", LIMIT, async (t) => {
  const ref = { module: "t.ts", timeoutMs: 200 };
  const transforms = await scene(t, { "t.ts": MISBEHAVES }).configured([ref]);
  await assert.rejects(resultOf(transforms, ref, { act: "blocking" }), /no answer within 200 ms/);
});

describe("a transform in a thread of its own", () => {
  const ref = { module: "t.ts", placement: "worker" as const };
  const deaths: [act: string, message: RegExp, neighbour: RegExp][] = [
    ["spin", /no answer within 400 ms/, /its thread was ended, because a call blocked it for more than 400 ms/],
    [
      "memory",
      /used more than 64 MB of memory|no answer within/,
      /used more than 64 MB of memory|its thread was ended/,
    ],
    ["exit", /ended its thread \(exit code 5\)/, /ended its thread \(exit code 5\)/],
    ["throw elsewhere", /threw outside of any call: elsewhere/, /threw outside of any call: elsewhere/],
    ["reject elsewhere", /threw outside of any call: unheard/, /threw outside of any call: unheard/],
  ];
  for (const [act, message, neighbour] of deaths)
    it(`costs itself and those beside it when it does: ${act}; the next call is answered`, LIMIT, async (t) => {
      const timeoutMs = act === "spin" ? 400 : 20_000;
      const transforms = await scene(t, { "t.ts": MISBEHAVES, "u.ts": MISBEHAVES }).configured([
        ref,
        { ...ref, module: "u.ts" },
      ]);
      const elsewhere = resultOf(transforms, { ...ref, module: "u.ts" }, { act: "slow" });
      const beside = assert.rejects(resultOf(transforms, ref, { act: "never" }), neighbour);
      await assert.rejects(resultOf(transforms, { ...ref, timeoutMs }, { act }), { name: "TransformError", message });
      await beside;
      assert.deepEqual(await resultOf(transforms, ref, { act: "count" }), { n: 1 });
      assert.deepEqual(await elsewhere, { text: "slow" });
    });

  it("answers calls as they are done, not as they came", LIMIT, async (t) => {
    const transforms = await scene(t, { "t.ts": MISBEHAVES }).configured([ref]);
    const order: string[] = [];
    const slow = resultOf(transforms, ref, { act: "slow" }).then(() => order.push("slow"));
    const fast = Array.from({ length: 50 }, () =>
      resultOf(transforms, ref, { act: "count" }).then((value) => order.push(JSON.stringify(value))),
    );
    await Promise.all([slow, ...fast]);
    assert.deepEqual(order, [...Array.from({ length: 50 }, (_, index) => `{"n":${index + 1}}`), "slow"]);
  });
});
