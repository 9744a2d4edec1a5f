/** Values and calls over a link: values arrive unchanged, and references are released. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  array,
  assert as assertProperty,
  asyncProperty,
  bigInt,
  constant,
  constantFrom,
  date,
  dictionary,
  jsonValue,
  letrec,
  oneof,
  string,
  stringify,
  uint8Array,
} from "fast-check";
import { Link, type LinkOptions } from "../../../host/carriers/link.ts";

type AnyFunction = (...args: unknown[]) => Promise<unknown>;

/** Two links that exchange structured clones in order, each delivered one turn of the event loop later. */
async function ends(root: object, options: Partial<LinkOptions> = {}, ofGuest: Partial<LinkOptions> = {}) {
  const onTheWay = { now: 0, most: 0 };
  const post = (to: () => Link) => (message: unknown) => {
    const copy: unknown = structuredClone(message);
    const counts = to === toNear;
    if (counts) onTheWay.most = Math.max(onTheWay.most, ++onTheWay.now);
    setImmediate(() => {
      if (counts) onTheWay.now--;
      to().receive(copy);
    });
  };
  const toNear = () => near;
  const near: Link = new Link({ post: post(() => far), ...options });
  const far: Link = new Link({ post: post(toNear), ...ofGuest });
  far.offer(root);
  return { near, far, onTheWay, side: (await near.root) as Record<string, AnyFunction> };
}

describe("a link", () => {
  it("transfers every plain value unchanged, whatever its keys", async () => {
    const { side } = await ends({ echo: (value: unknown) => value });
    const keys = oneof(string(), constantFrom("~", "~kind", "__proto__", "ref", "constructor", "then"));
    const { value } = letrec((tie) => ({
      value: oneof(
        { depthSize: "small" },
        jsonValue(),
        constant(undefined),
        bigInt(),
        date({ noInvalidDate: true }),
        uint8Array(),
        array(tie("value"), { maxLength: 4 }),
        dictionary(keys, tie("value"), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    await assertProperty(
      asyncProperty(value, async (given) => {
        const sent = stringify(given);
        assert.equal(stringify(await side["echo"]?.(given)), sent);
      }),
      { numRuns: 300 },
    );
  });

  it("limits a guest to its window; all messages arrive in order", async () => {
    const seen: number[] = [];
    const guest = {
      async flood(note: AnyFunction) {
        await Promise.all(Array.from({ length: 5_000 }, (_, count) => note(count)));
        return "done";
      },
    };
    const { side, onTheWay } = await ends(
      guest,
      { onFault: () => assert.fail("it kept to the window") },
      { isGuest: true },
    );
    const note = (count: number) => void seen.push(count);
    assert.equal(await side["flood"]?.(note), "done");
    assert.deepEqual(
      seen,
      Array.from({ length: 5_000 }, (_, count) => count),
    );
    assert.ok(onTheWay.most <= 256, `${onTheWay.most} messages were on their way at once`);
  });

  it("fails a call that is too large for one message, and keeps working", async () => {
    const { side } = await ends({
      text: (length: number) => "x".repeat(length),
      list: (length: number) => Array.from({ length }, () => ({})),
      fail: (length: number) => {
        throw new Error("x".repeat(length));
      },
      give: (text: string) => text.length,
    });
    const large = 33 * 2 ** 20;
    await assert.rejects(
      side["text"]?.(large) ?? Promise.resolve(),
      /^Error: result: more than 33554432 bytes cannot be sent/,
    );
    await assert.rejects(
      side["list"]?.(300_000) ?? Promise.resolve(),
      /^Error: result\[\d+\]: more than 33554432 bytes/,
    );
    await assert.rejects(side["fail"]?.(large) ?? Promise.resolve(), /more than 33554432 bytes/);
    await assert.rejects(side["give"]?.("x".repeat(large)) ?? Promise.resolve(), /^Error: argument 1: more than/);
    assert.equal(await side["text"]?.(3), "xxx");
  });

  it("detects a sender that exceeds the window", (t) => {
    let now = 0;
    t.mock.method(performance, "now", () => now); // the time of a busy machine does not count
    let floods = 0;
    const link = new Link({ post: () => {}, onFault: () => floods++ });
    const send = () => {
      for (let count = 0; count < 2_000; count++) link.receive({ k: "drop", ref: 100, count: 0 });
    };
    send();
    assert.equal(floods, 0); // these messages are processed at once
    link.offer({ wholeTurn: () => void (now += 6) });
    link.receive({ k: "tell", ref: 1, args: [] });
    assert.equal(now, 6);
    send();
    assert.ok(floods > 0);
    link.close(new Error("over"));
  });

  it("delivers one-way calls of a guest in order, and refuses them once too much is waiting", async () => {
    const seen: string[] = [];
    const counts: Record<string, number> = {};
    const told = (place: number, values: readonly number[]) => void seen.push(`${place} ${values.length}`);
    const guest = {
      async flood(note: AnyFunction) {
        assert.throws(() => far.tell(note as never, Symbol("none")), /argument 1: a symbol cannot be sent/);
        const values = Array.from({ length: 4_000 }, () => 0);
        const all = Array.from({ length: 100 }, (_, place) => far.tell(note as never, place, values));
        counts["sent"] = all.filter(Boolean).length;
        assert.throws(() => far.tell(told as never), /needs a function that came from the other side/);
        await note(-1, []);
      },
    };
    const { side, far } = await ends(guest, { onFault: (reason) => assert.fail(reason) }, { isGuest: true });
    await side["flood"]?.(told);
    const sent = counts["sent"] ?? 0;
    assert.ok(sent > 60 && sent < 100, `${sent} of 100 were sent`);
    assert.deepEqual(seen, [...Array.from({ length: sent }, (_, place) => `${place} 4000`), "-1 0"]);
  });

  it("returns objects with identity, and functions, as the same objects", async () => {
    const principal = Object.freeze({ id: "x", provenance: "token" });
    const { side } = await ends(
      { back: (value: { id: string }) => [value, value.id], call: async (fn: AnyFunction) => [await fn(2), fn] },
      { hasIdentity: (value) => "provenance" in value },
    );
    const [same, id] = ((await side["back"]?.(principal)) ?? []) as [unknown, string];
    assert.equal(same, principal);
    assert.equal(id, "x");
    const twice = (n: number) => n * 2;
    assert.deepEqual(await side["call"]?.(twice), [4, twice]);
  });

  it("never lets the other side forge a reference", async () => {
    const { near, side } = await ends({ echo: (value: unknown) => value });
    const secret = () => "secret";
    await side["echo"]?.(secret);
    const forged = { "~": "yours", ref: 1 };
    assert.deepEqual(await side["echo"]?.(forged), forged);
    assert.throws(
      () => near.receive({ k: "done", id: 999, value: forged }) ?? assert.fail("nobody waited"),
      /nobody waited/,
    );
  });

  it("forwards an abort during the call, and releases the signal after it", async () => {
    let seen: AbortSignal | undefined;
    const { side } = await ends({
      wait: (signal: AbortSignal) => {
        seen = signal;
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve("aborted")));
      },
      now: (signal: AbortSignal) => signal.aborted,
    });
    const stop = new AbortController();
    const waiting = side["wait"]?.(stop.signal);
    stop.abort();
    assert.equal(await waiting, "aborted");
    assert.equal(seen?.aborted, true);
    assert.equal(await side["now"]?.(stop.signal), true);
  });

  it("rejects values that cannot be sent, naming their path, and fails only that call", async () => {
    const { side } = await ends({ echo: (value: unknown) => value, promise: () => ({ a: [Promise.resolve()] }) });
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    await assert.rejects(
      async () => side["echo"]?.({ a: [Symbol("x")] }),
      /argument 1\.a\[0\]: a symbol cannot be sent/,
    );
    await assert.rejects(async () => side["echo"]?.(circle), /too deep to be sent/);
    await assert.rejects(async () => side["promise"]?.(), /result\.a\[0\]: a promise cannot be sent/);
    assert.equal(await side["echo"]?.(1), 1);
  });

  it("rejects all pending and later calls once it is closed", async () => {
    const { near, side } = await ends({ never: () => new Promise(() => undefined) });
    const waiting = side["never"]?.();
    near.close(new Error("gone"));
    await assert.rejects(async () => waiting, /gone/);
    await assert.rejects(async () => side["never"]?.(), /gone/);
    assert.equal(near.underWay, 0);
  });

  it("releases functions the other side has dropped", async () => {
    const { near, side } = await ends({ call: async (fn: AnyFunction) => void (await fn()) });
    for (let turn = 0; turn < 200; turn++) await side["call"]?.(() => turn);
    setFlagsFromString("--expose_gc");
    const collect = runInNewContext("gc") as () => void;
    const deadline = performance.now() + 10_000;
    while (near.handedOut > 5 && performance.now() < deadline) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.ok(near.handedOut <= 5, `${near.handedOut} are still held`);
  });
});
