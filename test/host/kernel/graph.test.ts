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
