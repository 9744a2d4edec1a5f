/** Pure parts of the kernel: the order of plugins, marks of running code, latencies. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  definePlugin,
  defineService,
  live,
  optional,
  type Plugin,
  type Requirements,
  type ServiceToken,
} from "@svc/sdk";
import { orderPlugins } from "../../../host/kernel/graph.ts";
import { Latency } from "../../../host/kernel/latency.ts";
import {
  forgetMark,
  markMemory,
  markOf,
  newMark,
  NOBODY,
  ownerOf,
  runMarked,
  tellMarks,
} from "../../../host/kernel/marks.ts";
import { fakeOwner } from "../hooks/fake-owner.ts";

const A = defineService<object>()("a", "1.0.0");
const B = defineService<object>()("b", "1.2.0");
const B2 = defineService<object>()("b", "2.0.0");

function node(id: string, requires: Requirements = {}, provides: ServiceToken<unknown>[] = [], after: string[] = []) {
  const plugin: Plugin = definePlugin({ id, api: "^1.0.0", requires, provides, after, setup() {} });
  return { id, plugin };
}
const order = (...nodes: ReturnType<typeof node>[]) => orderPlugins(nodes, []);

describe("the order of plugins", () => {
  it("is level by level, then by id", () => {
    const { levels, waiting } = order(
      node("z"),
      node("user", { b: B }),
      node("giver", { a: A }, [B]),
      node("base", {}, [A]),
      node("m"),
    );
    assert.deepEqual(levels, [["base", "m", "z"], ["giver"], ["user"]]);
    assert.equal(waiting.size, 0);
  });

  it("does not depend on the order of the input", () => {
    const nodes = [node("c", { a: A }), node("a-giver", {}, [A]), node("b", {}, [], ["c"])];
    assert.deepEqual(order(...nodes), order(...[...nodes].reverse()));
  });

  it("makes a plugin with an unmet requirement wait, and its dependents, too", () => {
    const { levels, waiting } = order(node("user", { b: B }), node("giver", { a: A }, [B]), node("free"));
    assert.deepEqual(levels, [["free"]]);
    assert.match(waiting.get("giver") ?? "", /waits for the service a 1\.0\.0/);
    assert.match(waiting.get("user") ?? "", /waits for the service b 1\.2\.0/);
  });

  it("does not wait for an optional or live service, but puts the provider of an optional one first", () => {
    const { levels } = order(
      node("a-user", { b: optional(B) }),
      node("giver", {}, [B]),
      node("a-live", { b: live(B) }),
    );
    assert.deepEqual(levels, [["a-live", "giver"], ["a-user"]]);
    assert.deepEqual(order(node("a-user", { b: optional(B) })).levels, [["a-user"]]);
  });

  it("rejects an older minor version of a service, and accepts a newer one", () => {
    const newer = defineService<object>()("b", "1.10.0");
    const { levels, waiting } = order(node("user", { b: newer }), node("giver", {}, [B]));
    assert.deepEqual(levels, [["giver"]]);
    assert.match(waiting.get("user") ?? "", /waits for the service b 1\.10\.0/);
    assert.deepEqual(order(node("user", { b: B }), node("giver", {}, [newer])).levels, [["giver"], ["user"]]);
  });

  it("checks the version of the actual provider, not of another plugin that could provide it", () => {
    const newer = defineService<object>()("b", "1.10.0");
    const { waiting } = order(node("a-giver", {}, [B]), node("b-giver", {}, [newer]), node("user", { b: newer }));
    assert.deepEqual([...waiting.keys()].sort(), ["b-giver", "user"]);
  });

  it("rejects another major version of a service", () => {
    const { waiting } = order(node("user", { b: B }), node("giver", {}, [B2]));
    assert.match(waiting.get("user") ?? "", /waits for the service b 1\.2\.0/);
  });

  it("reports a cycle with its whole path", () => {
    const { levels, waiting } = order(node("x", { a: A }, [B]), node("y", { b: B }, [A]), node("free"));
    assert.deepEqual(levels, [["free"]]);
    assert.match(waiting.get("x") ?? "", /x -> y -> x/);
    assert.match(waiting.get("y") ?? "", /make one of these requirements live/);
  });

  it("a live requirement breaks a cycle", () => {
    assert.deepEqual(order(node("x", { a: live(A) }, [B]), node("y", { b: B }, [A])).levels, [["x"], ["y"]]);
  });

  it("names both plugins that provide one service", () => {
    const { levels, waiting } = order(node("two", {}, [A]), node("one", {}, [A]));
    assert.deepEqual(levels, [["one"]]);
    assert.match(waiting.get("two") ?? "", /already provided by one/);
  });

  it("`after` affects only the order; it requires nothing", () => {
    assert.deepEqual(order(node("a", {}, [], ["b", "absent"]), node("b")).levels, [["b"], ["a"]]);
  });
});

const seen = () => new Int32Array(markMemory())[0];

describe("marks", () => {
  it("identify the running code, and are restored after nested code", () => {
    const [outer, inner] = [newMark(fakeOwner("outer", 1)), newMark(fakeOwner("inner", 2))];
    const marks: unknown[] = [seen()];
    runMarked(outer, () => {
      marks.push(seen());
      assert.throws(() =>
        runMarked(inner, () => {
          marks.push(seen());
          throw new Error("boom");
        }),
      );
      marks.push(seen());
    });
    assert.deepEqual([...marks, seen()], [NOBODY, outer, inner, outer, NOBODY]);
  });

  it("map to their owner until released, and are never reused", () => {
    const owner = fakeOwner("a", 1);
    const mark = newMark(owner);
    assert.deepEqual([ownerOf(mark), markOf(owner), markOf(undefined)], [owner, mark, NOBODY]);
    forgetMark(mark);
    forgetMark(mark);
    assert.equal(ownerOf(mark), undefined);
    assert.notEqual(newMark(owner), mark);
  });

  it("are reported to listeners, both existing and later ones", () => {
    const before = newMark(fakeOwner("before", 1));
    const told: unknown[] = [];
    const stop = tellMarks((mark, plugin) => told.push([mark, plugin]));
    const after = newMark(fakeOwner("after", 2));
    forgetMark(before);
    stop();
    forgetMark(after);
    assert.deepEqual(told.slice(-3), [
      [before, "before"],
      [after, "after"],
      [before, undefined],
    ]);
  });
});

function latencyOf(...times: readonly number[]): Latency {
  const latency = new Latency();
  for (const ms of times) latency.record(ms);
  return latency;
}

/** From zero to more than the largest class. */
const TIMES = [0, 1e-9, 0.0004, 0.001, 0.1, 0.99, 1, 1.01, 7, 64, 999, 12_345, 1e6, 1e9, Number.MAX_VALUE];

describe("latency", () => {
  it("has no quantile before anything was recorded", () => assert.equal(latencyOf().quantile(0.5), null));

  for (const ms of TIMES) {
    it(`returns exactly ${ms} ms if it is the only record`, () => {
      const { count, sum, max } = latencyOf(ms);
      assert.deepEqual([count, sum, max, latencyOf(ms).quantile(0.99)], [1, ms, ms, ms]);
    });
  }

  it("never returns less than the exact quantile, and at most an eighth more", () => {
    let seed = 7;
    const times = Array.from({ length: 5_000 }, () => {
      seed = (seed * 16_807) % 2_147_483_647;
      return 10 ** ((seed / 2_147_483_647) * 6 - 2); // 0.01 ms to 10 s
    });
    const latency = latencyOf(...times);
    const sorted = times.toSorted((left, right) => left - right);
    for (const share of [0.01, 0.5, 0.9, 0.99, 0.999, 1]) {
      const exact = sorted[Math.ceil(times.length * share) - 1] ?? assert.fail("no such place");
      const told = latency.quantile(share) ?? assert.fail("nothing was recorded");
      assert.ok(told >= exact && told <= exact * 1.125, `${share}: ${exact} was reported as ${told}`);
    }
  });

  it("counts durations below a power of two, which is excluded", () => {
    const latency = latencyOf(0.4, 0.5, 1, 1.9, 2, 4, 1e9);
    const counts = [-11, -1, 0, 1, 2, 3, 20].map((exponent) => latency.countBelow(exponent));
    assert.deepEqual(counts, [0, 1, 2, 4, 5, 6, 6]);
  });
});
